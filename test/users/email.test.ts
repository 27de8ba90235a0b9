// Logging in with a mailed code, and adding an e-mail address, over real HTTP with a real worker and a real mail
// server.

import { describe, expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { loginWithEmail } from '../../src/identity/users/email-code.ts'
import { verifyLogin } from '../../src/identity/users/verify-login.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { longTest } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import { type Answer, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { codeOf, startSmtp, textOf } from '../support/smtp.ts'
import { until } from '../support/until.ts'
import { startDatabaseWire } from '../support/wire.ts'
import { visitorOf } from './people.ts'

/** A worker that logs at the lowest level. The last test reads its log. */
const startLoudWorker = () =>
  Bun.spawn(['bun', programPath('src/main/worker')], {
    env: {
      PATH: process.env.PATH ?? '',
      ...service.variables,
      VAULT_SOCKET: '',
      DATABASE_URL: service.database.workerUrl,
      LOG_LEVEL: 'trace',
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })

const smtp = await shared(startSmtp())
// Not the devnet, so that the limits of a deployment apply. Each test has its own address.
const service = await shared(startService({ variables: { DEVNET: 'false', TRUSTED_PROXIES: '1', MAIL_URL: smtp.url } }))
const { sql } = service.database
const worker = startLoudWorker()
afterTests(async () => {
  worker.kill('SIGTERM')
  await worker.exited
})
const workerLog = new Response(worker.stdout).text()

/** Waits until this many statements of this kind wait for another transaction's lock. */
const waitingFor = (statement: string, count: number): Promise<boolean> =>
  until(async () => {
    const waiting = await sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${statement}`
    return waiting.length === count
  })

let addresses = 0
const nextAddress = () => `192.0.2.${++addresses}`
const by = (address: string, more: Record<string, string> = {}) => ({
  authorization: undefined,
  'x-forwarded-for': address,
  ...more,
})
const ofUser = (session: { access_token: string }) => ({
  ...by(nextAddress()),
  authorization: `Bearer ${session.access_token}`,
})

const begin = (email: string, headers: Record<string, string | undefined> = by(nextAddress())): Promise<Answer> =>
  service.post('/users/login-with-email', { email }, headers)
const prove = (userId: string, code: string, headers: Record<string, string | undefined> = by(nextAddress())) =>
  service.post('/users/verify-login', { user_id: userId, verification_code: code }, headers)

/** Begins a login for the nth time. @returns the user id for verify-login and the mailed code. */
const mailed = async (email: string, nth = 1) => {
  const answer = await begin(email)
  expect(answer.status).toBe(200)
  return { userId: answer.json.user_id as string, code: codeOf(await smtp.mailTo(email, nth)) }
}
const otherThan = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0')
const failure = (answer: Answer) => [answer.status, answer.json.code]
const REFUSED = [401, 'login_failed']

describe('logging in with a mailed code', () => {
  test('creates the user the first time, and finds the same user the second time', async () => {
    const { userId, code } = await mailed('alice@example.com')
    const [first] = smtp.mails
    expect(first?.to).toEqual(['alice@example.com'])
    expect(first?.from).toBe('no-reply@localhost')
    const subject = /^Subject: (.*)$/m.exec(first?.raw ?? '')?.[1]?.trim()
    expect(subject).toBe('Log in to Test')
    expect(first && textOf(first)).toContain('Somebody asks to log in to Test')
    expect(first && textOf(first)).toContain('valid for 10 minutes')

    const session = await prove(userId, code)
    expect(session.status).toBe(200)
    expect(session.json.user_id).toBe(userId)
    const claims = decodeJwt(session.json.access_token)
    expect([claims.sub, claims.email]).toEqual([userId, 'alice@example.com'])
    const [row] = await sql`select way from sessions where id = ${session.json.id}`
    expect(row?.way).toBe('email_code')
    await until(async () => {
      const [mail] = await sql`select sealed, sent_at, failure from mails where recipient = 'alice@example.com'`
      return mail?.sealed === null && mail.failure === null && mail.sent_at instanceof Date
    })

    const answer = await begin('Alice@EXAMPLE.com')
    expect(answer.json).toEqual({ user_id: userId })
    const again = codeOf(await smtp.mailTo('alice@example.com', 2))
    expect((await prove(userId, again)).json.user_id).toBe(userId)
  })

  longTest('works although the mail server refuses for a while', async () => {
    smtp.refuseNext({ at: 'RCPT', code: 451, text: '4.7.1 Greylisted' })
    const { userId, code } = await mailed('grey@example.com')
    expect((await prove(userId, code)).status).toBe(200)
  })

  test('accepts a code once, even if several simultaneous requests have checked it', async () => {
    const { userId, code } = await mailed('once@example.com')
    const proofs = await sql.begin(async (tx) => {
      await tx`select from email_codes where user_id = ${userId} for update`
      const proving = Array.from({ length: 4 }, () => prove(userId, code))
      await waitingFor('update "email_codes"%', proving.length)
      return { proving }
    })
    const answers = await Promise.all(proofs.proving)
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 401, 401, 401])
    expect(failure(await prove(userId, code))).toEqual(REFUSED)
  })

  test('allows five tries, however many come at once', async () => {
    const { userId, code } = await mailed('guessed@example.com')
    const guesses = await Promise.all(Array.from({ length: 20 }, () => prove(userId, otherThan(code))))
    expect(new Set(guesses.map(failure).map(String))).toEqual(new Set([String(REFUSED)]))
    const [row] = await sql`select tries from email_codes where user_id = ${userId}`
    expect(row?.tries).toBe(5)
    expect(failure(await prove(userId, code))).toEqual(REFUSED)
  })

  longTest('accepts the right code at the fifth try', async () => {
    const { userId, code } = await mailed('fifth@example.com')
    for (let tries = 0; tries < 4; tries += 1) expect((await prove(userId, otherThan(code))).status).toBe(401)
    expect((await prove(userId, code)).status).toBe(200)
  })

  test('refuses a code that has expired', async () => {
    const { userId, code } = await mailed('late@example.com')
    const [row] = await sql`
      update email_codes set expires_at = now() where user_id = ${userId}
      returning round(extract(epoch from expires_at - created_at))::int as age`
    expect(row?.age).toBeLessThan(600)
    expect(failure(await prove(userId, code))).toEqual(REFUSED)
  })

  test('refuses a code that a newer one has replaced', async () => {
    const first = await mailed('twice@example.com')
    const second = await mailed('twice@example.com', 2)
    expect(second.userId).toBe(first.userId)
    expect(failure(await prove(first.userId, first.code))).toEqual(REFUSED)
    expect((await prove(second.userId, second.code)).status).toBe(200)
  })

  test("refuses another user's code and another project's code", async () => {
    const one = await mailed('one@example.com')
    const two = await mailed('two@example.com')
    expect(failure(await prove(two.userId, one.code))).toEqual(REFUSED)
    const other = await createProject(service.ctx, { name: 'Öther', actor: 'operator' })
    // As it could be named earlier.
    const name = 'Öther\r\nBcc: eve@example.com'
    await service.database.sql`update projects set name = ${name} where id = ${other.projectId}`
    const there = by(nextAddress(), { 'x-walletkit-project-id': other.projectId })
    expect(failure(await prove(one.userId, one.code, there))).toEqual(REFUSED)
    const answer = await begin('one@example.com', there)
    expect(answer.json.user_id).not.toBe(one.userId)
    // A project's name becomes one line, so that it cannot add headers or text.
    const mail = await smtp.mailTo('one@example.com', 2)
    expect(mail.to).toEqual(['one@example.com'])
    expect(mail.raw).not.toMatch(/^bcc/im)
    expect(textOf(mail)).toContain('log in to Öther Bcc: eve@example.com with this')
    // The login in the other project has not changed this one.
    expect((await prove(one.userId, one.code)).status).toBe(200)
  })

  test('treats an unknown user exactly like a wrong code', async () => {
    const { userId, code } = await mailed('known@example.com')
    const said: string[] = []
    const wire = await startDatabaseWire({
      url: service.database.apiUrl,
      tap: {
        heard: (_, kind) => {
          said.push(kind)
          return null
        },
        kill: async () => {},
        loses: () => null,
      },
    })
    const ctx = await createApiCtx({
      config: readConfig({ ...service.variables, DATABASE_URL: wire.url }),
      process: 'test',
    })
    const visitor = await visitorOf(service, { address: nextAddress() })
    const nothing = {
      siweMessage: undefined,
      signature: undefined,
      sessionChallengeCode: undefined,
      codeVerifier: undefined,
    }
    const proofs = { ...nothing, passkeyAssertion: undefined, verificationCode: otherThan(code) }
    const statements = async (work: () => Promise<unknown>) => {
      said.length = 0
      await work()
      return [...said]
    }
    const failing = (id: string) => () => verifyLogin(ctx, visitor, { ...proofs, userId: id }).catch(() => {})
    const beginning = (email: string) => () => loginWithEmail(ctx, visitor, { email })
    try {
      const wrong = await statements(failing(userId))
      expect(wrong).toEqual(['insert throttles', 'update email_codes'])
      expect(await statements(failing('4d1f0c3e-5b6a-4f7d-8e9c-0123456789ab'))).toEqual(wrong)
      const known = await statements(beginning('alice@example.com'))
      expect(known).toContain('insert mails')
      expect(await statements(beginning('nobody@example.com'))).toEqual(known)
    } finally {
      await ctx.close({ timeoutSeconds: 5 })
      await wire.stop()
    }
    const wrong = await prove(userId, otherThan(code))
    const unknown = await prove('4d1f0c3e-5b6a-4f7d-8e9c-0123456789ab', otherThan(code))
    expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text])
  })

  test('refuses a text that is no address, and a code that is not six digits', async () => {
    for (const email of [
      'alice',
      'a@b',
      'a,b@example.com',
      'a@example.com\r\nBcc: b@example.com',
      'a'.repeat(255),
      7,
    ]) {
      const answer = await service.post('/users/login-with-email', { email }, by(nextAddress()))
      expect(failure(answer)).toEqual([400, 'invalid_input'])
      expect(answer.json.error).toContain('"email"')
    }
    const { userId } = (await begin('form@example.com')).json
    for (const code of ['12345', '1234567', '12345a', '', '１２３４５６']) {
      expect(failure(await prove(userId, code))).toEqual([400, 'invalid_input'])
    }
  })

  test('is refused with not_implemented if the deployment sends no mail', async () => {
    const config = { ...service.ctx.config, mailUrl: null }
    const visitor = await visitorOf(service)
    await expect(loginWithEmail({ ...service.ctx, config }, visitor, { email: 'a@example.com' })).rejects.toMatchObject(
      {
        code: 'not_implemented',
      },
    )
  })

  test('stores no code if its mail cannot be queued', async () => {
    await sql`revoke insert on mails from strongroom_api`
    const answer = await begin('unsent@example.com')
    await sql`grant insert on mails to strongroom_api`
    expect(answer.status).toBe(500)
    expect(await sql`select from email_codes where email = 'unsent@example.com'`).toHaveLength(0)
  })
})

describe('beginning too often', () => {
  const isLimited = (answer: Answer) => {
    expect(failure(answer)).toEqual([429, 'rate_limited'])
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(900)
  }

  test('for one e-mail address is refused, whichever address it comes from', async () => {
    for (let begun = 0; begun < 5; begun += 1) expect((await begin('target@example.com')).status).toBe(200)
    isLimited(await begin('target@example.com'))
    isLimited(await begin('TARGET@example.com'))
    expect((await begin('bystander@example.com')).status).toBe(200)
  })

  longTest('from one IP address or IPv6 subnet is refused, for every user', async () => {
    const address = nextAddress()
    const callers = { one: () => address, subnet: (index: number) => `2001:db8:0:1::${index.toString(16)}` }
    for (const [name, callerOf] of Object.entries(callers)) {
      const all = await Promise.all(
        Array.from({ length: 31 }, (_, index) => begin(`${name}-${index}@example.com`, by(callerOf(index)))),
      )
      const limited = all.filter((answer) => answer.status !== 200)
      expect(limited).toHaveLength(1)
      for (const answer of limited) isLimited(answer)
    }
    for (const other of [nextAddress(), '2001:db8:0:2::1']) {
      expect((await begin('sprayed@example.com', by(other))).status).toBe(200)
    }
  })
})

describe('adding an e-mail address', () => {
  const anonymous = async () => (await service.post('/users/login-anonymously', {}, by(nextAddress()))).json
  const add = (session: { access_token: string }, email: string) =>
    service.post('/users/add-email', { email }, ofUser(session))
  const verify = (session: { access_token: string }, code: string) =>
    service.post('/users/verify-email', { verification_code: code }, ofUser(session))

  test('lets the same user log in with it, and puts it into the next access token', async () => {
    const session = await anonymous()
    const added = await add(session, 'Guest@example.com')
    expect([added.status, added.json]).toEqual([200, { success: true }])
    const mail = await smtp.mailTo('guest@example.com')
    expect(mail.raw).toContain('Subject: Confirm your e-mail address for Test')
    // The code cannot be used to log in.
    expect(failure(await prove(session.user_id, codeOf(mail)))).toEqual(REFUSED)
    expect(failure(await verify(session, otherThan(codeOf(mail))))).toEqual([403, 'INVALID_SECRET'])
    const verified = await verify(session, codeOf(mail))
    expect([verified.status, verified.json]).toEqual([200, { success: true }])
    expect(failure(await verify(session, codeOf(mail)))).toEqual([403, 'INVALID_SECRET'])
    const audit = await sql`select actor, subject, details from audit where action = 'email_added'`
    expect([...audit]).toEqual([{ actor: `user:${session.user_id}`, subject: session.user_id, details: {} }])

    const { id: session_id, refresh_token } = session
    const refreshed = await service.post('/users/refresh-token', { session_id, refresh_token }, by(nextAddress()))
    expect(decodeJwt(refreshed.json.access_token).email).toBe('guest@example.com')
    const { userId, code } = await mailed('guest@example.com', 2)
    expect((await prove(userId, code)).json.user_id).toBe(session.user_id)
    expect(failure(await add(session, 'second@example.com'))).toEqual([409, 'email_exists'])
  })

  test('that another user has reveals this only to a reader of the mail', async () => {
    const { userId, code } = await mailed('owned@example.com')
    await prove(userId, code)
    const session = await anonymous()
    expect((await add(session, 'owned@example.com')).json).toEqual({ success: true })
    expect(failure(await verify(session, '000000'))).toEqual([403, 'INVALID_SECRET'])
    const answer = await verify(session, codeOf(await smtp.mailTo('owned@example.com', 2)))
    expect(failure(answer)).toEqual([409, 'email_taken'])
    const [row] = await sql`select email from users where id = ${session.user_id}`
    expect(row?.email).toBeNull()
  })

  longTest('gives it to one of two users who add it at the same time', async () => {
    const [first, second] = [await anonymous(), await anonymous()]
    await add(second, 'both@example.com')
    const code = codeOf(await smtp.mailTo('both@example.com'))
    const answer = await sql.begin(async (tx) => {
      await tx`update users set email = 'both@example.com' where id = ${first.user_id}`
      const verifying = verify(second, code)
      await waitingFor('update "users"%', 1)
      return { verifying }
    })
    expect(failure(await answer.verifying)).toEqual([409, 'email_taken'])
  })

  test('does not change the answer of login-with-email, so that nobody learns whose the address is', async () => {
    const login = await mailed('early@example.com')
    const session = await anonymous()
    await add(session, 'early@example.com')
    expect((await verify(session, codeOf(await smtp.mailTo('early@example.com', 2)))).status).toBe(200)
    // A login code from before does not create a second user.
    expect((await prove(login.userId, login.code)).json.user_id).toBe(session.user_id)
    const later = await mailed('early@example.com', 3)
    expect(later.userId).toBe(login.userId)
    expect(later.userId).not.toBe(session.user_id)
    expect(failure(await prove(session.user_id, later.code))).toEqual(REFUSED)
    expect((await prove(later.userId, later.code)).json.user_id).toBe(session.user_id)
  })

  test("requires a user's access token, and is limited for each address", async () => {
    for (const [path, body] of [
      ['/users/add-email', { email: 'key@example.com' }],
      ['/users/verify-email', { verification_code: '123456' }],
    ] as const) {
      expect(failure(await service.post(path, body))).toEqual([403, 'user_session_required'])
      expect(failure(await service.post(path, body, by(nextAddress())))).toEqual([401, 'unauthorized'])
    }
    const session = await anonymous()
    const statuses: number[] = []
    for (let begun = 0; begun < 6; begun += 1) statuses.push((await add(session, 'plagued@example.com')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  })
})

test('no table, job or log contains a readable code or mail', async () => {
  const { code } = await mailed('secret@example.com')
  // A waiting mail, and the job of another one. No worker runs any more to take them.
  worker.kill('SIGTERM')
  const log = await workerLog
  await begin('waiting@example.com')
  const tables = await sql<{ name: string }[]>`
    select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
    where schemaname in ('public', 'graphile_worker')`
  let dump = ''
  for (const { name } of tables) {
    const [row] = await sql.unsafe(`select coalesce(string_agg(t::text, e'\\n'), '') as text from ${name} t`)
    dump += row?.text
  }
  expect(dump).toContain('waiting@example.com')
  expect(dump).toContain('send_mail')
  expect(log).toContain('send_mail')
  // The same digits inside a longer number, or after the point of a time, are not the code.
  const alone = new RegExp(`(?<![0-9a-f.])${code}(?![0-9a-f])`)
  for (const text of [dump, log]) {
    expect(text).not.toMatch(alone)
    expect(text).not.toContain('Somebody asks')
    expect(text).not.toContain(Buffer.from('Somebody asks').toString('hex'))
  }
  expect(log).not.toContain('secret@example.com')
})
