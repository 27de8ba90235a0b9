// A user's own sessions: listing them, ending them, which credential changes end them, and the mails about these
// changes.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { endOwnSessions } from '../../src/identity/users/end-sessions.ts'
import { removeAllPasskeys } from '../../src/identity/users/passkeys.ts'
import { startApiProcess } from '../support/api.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { longTest } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { sealSessions } from './own-rows.ts'
import { DONE, peopleOf, type Session, statusAndCode } from './people.ts'

const PIN = '493817'
const NEW_PIN = '718394'
const network = 'Ethereum'

const service = await shared(startService({ rpcUrls: { [network]: 'http://127.0.0.1:1' } }))
const { sql } = service.database
const people = peopleOf(service)

const newAddress = () => `${randomUUID()}@example.com`

/** Several sessions of one user, each by a login. */
const logIns = async (count: number, email = newAddress()): Promise<Session[]> => {
  const sessions = []
  for (let index = 0; index < count; index += 1) sessions.push(await people.logIn(email))
  return sessions
}
const list = async (session: Session) => (await people.get('/users/sessions', session)).json
const end = (session: Session, body: unknown = {}) => people.as(session)('/users/sessions/end', body)
const reachOf = (sessions: readonly Session[]) => Promise.all(sessions.map(people.reach))
const endsOf = async (sessions: readonly Session[]): Promise<string[]> => {
  const rows = await sql`select id, ended_by from sessions where id = any(${sessions.map(({ id }) => id)})`
  return sessions.map(({ id }) => rows.find((row) => row.id === id)?.ended_by)
}
const passkeysOf = async ({ user_id }: Session): Promise<string[]> =>
  (await sql`select id from passkeys where user_id = ${user_id} order by created_at`).map(({ id }) => id)

describe('the list of sessions', () => {
  test('has the live sessions of the user, newest first, and no token', async () => {
    const [first, second] = (await logIns(2)) as [Session, Session]
    await people.logIn(newAddress())
    const answer = await people.get('/users/sessions', first)
    expect(answer.json).toEqual(
      [second, first].map(({ id }) => ({
        ...{ id, current: id === first.id, way: 'email_code', address: '127.0.0.1', device: expect.any(String) },
        ...{ created_at: expect.any(String), last_refreshed_at: expect.any(String), expires_at: expect.any(String) },
      })),
    )
    for (const secret of [first.access_token, first.refresh_token, second.refresh_token]) {
      expect(answer.text).not.toContain(secret)
    }
    const before = answer.json[1].last_refreshed_at
    await people.refresh(first)
    expect((await list(first))[1].last_refreshed_at > before).toBe(true)
  })

  longTest('leaves out sessions that have ended or expired', async () => {
    const [first, ended, expired] = (await logIns(3)) as [Session, Session, Session]
    await people.as(ended)('/users/logout')
    await sql`update sessions set expires_at = now() where id = ${expired.id}`
    expect((await list(first)).map(({ id }: Session) => id)).toEqual([first.id])
  })

  test('is refused to an API key', async () => {
    const answers = [await service.get('/users/sessions'), await service.post('/users/sessions/end', {})]
    expect(answers.map(statusAndCode)).toEqual(Array(2).fill([403, 'user_session_required']))
  })
})

