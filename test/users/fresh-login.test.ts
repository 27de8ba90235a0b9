// Login methods are added and removed only after a recent login. The thief of a token can change none.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { commonService } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import type { Answer } from '../support/service.ts'
import { sealSessions, sealUsers } from './own-rows.ts'
import { DONE, peopleOf, type Session, statusAndCode } from './people.ts'

const service = await commonService()
const { sql } = service.database
const people = peopleOf(service)

const as = (session: Pick<Session, 'access_token'>) => {
  const post = people.as(session)
  return (path: string, body?: unknown): Promise<Answer> => post(`/users/${path}`, body)
}
const refresh = async (session: Session): Promise<Session> => (await people.refresh(session)).json

/** Moves a session's login and last refresh into the past. */
const age = async (session: Session, minutes: number) => {
  await sql`
    update sessions set authenticated_at = authenticated_at - make_interval(mins => ${minutes}),
      refreshed_at = refreshed_at - make_interval(mins => ${minutes}) where id = ${session.id}`
  await sealSessions(service, sql)
}

const passkeysOf = async ({ user_id }: Session): Promise<string[]> =>
  (await sql`select id from passkeys where user_id = ${user_id}`).map(({ id }) => id)

const STALE: [number, string] = [403, 'fresh_login_required']

describe('a token that was stolen after the login', () => {
  const everyWay = async (victim: Session, token: Pick<Session, 'access_token'>) => {
    const [passkey] = await passkeysOf(victim)
    const post = as(token)
    // The victim begins these on another device, and the thief tries to finish them.
    const fresh = await people.logIn(`${victim.id}@example.com`)
    const begun = await people.newCredential(fresh)
    const attempts = {
      'passkey/begin-registration': await post('passkey/begin-registration'),
      'passkey/finish-registration': await post('passkey/finish-registration', begun),
      'passkey/remove': await post('passkey/remove', { id: passkey }),
      'add-email': await post('add-email', { email: 'thief@example.com' }),
      'complete-session-challenge': await post('complete-session-challenge', { code: await people.newChallenge() }),
    }
    return Object.fromEntries(Object.entries(attempts).map(([path, answer]) => [path, statusAndCode(answer)]))
  }
  const ALL_STALE = {
    'passkey/begin-registration': STALE,
    'passkey/finish-registration': STALE,
    'passkey/remove': STALE,
    'add-email': STALE,
    'complete-session-challenge': STALE,
  }

  /** A user with an e-mail address and a passkey, whose session began half an hour ago. */
  const victim = async (): Promise<Session> => {
    const session = await people.anonymous()
    await sql`update users set email = ${`${session.id}@example.com`} where id = ${session.user_id}`
    await sealUsers(service, sql)
    expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
    await age(session, 30)
    return session
  }

  test('cannot add or remove a login method or let a device in', async () => {
    const session = await victim()
    expect(await everyWay(session, session)).toEqual(ALL_STALE)
    expect(await passkeysOf(session)).toHaveLength(1)
  })

  longTest('cannot do so after refreshes either', async () => {
    const session = await victim()
    const refreshed = await refresh(await refresh(session))
    expect(await everyWay(session, refreshed)).toEqual(ALL_STALE)
    expect(await passkeysOf(session)).toHaveLength(1)
  })

  test('cannot finish adding an e-mail address that the user began to add', async () => {
    const session = await people.anonymous()
    expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
    const email = `${randomUUID()}@example.com`
    expect(statusAndCode(await as(session)('add-email', { email }))).toEqual(DONE)
    await age(session, 21)
    expect(statusAndCode(await as(session)('verify-email', { verification_code: await people.codeTo(email) }))).toEqual(
      STALE,
    )
    expect([...(await sql`select email from users where id = ${session.user_id}`)]).toEqual([{ email: null }])
  })
})

