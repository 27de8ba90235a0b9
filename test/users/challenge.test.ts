// Logins that begin on one device and are completed on another or by a mailed link, over real HTTP.

import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { openMail } from '../../src/identity/mail/queue.ts'
import { revokeSessions } from '../../src/identity/users/end-sessions.ts'
import { createProject } from '../../src/operators/projects.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Answer, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const FORM = /^(?:[0-9A-HJKMNP-TV-Z]{4}-){6}[0-9A-HJKMNP-TV-Z]{4}$/
const REFUSED = [401, 'login_failed']
const UNKNOWN = [404, 'not_found']
const PHONE = 'Mozilla/5.0 (iPhone) <b>&amp;"x"</b>'

const log: string[] = []

// Not the devnet, so that the limits of a deployment apply. Each test has its own address.
const service = await shared(
  startService({
    variables: { DEVNET: 'false', TRUSTED_PROXIES: '1', MAIL_URL: 'smtp://127.0.0.1:1', LOG_LEVEL: 'trace' },
  }),
)
const { log: own } = service.ctx
const listen = (level: 'info' | 'warn' | 'error' | 'debug' | 'trace') => {
  const say: (...said: [object, string]) => void = own[level]
  const heard = (...said: [object, string]) => {
    log.push(JSON.stringify(said))
    if (level === 'error') say(...said)
  }
  Object.assign(own, { [level]: heard })
}
for (const level of ['info', 'warn', 'error', 'debug', 'trace'] as const) listen(level)
const { sql } = service.database
const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })

let addresses = 0
const nextAddress = () => `192.0.2.${++addresses}`
const by = (address = nextAddress(), more: Record<string, string | undefined> = {}) => ({
  authorization: undefined,
  'x-forwarded-for': address,
  ...more,
})
const ofUser = (session: { access_token: string }) =>
  by(nextAddress(), { authorization: `Bearer ${session.access_token}` })
const anywhere = { 'x-walletkit-project-id': undefined }
const failure = (answer: Answer) => [answer.status, answer.json.code]

/** Challenges without a verifier are proven from the address that began them. */
const ASKER = '198.51.100.20'
const begin = async (headers: Record<string, string | undefined> = by(ASKER), body: object = {}) => {
  const answer = await service.post('/users/create-session-challenge', body, headers)
  expect(answer.status).toBe(200)
  return answer.json as { id: string; code: string; expired: boolean; completed: boolean }
}
const look = (code: string, headers: Record<string, string | undefined> = by(nextAddress(), anywhere)) =>
  service.call(`/users/session-challenge?${new URLSearchParams({ code })}`, { headers })
const asker = (code: string, headers: Record<string, string | undefined>) =>
  service.call(`/users/session-challenge/asker?${new URLSearchParams({ code })}`, { headers })
const complete = (code: string, headers: Record<string, string | undefined>) =>
  service.post('/users/complete-session-challenge', { code }, headers)
const prove = (code: string, headers: Record<string, string | undefined> = by(ASKER), more: object = {}) =>
  service.post('/users/verify-login', { session_challenge_code: code, ...more }, headers)
const anonymous = async (headers: Record<string, string | undefined> = by()) =>
  (await service.post('/users/login-anonymously', {}, headers)).json
const inOther = { 'x-walletkit-project-id': undefined as string | undefined }
const ofOther = (headers: Record<string, string | undefined>) => ({
  ...headers,
  ...inOther,
  'x-walletkit-project-id': other.projectId,
})
const expire = (id: string) => sql`update session_challenges set expires_at = now() where id = ${id}`
const statesOf = async (code: string) => {
  const { completed, expired } = (await look(code)).json
  return { completed, expired }
}