describe('ending sessions', () => {
  test('ends one at once, and says whether it was live', async () => {
    const [mine, other, third] = (await logIns(3)) as [Session, Session, Session]
    expect((await end(mine, { session_id: other.id.toUpperCase() })).json).toEqual({ ended: 1 })
    expect((await end(mine, { session_id: other.id })).json).toEqual({ ended: 0 })
    expect(await reachOf([mine, other, third])).toEqual([200, 401, 200])
    expect(statusAndCode(await people.refresh(other))).toEqual([401, 'session_ended'])
    const [row] = await sql`select actor, details from audit where subject = ${other.id}`
    expect(row).toEqual({ actor: `user:${mine.user_id}`, details: { user_id: mine.user_id } })
  })

  test('ends all except the calling one, and also the challenges that they completed', async () => {
    const [mine, other, third] = (await logIns(3)) as [Session, Session, Session]
    const code = await people.newChallenge()
    expect(statusAndCode(await people.as(other)('/users/complete-session-challenge', { code }))).toEqual(DONE)
    expect((await end(mine)).json).toEqual({ ended: 2 })
    expect(await reachOf([mine, other, third])).toEqual([200, 401, 401])
    expect(statusAndCode(await people.verifyChallenge(code))).toEqual([401, 'login_failed'])
    expect(await endsOf([other, third])).toEqual(['user', 'user'])
    expect((await end(mine)).json).toEqual({ ended: 0 })
  })

  test('ends the calling session if it is named, like logging out', async () => {
    const [mine] = (await logIns(1)) as [Session]
    expect((await end(mine, { session_id: mine.id })).json).toEqual({ ended: 1 })
    expect([await people.reach(mine), ...(await endsOf([mine]))]).toEqual([401, 'logout'])
  })

  test('answers byte for byte the same for another user’s session as for an unknown one, and ends nothing', async () => {
    const [mine, theirs] = [await people.logIn(newAddress()), await people.logIn(newAddress())]
    const answers = await Promise.all([theirs.id, randomUUID()].map((session_id) => end(mine, { session_id })))
    expect(answers.map(statusAndCode)).toEqual(Array(2).fill([404, 'not_found']))
    expect(answers[0]?.text).toBe(answers[1]?.text ?? '')
    expect(await people.reach(theirs)).toBe(200)
    expect(statusAndCode(await end(mine, { session_id: 'x' }))).toEqual([400, 'invalid_input'])
  })

  longTest('requires no fresh login', async () => {
    const [mine, other] = (await logIns(2)) as [Session, Session]
    await sql`update sessions set authenticated_at = now() - interval '20 days' where id = ${mine.id}`
    await sealSessions(service, sql)
    expect((await end(mine)).json).toEqual({ ended: 1 })
    expect(await people.reach(other)).toBe(401)
  })

  longTest('ends the session of a device that they let in, even if it is being made at the same time', async () => {
    const [mine, stolen] = (await logIns(2)) as [Session, Session]
    const code = await people.newChallenge()
    expect(statusAndCode(await people.as(stolen)('/users/complete-session-challenge', { code }))).toEqual(DONE)
    const { user_id: userId, id: sessionId } = mine
    const { projectId } = service.project
    const caller = { kind: 'user', projectId, userId, sessionId, address: '' } as const
    // The proof has used the challenge up, and waits here before it makes the session.
    await using release = await holdTable(sql, 'passkeys', 'access exclusive')
    const proving = people.verifyChallenge(code)
    await untilWaiting(sql, 1)
    const ending = endOwnSessions(service.ctx, caller, { sessionId: null })
    await untilWaiting(sql, 2)
    await release()
    const made = await proving
    expect([made.status, await ending]).toEqual([200, 2])
    expect(await reachOf([mine, stolen, made.json])).toEqual([200, 401, 401])
    expect(statusAndCode(await people.refresh(made.json))).toEqual([401, 'session_ended'])
  })

  longTest('ends one that is being refreshed, over and over', async () => {
    const [mine, stolen] = (await logIns(2)) as [Session, Session]
    let last = stolen
    const refreshing = (async () => {
      for (;;) {
        const answer = await people.refresh(last)
        if (answer.status !== 200) return statusAndCode(answer)
        last = answer.json
      }
    })()
    expect((await end(mine)).json).toEqual({ ended: 1 })
    expect(await refreshing).toEqual([401, 'session_ended'])
    expect(await reachOf([mine, last])).toEqual([200, 401])
  })

  longTest('leaves at most one session if two end each other at the same time', async () => {
    const [one, two] = (await logIns(2)) as [Session, Session]
    const answers = await Promise.all([end(one), end(two)])
    expect(answers.map(({ status }) => status).every((status) => [200, 401].includes(status))).toBe(true)
    expect((await reachOf([one, two])).filter((status) => status === 200).length).toBeLessThanOrEqual(1)
  })
})