describe('a login within the last ten minutes', () => {
  test('can add and remove login methods and let devices in, also after a refresh', async () => {
    const first = await people.logIn('fresh@example.com')
    await age(first, 9)
    const session = await refresh(first)
    expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
    expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
    const [passkey] = await passkeysOf(session)
    expect(statusAndCode(await as(session)('passkey/remove', { id: passkey }))).toEqual(DONE)
    expect(
      statusAndCode(await as(session)('complete-session-challenge', { code: await people.newChallenge() })),
    ).toEqual(DONE)
  })

  test('leaves extra time to finish: five minutes for a passkey, ten for a code', async () => {
    const session = await people.anonymous()
    const [one, other] = [await people.newCredential(session), await people.newCredential(session)]
    const email = `${randomUUID()}@example.com`
    await as(session)('add-email', { email })
    // With a login method, so that a refresh does not count.
    expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
    await age(session, 14)
    expect(statusAndCode(await as(session)('passkey/begin-registration'))).toEqual(STALE)
    expect(statusAndCode(await as(session)('passkey/finish-registration', one))).toEqual(DONE)
    await age(session, 2)
    expect(statusAndCode(await as(session)('passkey/finish-registration', other))).toEqual(STALE)
    expect(statusAndCode(await as(session)('verify-email', { verification_code: await people.codeTo(email) }))).toEqual(
      DONE,
    )
  })

  longTest('is required by an error that says what to do', async () => {
    const session = await people.logIn('told@example.com')
    await age(session, 11)
    expect((await as(session)('passkey/begin-registration')).json).toEqual({
      error: 'This call requires a login within the last ten minutes: log in again, then repeat the call.',
      code: 'fresh_login_required',
    })
    expect(statusAndCode(await people.addPasskey(await people.logIn('told@example.com')))).toEqual(DONE)
  })
})

describe('a session that another device let in', () => {
  const letIn = async (by: Session): Promise<Session> => {
    const code = await people.newChallenge()
    expect(statusAndCode(await as(by)('complete-session-challenge', { code }))).toEqual(DONE)
    return (await people.verifyChallenge(code)).json
  }

  test('is as fresh as the login of that device, so that a chain of devices does not stay fresh', async () => {
    const first = await people.logIn('chain@example.com')
    await age(first, 9)
    const second = await letIn(first)
    expect(statusAndCode(await people.addPasskey(second))).toEqual(DONE)
    await age(second, 2)
    expect(statusAndCode(await as(second)('passkey/begin-registration'))).toEqual(STALE)
    expect(
      statusAndCode(await as(second)('complete-session-challenge', { code: await people.newChallenge() })),
    ).toEqual(STALE)
    const ages = await sql`select distinct round(extract(epoch from now() - authenticated_at) / 60)::int as minutes
      from sessions where user_id = ${first.user_id} order by minutes`
    expect(ages.map(({ minutes }) => minutes)).toEqual([9, 11])
  })
})

describe('an anonymous user without a login method', () => {
  test('can add the first one after a refresh; from then on a refresh does not count', async () => {
    const session = await people.anonymous()
    await age(session, 60)
    const answer = await as(session)('passkey/begin-registration')
    expect(statusAndCode(answer)).toEqual(STALE)
    expect(answer.json.error).toBe(
      'This call requires a session that was begun or refreshed within the last ten minutes: refresh it, then repeat the call.',
    )
    const refreshed = await refresh(session)
    expect(statusAndCode(await people.addPasskey(refreshed))).toEqual(DONE)
    expect(statusAndCode(await as(await refresh(refreshed))('passkey/begin-registration'))).toEqual(STALE)
  })
})

test('a session that has ended meanwhile cannot add anything', async () => {
  const session = await people.logIn('ended@example.com')
  const credential = await people.newCredential(session)
  await sql`update sessions set ended_at = now(), ended_by = 'operator' where id = ${session.id}`
  expect(statusAndCode(await as(session)('passkey/finish-registration', credential))).toEqual([401, 'session_ended'])
})
