// What somebody can do with sessions who owns the database, but has no key. The tokens are real ones: as if they were
// stolen.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { UserCaller } from '../../src/identity/auth/caller.ts'
import { requireFreshLogin } from '../../src/identity/users/fresh-login.ts'
import { refreshTokenOf } from '../../src/identity/users/session.ts'
import { commonService } from '../support/common-service.ts'
import { someOf } from '../support/long.ts'
import { peopleOf, type Session, statusAndCode } from '../users/people.ts'
import { ENDED, FORGED, troublesOf } from './forged.ts'

const service = await commonService()
const people = peopleOf(service)
const { sql } = service.database

const ENDED_SESSION: [number, string] = [401, 'session_ended']

/** How the API answers to the tokens of a session: to the access token, and to the refresh token. */
const answersTo = async (session: Session) => [
  statusAndCode(await people.get('/users/passkeys', session)),
  statusAndCode(await people.refresh(session)),
]

/** The tables of which the audit tells that a row with this id was forged. */
const reportedOf = async (id: string) => {
  await service.ctx.securityEvents.flush()
  const rows = await sql`select distinct details->>'table' as table from audit
    where subject = ${id} and action = 'row_forged'`
  return rows.map(({ table }) => table)
}

const expectForged = async (session: Session) => {
  expect(await answersTo(session)).toEqual([ENDED_SESSION, ENDED_SESSION])
  expect(await reportedOf(session.id)).toEqual(['sessions'])
}

const callerOf = ({ id, user_id }: Session): UserCaller => {
  const { projectId } = service.project
  return { kind: 'user', projectId, userId: user_id, sessionId: id, address: '' }
}

/** Tokens of a session's row, as if somebody had the keys of tokens. */
const tokensOf = async (of: { readonly id: string; readonly userId: string; readonly generation: number }) => {
  const { token } = await service.ctx.tokens.issue({
    projectId: service.project.projectId,
    userId: of.userId,
    sessionId: of.id,
    sessionExpiresAt: new Date(Date.now() + 60_000),
    email: null,
    hasPasskeys: false,
    signInWallet: null,
  })
  const refresh_token = refreshTokenOf(service.ctx.identity, of)
  return { id: of.id, user_id: of.userId, access_token: token, refresh_token }
}

describe('a session that somebody', () => {
  test('inserted, with the MAC of a real one, is none and is named', async () => {
    const [real, victim] = [await people.anonymous(), await people.anonymous()]
    const id = randomUUID()
    const [row] = await sql`select * from sessions where id = ${real.id}`
    await sql`insert into sessions ${sql({ ...row, id, user_id: victim.user_id } as never)}`
    await expectForged(await tokensOf({ id, userId: victim.user_id, generation: 1 }))
    expect(await troublesOf(service, id)).toEqual([FORGED])
    await sql`update sessions set mac = null where id = ${id}`
    await expectForged(await tokensOf({ id, userId: victim.user_id, generation: 1 }))
    await sql`delete from sessions where id = ${id}`
  })

  test('moved to another user is none and is named', async () => {
    const [thief, victim] = [await people.anonymous(), await people.anonymous()]
    await sql`update sessions set user_id = ${victim.user_id} where id = ${thief.id}`
    await expectForged(await tokensOf({ id: thief.id, userId: victim.user_id, generation: 1 }))
    expect(await troublesOf(service, thief.id)).toEqual([FORGED])
    await sql`delete from sessions where id = ${thief.id}`
  })

  test('prolonged, refreshed or put back to an earlier refresh token is none and is named; restored, it goes on', async () => {
    const session = (await people.refresh(await people.anonymous())).json as Session
    const [was] =
      await sql`select authenticated_at, generation, refreshed_at, expires_at from sessions where id = ${session.id}`
    const changes = [
      [2, `expires_at = expires_at + interval '1 ms'`],
      [2, `expires_at = 'infinity'`],
      [2, `authenticated_at = authenticated_at + interval '1 ms'`],
      [2, `authenticated_at = '-infinity'`],
      [2, `refreshed_at = refreshed_at + interval '1 minute'`],
      [1, 'generation = 1'],
      [3, 'generation = 3'],
    ] as const
    for (const [generation, change] of someOf(changes, 3)) {
      await sql`update sessions set ${sql.unsafe(change)} where id = ${session.id}`
      const tokens = await tokensOf({ id: session.id, userId: session.user_id, generation })
      expect([change, await answersTo(tokens)]).toEqual([change, [ENDED_SESSION, ENDED_SESSION]])
      await expect(requireFreshLogin(service.ctx, service.ctx.db, callerOf(session))).rejects.toMatchObject({
        code: 'session_ended',
      })
      await sql`update sessions set ${sql({ ...was } as never)} where id = ${session.id}`
    }
    expect(await reportedOf(session.id)).toEqual(['sessions'])
    await sql`update sessions set expires_at = expires_at + interval '1 day' where id = ${session.id}`
    expect(await troublesOf(service, session.id)).toEqual([FORGED])
    await sql`update sessions set ${sql({ ...was } as never)} where id = ${session.id}`
    expect(await troublesOf(service, session.id)).toEqual([])
    expect(await answersTo(session)).toEqual([
      [200, 'done'],
      [200, 'done'],
    ])
  })

  test('revived after a logout or the reuse of a refresh token is none and is named; so is one with its MAC from before', async () => {
    const [out, reused] = [await people.anonymous(), await people.anonymous()]
    const ends = [
      [out, () => people.as(out)('/users/logout')],
      [
        reused,
        async () => {
          const second = (await people.refresh(reused)).json
          await people.refresh(second)
          return people.refresh(reused)
        },
      ],
    ] as const
    for (const [session, end] of someOf(ends, 2)) {
      await end()
      expect(await answersTo(session)).toEqual([ENDED_SESSION, ENDED_SESSION])
      await service.ctx.securityEvents.flush()
      expect([await reportedOf(session.id), await troublesOf(service, session.id)]).toEqual([[], []])
      await sql`update sessions set ended_at = null, ended_by = null where id = ${session.id}`
      await expectForged(session)
      expect(await troublesOf(service, session.id)).toEqual([ENDED, FORGED])
      await sql`delete from sessions where id = ${session.id}`
    }
    const last = await people.anonymous()
    const [row] = await sql`select * from sessions where id = ${last.id}`
    await people.as(last)('/users/logout')
    await sql`delete from sessions where id = ${last.id}`
    await sql`insert into sessions ${sql(row as never)}`
    expect(await troublesOf(service, last.id)).toEqual([ENDED])
    await sql`delete from sessions where id = ${last.id}`
  })

  test('gave no number as time harms no other session', async () => {
    const [edited, ...others] = await Promise.all(Array.from({ length: 8 }, () => people.anonymous()))
    await sql`update sessions set refreshed_at = 'infinity', expires_at = '-infinity' where id = ${edited?.id ?? ''}`
    const reached = await Promise.all([edited, ...others].map((each) => people.reach(each as Session)))
    expect(reached).toEqual([401, ...Array(7).fill(200)])
    await sql`delete from sessions where id = ${edited?.id ?? ''}`
  })
})