describe('a change of the PIN', () => {
  const newWallet = async (session: Session): Promise<string> => {
    const body = { network, name: 'Mine', control_mode: 'user', user_pin: PIN }
    return (await people.as(session)('/wallets', body)).json.address
  }
  const change = (address: string, old_user_pin = PIN) => ({ network, address, old_user_pin, new_user_pin: NEW_PIN })

  test('by the user ends their other sessions, but not the calling one', async () => {
    const [mine, other] = (await logIns(2)) as [Session, Session]
    const stranger = await people.anonymous()
    const address = await newWallet(mine)
    expect(statusAndCode(await people.as(mine)('/wallets/change-user-pin', change(address)))).toEqual(DONE)
    expect(await reachOf([mine, other, stranger])).toEqual([200, 401, 200])
    expect(await endsOf([other])).toEqual(['pin_changed'])
  })

  test("by an API key ends all sessions of the wallet's user", async () => {
    const sessions = (await logIns(2)) as [Session, Session]
    const stranger = await people.anonymous()
    const address = await newWallet(sessions[0])
    expect(statusAndCode(await service.post('/wallets/change-user-pin', change(address)))).toEqual(DONE)
    expect(await reachOf([...sessions, stranger])).toEqual([401, 401, 200])
  })

  test('by the user or by an API key is reported by mail, without a PIN in it', async () => {
    const email = newAddress()
    const [mine] = (await logIns(1, email)) as [Session]
    const address = await newWallet(mine)
    expect(statusAndCode(await people.as(mine)('/wallets/change-user-pin', change(address)))).toEqual(DONE)
    const back = { ...change(address, NEW_PIN), new_user_pin: PIN }
    expect(statusAndCode(await service.post('/wallets/change-user-pin', back))).toEqual(DONE)
    const mails = (await people.mailsTo(email)).filter(({ subject }) => !subject.startsWith('Log in'))
    expect(mails.map(({ subject }) => subject)).toEqual(Array(2).fill('The PIN of your wallets at Test was changed'))
    for (const { text } of mails) {
      expect(text).toContain('If it was not you: ')
      for (const pin of [PIN, NEW_PIN]) expect(text).not.toContain(pin)
    }
  })

  test('that fails ends none, and is not reported', async () => {
    const email = newAddress()
    const [mine, other] = (await logIns(2, email)) as [Session, Session]
    const address = await newWallet(mine)
    const answer = await people.as(mine)('/wallets/change-user-pin', change(address, '852963'))
    expect(statusAndCode(answer)).toEqual([403, 'INVALID_SECRET'])
    expect(await reachOf([mine, other])).toEqual([200, 200])
    const subjects = (await people.mailsTo(email)).map(({ subject }) => subject)
    expect(subjects.filter((subject) => subject.includes('PIN'))).toEqual([])
  })

  longTest(
    'ends them also if the API is killed between the change and the end, and is reported once',
    async () => {
      const email = newAddress()
      const sessions = (await logIns(2, email)) as [Session, Session]
      const [{ user_id }] = sessions
      const address = await newWallet(sessions[0])
      const api = await startApiProcess(service.variables)
      await using release = await holdTable(sql, 'sessions')
      const asked = service
        .as(service.project, api.url)
        .post('/wallets/change-user-pin', change(address))
        .catch(() => null)
      await untilWaiting(sql)
      const stopped = api.kill()
      await release()
      await Promise.all([stopped, asked])
      const again = await service.post('/wallets/change-user-pin', change(address))
      expect(statusAndCode(again)).toEqual([403, 'INVALID_SECRET'])
      expect(await reachOf(sessions)).toEqual([200, 200])
      await sql`update secret_changes set created_at = created_at - interval '2 minutes' where user_id = ${user_id}`
      const reports = async () =>
        (await people.mailsTo(email)).map(({ subject }) => subject).filter((subject) => subject.includes('PIN'))
      expect(await reports()).toEqual([])
      // Only one of them deals with it.
      const next = await Promise.all([startApiProcess(service.variables), startApiProcess(service.variables)])
      for (const deadline = Date.now() + 10_000; (await reachOf(sessions)).includes(200); ) {
        if (Date.now() > deadline) throw new Error('the sessions have not ended')
      }
      for (const each of next) await each.stop()
      expect(await reports()).toEqual(['The PIN of your wallets at Test may have been changed'])
      expect(await endsOf(sessions)).toEqual(['pin_changed', 'pin_changed'])
      expect((await sql`select from secret_changes`).length).toBe(0)
    },
    60_000,
  )

  longTest('works for an owner who is no user', async () => {
    for (const ownerId of ['alice', randomUUID()]) {
      const { address } = await service.newWallet({ network, ownerId, pin: PIN })
      expect(statusAndCode(await service.post('/wallets/change-user-pin', change(address)))).toEqual(DONE)
    }
  })
})