describe('a session challenge', () => {
  test('is completed on another device and gives one session of that user', async () => {
    const user = await anonymous()
    const phone = () => by('198.51.100.7', { 'user-agent': PHONE })
    const challenge = await begin(phone())
    expect(challenge).toEqual({ id: challenge.id, code: challenge.code, expired: false, completed: false })
    expect(challenge.code).toMatch(FORM)
    expect((await look(challenge.code)).json).toEqual(challenge)
    expect(failure(await prove(challenge.code, phone()))).toEqual(REFUSED)

    const shown = await asker(challenge.code, ofUser(user))
    expect(shown.json).toEqual({
      address: '198.51.100.7',
      device: PHONE,
      created_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expect(Date.parse(shown.json.expires_at) - Date.parse(shown.json.created_at)).toBe(300_000)

    expect((await complete(challenge.code, ofUser(user))).json).toEqual({ success: true })
    expect((await look(challenge.code)).json).toEqual({ ...challenge, completed: true })
    const session = await prove(challenge.code, phone())
    expect([session.status, session.json.user_id]).toEqual([200, user.user_id])
    expect(session.json.id).not.toBe(user.id)
    const [row] = await sql`select way from sessions where id = ${session.json.id}`
    expect(row?.way).toBe('session_challenge')

    expect(failure(await prove(challenge.code, phone()))).toEqual(REFUSED)
    expect(await statesOf(challenge.code)).toEqual({ completed: true, expired: false })
    await expire(challenge.id)
    expect(await statesOf(challenge.code)).toEqual({ completed: false, expired: true })
  })

  test('accepts its code in any letter case, with or without hyphens and spaces', async () => {
    const user = await anonymous()
    const { code } = await begin()
    const typed = ` ${code.replaceAll('-', '').toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l')} `
    expect((await look(typed)).json.code).toBe(code)
    expect((await complete(typed, ofUser(user))).status).toBe(200)
    expect((await prove(typed)).status).toBe(200)
  })

  test('gives one session to many simultaneous requests, and is completed by one of many users', async () => {
    const users = await Promise.all([anonymous(), anonymous(), anonymous()])
    const { code } = await begin()
    const done = await Promise.all(users.map((user) => complete(code, ofUser(user))))
    expect(done.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const winner = users[done.findIndex(({ status }) => status === 200)]
    const proven = await Promise.all([prove(code), prove(code), prove(code), prove(code)])
    expect(proven.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
    expect(proven.find(({ status }) => status === 200)?.json.user_id).toBe(winner.user_id)
  })

  test('tells only logged-in users whether it is unknown, expired or completed', async () => {
    const user = await anonymous()
    const [done, late, doneLate] = [await begin(), await begin(), await begin()]
    for (const { code } of [done, doneLate]) expect((await complete(code, ofUser(user))).status).toBe(200)
    for (const { id } of [late, doneLate]) await expire(id)
    for (const use of [asker, complete]) {
      expect(failure(await use(done.code, ofUser(user)))).toEqual([409, 'challenge_completed'])
      expect(failure(await use(late.code, ofUser(user)))).toEqual([409, 'challenge_expired'])
      expect(failure(await use(doneLate.code, ofUser(user)))).toEqual([409, 'challenge_expired'])
      for (const code of ['x', 'U'.repeat(28), '0000-0000-0000-0000-0000-0000-0000'])
        expect(failure(await use(code, ofUser(user)))).toEqual(UNKNOWN)
    }
    expect(await statesOf(late.code)).toEqual({ completed: false, expired: true })
    for (const { code } of [late, doneLate]) expect(failure(await prove(code))).toEqual(REFUSED)
    for (const code of ['x', '0000-0000-0000-0000-0000-0000-0000']) expect(failure(await look(code))).toEqual(UNKNOWN)
  })

  test('of another project is answered like an unknown one', async () => {
    const [user, stranger] = [await anonymous(), await anonymous(ofOther(by()))]
    const { code } = await begin()
    const unknown = await look('0000-0000-0000-0000-0000-0000-0000')
    const seen = await look(code, ofOther(by()))
    expect([seen.status, seen.text]).toEqual([404, unknown.text])
    expect(failure(await look(code, by(nextAddress(), { 'x-walletkit-project-id': 'x' })))).toEqual(UNKNOWN)
    for (const use of [asker, complete]) expect(failure(await use(code, ofOther(ofUser(stranger))))).toEqual(UNKNOWN)
    expect((await complete(code, ofUser(user))).status).toBe(200)
    expect(failure(await prove(code, ofOther(by(ASKER))))).toEqual(REFUSED)
    expect((await look(code, by())).json.completed).toBe(true)
    expect((await prove(code)).status).toBe(200)
  })

  test('cannot be completed with an API key or without a token', async () => {
    const { code } = await begin()
    const key = { 'x-forwarded-for': nextAddress() }
    for (const use of [asker, complete]) {
      expect(failure(await use(code, key))).toEqual([403, 'user_session_required'])
      expect(failure(await use(code, by()))).toEqual([401, 'unauthorized'])
    }
    expect(await statesOf(code)).toEqual({ completed: false, expired: false })
  })

  test('is refused for another user than the named one, and is not used up', async () => {
    const [user, another] = [await anonymous(), await anonymous()]
    const { code } = await begin()
    await complete(code, ofUser(user))
    const body = { session_challenge_code: code, user_id: another.user_id }
    expect(failure(await service.post('/users/verify-login', body, by(ASKER)))).toEqual(REFUSED)
    expect((await prove(code)).status).toBe(200)
  })

  test('logs nobody in after all sessions of its user were revoked, even if it was being completed meanwhile', async () => {
    const user = await anonymous()
    const [before, meanwhile] = [await begin(), await begin()]
    expect((await complete(before.code, ofUser(user))).status).toBe(200)
    const which = { projectId: service.project.projectId, userId: user.user_id }
    const waiting = async (count: number) => {
      const deadline = Date.now() + 10_000
      const queries = () => sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      while ((await queries()).length < count) if (Date.now() > deadline) throw new Error('nothing waits')
    }
    const { completing, revoking } = await sql.begin(async (tx) => {
      await tx`select from session_challenges where id = ${meanwhile.id} for update`
      const completing = complete(meanwhile.code, ofUser(user))
      await waiting(1)
      const revoking = revokeSessions(service.ctx, { which, actor: 'operator' })
      await Promise.race([revoking, waiting(2)])
      return { completing, revoking }
    })
    expect([(await completing).status, await revoking]).toEqual([200, 1])
    for (const { code } of [before, meanwhile]) expect(failure(await prove(code))).toEqual(REFUSED)
  })

  test('cannot be read by pages of an origin that its project does not allow', async () => {
    const { code } = await begin()
    const answer = await look(code, by(nextAddress(), { ...anywhere, origin: 'https://evil.example' }))
    expect(failure(answer)).toEqual([403, 'origin_not_allowed'])
  })

  longTest('can be read once a second, and has limits for beginning and trying', async () => {
    const { code } = await begin()
    const address = nextAddress()
    for (let each = 0; each < 600; each += 50) {
      const looks = await Promise.all(Array.from({ length: 50 }, () => look(code, by(address))))
      expect(looks.every(({ status }) => status === 200)).toBe(true)
    }
    const refused = await look(code, by(address))
    expect(failure(refused)).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)

    const eager = nextAddress()
    const one = async () => (await service.post('/users/create-session-challenge', {}, by(eager))).status
    const begun = []
    for (let each = 0; each < 300; each += 50) begun.push(...(await Promise.all(Array.from({ length: 50 }, one))))
    begun.push(await one())
    expect(begun).toEqual([...Array(300).fill(200), 429])
  })

  test('is stored only as a hash', async () => {
    const { id, code } = await begin()
    const [row] = await sql`select code_hash, row_to_json(c)::text as text from session_challenges c where id = ${id}`
    expect(row?.code_hash).toEqual(createHash('sha256').update(code).digest())
    expect(row?.text).not.toContain(code.slice(0, 9))
  })
})

describe('a mailed link', () => {
  const OURS = { 'sec-fetch-site': 'same-origin', origin: 'null' }
  const start = async (email: string, headers: Record<string, string | undefined> = by()) => {
    const answer = await service.post('/users/login-with-magic-link', { email }, headers)
    expect(answer.status).toBe(200)
    const [mail] = await sql`select id, recipient, subject, sealed from mails order by created_at desc limit 1`
    if (mail === undefined) throw new Error('no mail')
    const { id, recipient, subject, sealed } = mail
    const text = openMail(service.ctx.sealer, { id, recipient, subject, sealed }) ?? ''
    const secret = /\/login\/link\?secret=([A-Za-z0-9_-]+)\n/.exec(text)?.[1] ?? 'none'
    return { challenge: answer.json, answer, mail, text, secret }
  }
  const open = (secret: string, headers: Record<string, string | undefined> = by(nextAddress(), anywhere)) =>
    service.call(`/login/link?secret=${secret}`, { headers })
  const press = (secret: string, headers: Record<string, string | undefined> = OURS) =>
    service.call('/login/link', {
      method: 'POST',
      rawBody: new URLSearchParams({ secret }).toString(),
      headers: by(nextAddress(), {
        ...anywhere,
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      }),
    })

  test('shows which device asks; the button logs in a new user, and later the same user', async () => {
    const { challenge, mail, text, secret, answer } = await start(
      'Alice@Example.com',
      by('198.51.100.8', { 'user-agent': PHONE }),
    )
    expect([mail.recipient, mail.subject]).toEqual(['alice@example.com', 'Log in to Test'])
    expect(text).toContain(`http://localhost:3000/login/link?secret=${secret}`)
    expect(text).not.toContain('iPhone')
    expect(secret).toHaveLength(43)
    expect(answer.text).not.toContain(secret)

    const page = await open(secret)
    expect(page.status).toBe(200)
    expect(page.text).toContain('<h1>Log in to Test?</h1>')
    expect(page.text).toContain('198.51.100.8')
    expect(page.text).toContain('<dd>An unknown program on an iPhone</dd>')
    expect(page.text).not.toContain('<b>')
    expect(page.text).toContain('<button class="main">')
    expect(page.text).not.toContain(challenge.code)
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none';.*form-action 'self'; frame-ancestors 'none'/,
      ),
    } as never)

    for (let each = 0; each < 3; each += 1) await open(secret)
    expect(await statesOf(challenge.code)).toEqual({ completed: false, expired: false })
    expect(failure(await prove(challenge.code))).toEqual(REFUSED)
    expect([...(await sql`select id from users where email = 'alice@example.com'`)]).toEqual([])

    const pressed = await press(secret)
    expect([pressed.status, pressed.text]).toEqual([200, expect.stringContaining('The device is logged in')])
    expect(await statesOf(challenge.code)).toEqual({ completed: true, expired: false })
    const session = (await prove(challenge.code)).json
    const [row] =
      await sql`select way, email from sessions join users on users.id = user_id where sessions.id = ${session.id}`
    expect({ ...row }).toEqual({ way: 'magic_link', email: 'alice@example.com' })
    expect(failure(await prove(challenge.code))).toEqual(REFUSED)

    const again = await start('alice@example.com')
    await press(again.secret)
    expect((await prove(again.challenge.code)).json.user_id).toBe(session.user_id)
  })

  test('cannot be completed by its code, neither over the API nor in the form', async () => {
    const user = await anonymous()
    const { challenge, secret } = await start('code@example.com')
    for (const use of [asker, complete]) expect(failure(await use(challenge.code, ofUser(user)))).toEqual(UNKNOWN)
    expect((await press(challenge.code)).status).toBe(404)
    expect(failure(await prove(secret))).toEqual(REFUSED)
    expect(failure(await look(secret))).toEqual(UNKNOWN)
    expect(await statesOf(challenge.code)).toEqual({ completed: false, expired: false })
  })

  const FOREIGN_FORMS: readonly (readonly [Record<string, string>])[] = [
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' }],
    [{ origin: 'https://evil.example' }],
    [{ 'sec-fetch-site': 'none' }],
    [{}],
    [{ origin: 'null' }],
  ]
  test.each(someOf(FOREIGN_FORMS, 2))('is not completed by a form of another page: %p', async (headers) => {
    const { challenge, secret } = await start(`form${addresses}@example.com`)
    expect((await press(secret, headers)).status).toBe(403)
    expect(await statesOf(challenge.code)).toEqual({ completed: false, expired: false })
    expect((await press(secret, { origin: 'http://localhost:3000' })).status).toBe(200)
  })

  test('accepts only a form', async () => {
    const { challenge, secret } = await start('json@example.com')
    const headers = by(nextAddress(), { ...OURS, 'content-type': 'application/json' })
    const answer = await service.call('/login/link', { rawBody: JSON.stringify({ secret }), headers })
    expect(answer.status).toBe(415)
    expect((await statesOf(challenge.code)).completed).toBe(false)
  })

  test('works once, and not after it has expired', async () => {
    const first = await start('once@example.com')
    const pressed = await Promise.all([press(first.secret), press(first.secret), press(first.secret)])
    expect(pressed.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const seen = await open(first.secret)
    expect([seen.status, seen.text]).toEqual([409, expect.stringContaining('This link was used already')])

    const late = await start('late@example.com')
    await expire(late.challenge.id)
    for (const answer of [await open(late.secret), await press(late.secret)]) {
      expect([answer.status, answer.text]).toEqual([410, expect.stringContaining('This link has expired')])
    }
    expect(await statesOf(late.challenge.code)).toEqual({ completed: false, expired: true })
    for (const secret of ['', 'x', 'A'.repeat(43)]) {
      for (const answer of [await open(secret), await press(secret)]) {
        expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('This link does not work')])
      }
    }
  })

  test('is limited for each address, and does not reveal whether the address is known', async () => {
    const statuses = []
    for (let each = 0; each < 6; each += 1) {
      const answer = await service.post('/users/login-with-magic-link', { email: 'often@example.com' }, by())
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    const known = (await start('alice@example.com')).challenge
    const unknown = (await start('nobody@example.com')).challenge
    expect(Object.keys(known)).toEqual(Object.keys(unknown))
    const wrong = await service.post('/users/login-with-magic-link', { email: 'alice' }, by())
    expect(failure(wrong)).toEqual([400, 'invalid_input'])
  })

  test('leaves its secret in no table, no job and no log', async () => {
    const { secret, challenge } = await start('secret@example.com')
    await open(secret)
    await press(secret)
    await prove(challenge.code)
    const tables = await sql<{ name: string }[]>`
      select schemaname || '.' || tablename as name from pg_tables where schemaname in ('public', 'graphile_worker')`
    const hex = (text: string) => Buffer.from(text).toString('hex')
    for (const { name } of tables) {
      for (const { text } of await sql.unsafe(`select t::text as text from ${name} t`)) {
        for (const hidden of [secret, hex(secret), challenge.code, hex(challenge.code)]) {
          expect(text.includes(hidden) ? name : null).toBeNull()
        }
      }
    }
    expect(tables.length).toBeGreaterThan(30)
    for (const line of log) expect(line.includes(secret) || line.includes(challenge.code)).toBe(false)
  })
})
