// What somebody can do who owns the database, but has no key: with logins under way, and with the settings of a
// project.

import { beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { sendMail } from '../../src/identity/mail/send.ts'
import { addOrigins, addReturnAddresses } from '../../src/identity/projects/settings.ts'
import { hashOf } from '../../src/identity/users/session-challenge.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { commonService } from '../support/common-service.ts'
import { someOf } from '../support/long.ts'
import { createAuthenticator } from '../users/authenticator.ts'
import { DONE, peopleOf, statusAndCode } from '../users/people.ts'
import { FORGED, troublesOf } from './forged.ts'

const service = await commonService()
const people = peopleOf(service)
const { sql } = service.database

const REFUSED: [number, string] = [401, 'login_failed']
const NOBODY = { authorization: undefined }

/** Whether the audit tells of a row of this table that was forged. */
const isTold = async (id: string, table: string) => {
  await service.ctx.securityEvents.flush()
  const rows = await sql`select from audit
    where subject = ${id} and action = 'row_forged' and details->>'table' = ${table}`
  return rows.length > 0
}

describe('a session challenge that somebody', () => {
  /** A challenge that a thief has begun, and its row. */
  const begun = async () => {
    const { id, code } = (await service.post('/users/create-session-challenge', {}, NOBODY)).json
    return { id, code } as { readonly id: string; readonly code: string }
  }
  const isForged = async (id: string) => {
    expect([await isTold(id, 'session_challenges'), await troublesOf(service, id)]).toEqual([true, [FORGED]])
    await sql`delete from session_challenges where id = ${id}`
  }

  test('inserted as completed by another user logs nobody in and is named', async () => {
    const [victim, real] = [await people.anonymous(), await begun()]
    const [id, code] = [randomUUID(), 'ABCD-ABCD-ABCD-ABCD-ABCD-ABCD-ABCD']
    const [row] = await sql`select * from session_challenges where id = ${real.id}`
    const completed = { user_id: victim.user_id, completed_at: new Date(), authenticated_at: new Date() }
    await sql`insert into session_challenges ${sql({ ...row, id, code_hash: hashOf(code), ...completed } as never)}`
    expect(statusAndCode(await people.verifyChallenge(code))).toEqual(REFUSED)
    await isForged(id)
  })

  test('completed, gave another user, prolonged or made usable again logs nobody in and is named', async () => {
    const [victim, thief] = [await people.anonymous(), await people.anonymous()]
    const completedBy = async (user: typeof thief, code: string) =>
      statusAndCode(await people.as(user)('/users/complete-session-challenge', { code }))
    const edits = [
      { isCompleted: false, change: sql`user_id = ${victim.user_id}, completed_at = now(), authenticated_at = now()` },
      { isCompleted: true, change: sql`user_id = ${victim.user_id}` },
      { isCompleted: true, change: sql`expires_at = expires_at + interval '1 second'` },
      { isCompleted: true, change: sql`authenticated_at = authenticated_at + interval '1 second'` },
    ]
    for (const { isCompleted, change } of someOf(edits, 2)) {
      const { id, code } = await begun()
      if (isCompleted) expect(await completedBy(thief, code)).toEqual(DONE)
      await sql`update session_challenges set ${change} where id = ${id}`
      expect(statusAndCode(await people.verifyChallenge(code))).toEqual(REFUSED)
      await isForged(id)
    }
    const { id, code } = await begun()
    expect(await completedBy(thief, code)).toEqual(DONE)
    expect(statusAndCode(await people.verifyChallenge(code))).toEqual(DONE)
    await sql`update session_challenges set used_at = null where id = ${id}`
    expect(statusAndCode(await people.verifyChallenge(code))).toEqual(REFUSED)
    await isForged(id)
  })

  test('gave another device, or another mail to prove, cannot be completed', async () => {
    const user = await people.anonymous()
    const { id, code } = await begun()
    await sql`update session_challenges set asker_device = 'Your own phone' where id = ${id}`
    expect(statusAndCode(await people.as(user)('/users/complete-session-challenge', { code }))).toEqual([
      404,
      'not_found',
    ])
    await isForged(id)

    const mailed = (await service.post('/users/login-with-magic-link', { email: 'thief@example.com' }, NOBODY)).json
    const [mail] = await people.mailsTo('thief@example.com')
    const link = /https?:\/\/\S+/.exec(mail?.text ?? '')?.[0] ?? ''
    const open = async () => (await service.call(link.slice(link.indexOf('/login')), { headers: NOBODY })).status
    expect(await open()).toBe(200)
    await sql`update session_challenges set email = 'victim@example.com' where id = ${mailed.id}`
    expect(await open()).toBe(404)
    await isForged(mailed.id)
  })
})

describe('a user whom somebody', () => {
  const logInAs = async (email: string) => {
    const { user_id } = (await service.post('/users/login-with-email', { email }, NOBODY)).json
    const proof = { user_id, verification_code: await people.codeTo(email) }
    return service.post('/users/verify-login', proof, NOBODY)
  }

  test('gave another e-mail address or wallet is logged in by none of their proofs, and is named; restored, they are', async () => {
    const session = await people.logIn('victim@example.com')
    const { user_id: id } = session
    const changes = [
      { email: 'thief@example.com' },
      { sign_in_wallet: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
      { email: null, sign_in_wallet: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
    ]
    for (const change of someOf(changes, 3)) {
      await sql`update users set ${sql(change)} where id = ${id}`
      const email = change.email ?? 'victim@example.com'
      if (change.email !== null) expect([change, statusAndCode(await logInAs(email))]).toEqual([change, REFUSED])
      expect(statusAndCode(await people.refresh(session))).toEqual([401, 'session_ended'])
      expect([await isTold(id, 'users'), await troublesOf(service, id)]).toEqual([true, [FORGED]])
      await sql`update users set email = 'victim@example.com', sign_in_wallet = null where id = ${id}`
    }
    expect(statusAndCode(await people.refresh(session))).toEqual(DONE)
    expect((await logInAs('victim@example.com')).json.user_id).toBe(id)
    expect(await troublesOf(service, id)).toEqual([])
  })

  test('inserted, with the MAC of a real one, is logged in by no proof', async () => {
    const real = await people.anonymous()
    const id = randomUUID()
    await sql`insert into users (id, project_id, email, mac)
      select ${id}, project_id, 'inserted@example.com', mac from users where id = ${real.user_id}`
    expect(statusAndCode(await logInAs('inserted@example.com'))).toEqual(REFUSED)
    expect(await troublesOf(service, id)).toEqual([FORGED])
    await sql`delete from users where id = ${id}`
  })

  test('gave a wallet cannot add an e-mail address or a passkey, which would make the row one of ours', async () => {
    const session = await people.anonymous()
    const credential = await people.newCredential(session)
    const post = people.as(session)
    expect(statusAndCode(await post('/users/add-email', { email: 'mine@example.com' }))).toEqual(DONE)
    const body = { verification_code: await people.codeTo('mine@example.com') }
    const wallet = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
    await sql`update users set sign_in_wallet = ${wallet} where id = ${session.user_id}`
    for (const answer of [
      await post('/users/verify-email', body),
      await post('/users/passkey/finish-registration', credential),
    ]) {
      expect(statusAndCode(answer)).toEqual([401, 'session_ended'])
    }
    await sql`update users set sign_in_wallet = null where id = ${session.user_id}`
    expect(statusAndCode(await post('/users/verify-email', body))).toEqual(DONE)
  })
})

describe('a challenge for a passkey that somebody', () => {
  const PAGE = 'http://localhost:5173'
  const fromPage = { ...NOBODY, origin: PAGE }
  const begin = async () => (await service.post('/users/login-with-discoverable-passkey', {}, fromPage)).json.publicKey
  const prove = async (assertion: unknown) =>
    statusAndCode(
      await service.post('/users/verify-login', { passkey_credential_assertion_response: assertion }, fromPage),
    )

  test('put back, prolonged or gave to another user proves nothing', async () => {
    const [session, other] = [await people.anonymous(), await people.anonymous()]
    const authenticator = createAuthenticator({ origin: PAGE })
    const { publicKey } = (await people.as(session)('/users/passkey/begin-registration')).json
    const finished = await people.as(session)('/users/passkey/finish-registration', authenticator.create(publicKey))
    expect(statusAndCode(finished)).toEqual(DONE)

    const used = await begin()
    const [row] = await sql`select * from nonces where nonce = ${used.challenge}`
    expect(await prove(authenticator.get(used))).toEqual(DONE)
    const later = { created_at: new Date(), expires_at: new Date(Date.now() + 300_000) }
    await sql`insert into nonces ${sql({ ...row, ...later } as never)}`
    expect(await prove(authenticator.get(used))).toEqual(REFUSED)
    expect(await isTold(used.challenge, 'nonces')).toBe(true)

    for (const change of [
      { expires_at: new Date(row?.expires_at.getTime() + 600_000) },
      { user_id: other.user_id },
      { target: 'example.com' },
    ]) {
      const options = await begin()
      await sql`update nonces set ${sql(change as never)} where nonce = ${options.challenge}`
      expect(await prove(authenticator.get(options))).toEqual(REFUSED)
      expect([change, await isTold(options.challenge, 'nonces')]).toEqual([change, true])
    }
    expect(await prove(authenticator.get(await begin()))).toEqual(DONE)
  })
})

test('a mailed code that somebody prolonged is wrong; restored, it is right', async () => {
  const email = 'coded@example.com'
  const { user_id } = (await service.post('/users/login-with-email', { email }, NOBODY)).json
  const proof = { user_id, verification_code: await people.codeTo(email) }
  const prolong = (seconds: number) =>
    sql`update email_codes set expires_at = expires_at + make_interval(secs => ${seconds}) where user_id = ${user_id}`
  await prolong(1)
  expect(statusAndCode(await service.post('/users/verify-login', proof, NOBODY))).toEqual(REFUSED)
  await prolong(-1)
  expect(statusAndCode(await service.post('/users/verify-login', proof, NOBODY))).toEqual(DONE)
})

test('a mail whose recipient somebody edited is not sent, and is reported', async () => {
  const worker = await createWorkerCtx({
    config: readConfig({ ...service.variables, VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }),
    process: 'test',
  })
  const edits = [{ recipient: 'robber@example.com' }, { subject: 'Another' }]
  for (const [index, change] of edits.entries()) {
    const email = `mailed-${index}@example.com`
    await service.post('/users/login-with-email', { email }, NOBODY)
    const [mail] = await sql`update mails set ${sql(change as never)} where recipient = ${email} returning id`
    expect(await sendMail(worker, mail?.id)).toEqual({ state: 'done' })
    const [row] = await sql`select failure, sealed, sent_at from mails where id = ${mail?.id}`
    expect(row).toEqual({ failure: 'it is not as the service wrote it', sealed: null, sent_at: null })
    await worker.securityEvents.flush()
    expect(await isTold(mail?.id, 'mails')).toBe(true)
  }
  await worker.close({ timeoutSeconds: 2 })
  expect(await people.mailsTo('robber@example.com')).toEqual([])
})

// The settings of a project say from which pages its users log in. They come last, as they close this project's pages.
describe('the settings of a project', () => {
  const APP = 'https://app.example.com'
  const PKCE = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
  const EVIL = 'https://evil.example'
  const BACK = `${APP}/back`

  const projectId = service.project.projectId
  beforeAll(async () => {
    await addOrigins(service.ctx, { projectId, origins: [APP] })
    await addReturnAddresses(service.ctx, { projectId, addresses: [BACK] })
  })

  const edit = (change: object) => sql`update projects set ${sql(change as never)} where id = ${projectId}`
  const restore = () =>
    edit({ allowed_origins: [APP], return_addresses: [BACK], passkey_rp_id: null, anonymous_login: true })

  const EDITS = [
    ['origins', { allowed_origins: [APP, EVIL] }],
    ['return addresses', { return_addresses: [BACK, `${EVIL}/back`] }],
    ['list of return addresses', { return_addresses: [] }],
    ['border between the lists', { allowed_origins: [APP, BACK], return_addresses: [] }],
    ['passkey domain', { passkey_rp_id: 'evil.example' }],
    ['anonymous login', { anonymous_login: false }],
  ] as const

  test('a project of which somebody edited any setting logs nobody in', async () => {
    const headers = { ...NOBODY, origin: APP }
    const logIn = async () => statusAndCode(await service.post('/users/login-anonymously', {}, headers))
    for (const [what, change] of EDITS) {
      await edit(change)
      expect([what, await logIn()]).toEqual([what, [401, 'project_unknown']])
      await restore()
    }
    expect(await logIn()).toEqual(DONE)
  })

  test.each(someOf(EDITS, 6))(
    'a project whose %s somebody edited logs nobody in on any page, is reported and is named',
    async (_what, change) => {
      const session = await people.anonymous()
      await edit(change)
      const challenge = { email: 'alice@example.com' }
      for (const origin of [APP, EVIL]) {
        const headers = { ...NOBODY, origin }
        expect(statusAndCode(await service.post('/users/login-anonymously', {}, headers))).toEqual([
          401,
          'project_unknown',
        ])
        expect(statusAndCode(await service.post('/users/login-with-passkey', challenge, headers))).toEqual([
          401,
          'project_unknown',
        ])
        const { access_token: token } = session
        const answer = await service.call('/users/passkeys', { headers: { authorization: `Bearer ${token}`, origin } })
        expect(statusAndCode(answer)).toEqual([401, 'project_unknown'])
        const page = new URLSearchParams({ project_id: projectId, redirect_uri: `${origin}/back`, ...PKCE })
        expect((await service.call(`/login?${page}`, { headers: NOBODY })).status).toBe(400)
      }
      const begin = await service.post(
        '/users/passkey/begin-registration',
        {},
        { authorization: `Bearer ${session.access_token}` },
      )
      expect(statusAndCode(begin)).toEqual([401, 'project_unknown'])
      expect(await troublesOf(service, projectId)).toEqual([FORGED])
      await service.ctx.securityEvents.flush()
      const events = await sql`select distinct details->>'table' as table from audit
      where subject = ${projectId} and action = 'row_forged'`
      expect([...events]).toEqual([{ table: 'projects' }])

      // Servers go on, with their API keys; and no command of an operator makes the settings ours.
      expect((await service.get('/wallets', { network: 'Ethereum' })).status).toBe(200)
      const adding = addOrigins(service.ctx, { projectId, origins: ['https://more.example.com'] })
      await expect(adding).rejects.toMatchObject({ code: 'invalid_input' })

      await restore()
      expect(await troublesOf(service, projectId)).toEqual([])
      const headers = { ...NOBODY, origin: APP }
      expect((await service.post('/users/login-anonymously', {}, headers)).status).toBe(200)
    },
  )
})