describe('a passkey', () => {
  const subjectsTo = async (email: string) =>
    (await people.mailsTo(email)).map(({ subject }) => subject).filter((subject) => !subject.startsWith('Log in'))

  test('that is added is reported by mail to the address that the user had, and ends no session', async () => {
    const email = newAddress()
    const [mine, other] = (await logIns(2, email)) as [Session, Session]
    expect(statusAndCode(await people.addPasskey(mine))).toEqual(DONE)
    expect(await subjectsTo(email)).toEqual(['A passkey was added to your login at Test'])
    const [mail] = await people.mailsTo(email)
    expect(mail?.text).toMatch(/^When: \d{4}-\d\d-\d\d \d\d:\d\d UTC\./m)
    expect(mail?.text).toContain('If it was not you: log in, remove the passkey, and end your other sessions.')
    expect(await reachOf([mine, other])).toEqual([200, 200])
  })

  test('that is removed is reported by mail, and ends the user’s other sessions', async () => {
    const email = newAddress()
    const [mine, other] = (await logIns(2, email)) as [Session, Session]
    await people.addPasskey(mine)
    const [id] = await passkeysOf(mine)
    expect(statusAndCode(await people.as(mine)('/users/passkey/remove', { id }))).toEqual(DONE)
    expect((await subjectsTo(email))[0]).toBe('A passkey of yours was removed at Test')
    expect((await people.mailsTo(email))[0]?.text).toContain('it still opens them until it is removed there as well')
    expect(await reachOf([mine, other])).toEqual([200, 401])
    expect(await endsOf([other])).toEqual(['passkey_removed'])
  })

  test('sends no mail if adding or removing it fails', async () => {
    const email = newAddress()
    const [mine] = (await logIns(1, email)) as [Session]
    await people.as(mine)('/users/passkey/finish-registration', {})
    await people.as(mine)('/users/passkey/remove', { id: randomUUID() })
    expect(await subjectsTo(email)).toEqual([])
  })

  longTest('of a user without an address sends no mail, and neither does adding the first address', async () => {
    const mails = async () => (await sql`select count(*)::int as mails from mails`)[0]?.mails
    const [session, before] = [await people.anonymous(), await mails()]
    expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
    expect(await mails()).toBe(before)
    const email = newAddress()
    await people.as(session)('/users/add-email', { email })
    const verification_code = await people.codeTo(email)
    expect(statusAndCode(await people.as(session)('/users/verify-email', { verification_code }))).toEqual(DONE)
    expect(await subjectsTo(email)).toEqual(['Confirm your e-mail address for Test'])
  })

  test('that the operator removes is reported by mail, and ends all sessions', async () => {
    const email = newAddress()
    const sessions = await logIns(2, email)
    const { user_id: userId } = sessions[0] as Session
    await people.addPasskey(sessions[0] as Session)
    const { projectId } = service.project
    expect(await removeAllPasskeys(service.ctx, { projectId, userId, actor: 'operator' })).toBe(1)
    expect((await subjectsTo(email))[0]).toBe('Your passkeys at Test were removed')
    expect(await reachOf(sessions)).toEqual([401, 401])
  })

  longTest('can be added and removed if the deployment sends no mail', async () => {
    const email = newAddress()
    const [mine] = (await logIns(1, email)) as [Session]
    await people.addPasskey(mine)
    const before = (await people.mailsTo(email)).length
    const config = { ...service.ctx.config, devnet: false }
    const input = { projectId: service.project.projectId, userId: mine.user_id, actor: 'operator' }
    expect(await removeAllPasskeys({ ...service.ctx, config }, input)).toBe(1)
    expect((await people.mailsTo(email)).length).toBe(before)
  })
})
