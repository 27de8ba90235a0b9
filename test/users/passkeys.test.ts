// Passkeys over HTTP, with a software authenticator.

import { describe, expect, test } from 'bun:test'
import { createHash, randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { addOrigins, setPasskeyDomain } from '../../src/identity/projects/settings.ts'
import { beginDiscoverableLogin, proveByPasskey } from '../../src/identity/users/passkey-login.ts'
import { removeAllPasskeys } from '../../src/identity/users/passkeys.ts'
import { createProject } from '../../src/operators/projects.ts'
import { commonService } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import type { Answer, Service } from '../support/service.ts'
import { type Authenticator, BE, BS, createAuthenticator, type Oddities, UP, UV } from './authenticator.ts'
import { sealUsers } from './own-rows.ts'
import { visitorOf } from './people.ts'

const PAGE = 'http://localhost:5173'

const service = await commonService()
const { sql } = service.database

type Client = { readonly call: Service['call']; readonly post: Service['post'] }
type Headers = Record<string, string | undefined>

const fromPage = (origin: string | undefined = PAGE): Headers => ({ authorization: undefined, origin })

/** A new anonymous user, and their calls from a page. */
const newUser = async (client: Client = service, origin = PAGE) => {
  const session = (await client.post('/users/login-anonymously', {}, { authorization: undefined })).json
  const headers = { authorization: `Bearer ${session.access_token}`, origin }
  const refresh = { session_id: session.id, refresh_token: session.refresh_token }
  return {
    id: session.user_id as string,
    post: (path: string, body: unknown = {}, more: Headers = {}) => client.post(path, body, { ...headers, ...more }),
    list: async () => (await client.call('/users/passkeys', { headers })).json,
    refresh: async () => (await client.post('/users/refresh-token', refresh, { authorization: undefined })).json,
  }
}
type User = Awaited<ReturnType<typeof newUser>>

const begin = async (user: User) => (await user.post('/users/passkey/begin-registration')).json.publicKey
const finish = (user: User, credential: unknown) => user.post('/users/passkey/finish-registration', credential)

const newPasskey = async (user: User, odd: Oddities = {}, origin = PAGE): Promise<Authenticator> => {
  const authenticator = createAuthenticator({ origin })
  const answer = await finish(user, authenticator.create(await begin(user), odd))
  expect([answer.status, answer.json]).toEqual([200, { success: true, id: expect.any(String) }])
  return authenticator
}

const setEmail = async (user: User, email = `${user.id}@example.com`): Promise<string> => {
  await sql`update users set email = ${email} where id = ${user.id}`
  await sealUsers(service, sql)
  return email
}

const beginLogin = async (client: Client = service, origin: string | undefined = PAGE) =>
  (await client.post('/users/login-with-discoverable-passkey', {}, fromPage(origin))).json.publicKey
const beginLoginOf = async (email: string) =>
  (await service.post('/users/login-with-passkey', { email }, fromPage())).json.publicKey
const verify = (assertion: unknown, client: Client = service): Promise<Answer> =>
  client.post('/users/verify-login', { passkey_credential_assertion_response: assertion }, fromPage())

const refusedLogin = (answer: Answer) => expect([answer.status, answer.json.code]).toEqual([401, 'login_failed'])
const audited = async (user: User) =>
  (await sql`select action from audit where actor = ${`user:${user.id}`} order by id`).map(({ action }) => action)

describe('adding a passkey', () => {
  test('begins with options for the browser that name this user', async () => {
    const user = await newUser()
    await newPasskey(user)
    const options = await begin(user)
    const [passkey] = await sql`select credential_id from passkeys where user_id = ${user.id}`
    expect(options).toEqual({
      rp: { id: 'localhost', name: 'Test' },
      user: {
        id: Buffer.from(user.id.replaceAll('-', ''), 'hex').toString('base64url'),
        name: `user ${user.id.slice(0, 8)}`,
        displayName: `user ${user.id.slice(0, 8)}`,
      },
      challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: 300_000,
      excludeCredentials: [
        {
          type: 'public-key',
          id: passkey?.credential_id.toString('base64url'),
          transports: ['internal', 'hybrid'],
        },
      ],
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
    })
    const email = await setEmail(user)
    expect((await begin(user)).user).toMatchObject({ name: email, displayName: email })
  })

  test('ends with a credential that is listed, audited, and in the claims of later access tokens', async () => {
    const user = await newUser()
    const { response, ...rest } = createAuthenticator({ origin: PAGE }).create(await begin(user), { signCount: 3 })
    // Words of a later edition are stored as well (WebAuthn Level 3 §5.2.1).
    const transports = ['internal', 'Hybrid', 'wifi_6', '']
    const { id, ...added } = (await finish(user, { ...rest, response: { ...response, transports } })).json
    expect(added).toEqual({ success: true })
    expect(await user.list()).toEqual([
      {
        id,
        created_at: expect.any(String),
        last_used_at: null,
        rp_id: 'localhost',
        backed_up: true,
        transports,
      },
    ])
    expect(await audited(user)).toEqual(['passkey_added'])
    const claims = decodeJwt((await user.refresh()).access_token)
    expect(claims.has_passkey_credentials).toBe(true)
  })

  test('refuses a credential that is registered already, also for another user', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const authenticator = await newPasskey(user)
    for (const who of [user, other]) {
      const again = await finish(who, authenticator.create(await begin(who)))
      expect([again.status, again.json.code]).toEqual([409, 'passkey_exists'])
    }
    expect(await other.list()).toEqual([])
  })

  test('is refused if anything is wrong, and the error says what', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const expired = await begin(user)
    await sql`update nonces set expires_at = now() where nonce = ${expired.challenge}`
    const used = await begin(user)
    expect((await finish(user, createAuthenticator({ origin: PAGE }).create(used))).status).toBe(200)
    const [others, login] = [await begin(other), await beginLogin()]
    const x5c = { fmt: 'packed', attStmt: new Map<string, unknown>([['x5c', [new Uint8Array(9)]]]) }
    const cases: readonly (readonly [Oddities, RegExp, string?])[] = [
      [{ challenge: expired.challenge }, /begin the registration again/],
      [{ challenge: used.challenge }, /begin the registration again/],
      [{ challenge: others.challenge }, /begin the registration again/],
      [{ challenge: login.challenge }, /begin the registration again/],
      [{ challenge: 'A'.repeat(43) }, /begin the registration again/],
      [{}, /origin/, 'https://evil.example'],
      [{}, /origin/, 'http://localhost.evil.example'],
      [{}, /origin/, 'https://localhost:5173'],
      [{ rpId: 'example.com' }, /the browser's unchanged answer/],
      [{ type: 'webauthn.get' }, /the browser's unchanged answer/],
      [{ flags: UV }, /the browser's unchanged answer/],
      [{ flags: UP | UV | BS }, /the browser's unchanged answer/],
      [{ flags: UP }, /verify the user/],
      [{ clientData: { crossOrigin: true } }, /frame/],
      [{ clientData: { topOrigin: 'https://example.com' } }, /frame/],
      [{ attestation: x5c }, /attestation/],
      [{ attestation: { fmt: 'fido-u2f', attStmt: new Map() } }, /attestation/],
      [{ attestation: { fmt: 'none', attStmt: new Map([['x', 1]]) } }, /the browser's unchanged answer/],
      [{ algorithm: -8 }, /ES256, EdDSA/],
      [{ algorithm: -35 }, /the browser's unchanged answer/],
    ]
    for (const [odd, sentence, origin = PAGE] of someOf(cases, 3)) {
      const answer = await finish(user, createAuthenticator({ origin }).create(await begin(user), odd))
      expect([odd, answer.status, answer.json.code]).toEqual([odd, 400, 'invalid_input'])
      expect(answer.json.error).toMatch(sentence)
    }
    const weak = createAuthenticator({ origin: PAGE, key: 'RS256 of 1,024 bits' }).create(await begin(user))
    expect((await finish(user, weak)).json.error).toContain('2,048 to 4,096 bits')
    const another = createAuthenticator({ origin: PAGE }).create(await begin(user))
    const renamed = await finish(user, { ...another, id: 'AAAA', rawId: 'AAAA' })
    expect([renamed.status, renamed.json.code]).toEqual([400, 'invalid_input'])
    expect([(await user.list()).length, (await other.list()).length]).toEqual([1, 0])
  })

  longTest('on Android takes the origin of an app that the project allows, and no other', async () => {
    const project = await createProject(service.ctx, { name: 'App', actor: 'operator' })
    const of = service.as({ projectId: project.projectId, apiKey: project.apiKey })
    // As https://developer.android.com/identity/sign-in/credential-manager writes it: base64url of the SHA-256 of the
    // certificate.
    const app = `android:apk-key-hash:${createHash('sha256').update('certificate').digest('base64url')}`
    const stranger = `android:apk-key-hash:${createHash('sha256').update('another').digest('base64url')}`
    const add = (...origins: string[]) => addOrigins(service.ctx, { projectId: project.projectId, origins })
    for (const odd of [`${app}=`, app.slice(0, -1), 'android:apk-key-hash:', `ios:${app}`, `${app.slice(0, -1)}B`]) {
      await expect(add(odd)).rejects.toMatchObject({ code: 'invalid_input' })
    }
    await add('https://app.example.com', app)
    const none = { authorization: undefined }
    const session = (await of.post('/users/login-anonymously', {}, none)).json
    // A native app sends no Origin. The domain of its passkeys is that of the project's only page.
    const own = { authorization: `Bearer ${session.access_token}` }
    const { publicKey } = (await of.post('/users/passkey/begin-registration', {}, own)).json
    expect(publicKey.rp.id).toBe('app.example.com')
    const finishBy = async (origin: string) => {
      const made = createAuthenticator({ origin }).create(publicKey)
      return (await of.post('/users/passkey/finish-registration', made, own)).status
    }
    expect([await finishBy(stranger), await finishBy('android:apk-key-hash:')]).toEqual([400, 400])
    const authenticator = createAuthenticator({ origin: app })
    const made = authenticator.create(publicKey)
    expect((await of.post('/users/passkey/finish-registration', made, own)).status).toBe(200)
    const asked = (await of.post('/users/login-with-discoverable-passkey', {}, none)).json.publicKey
    const proof = { passkey_credential_assertion_response: authenticator.get(asked) }
    expect((await of.post('/users/verify-login', proof, none)).json.user_id).toBe(session.user_id)
  })

  longTest('adds one passkey if several requests use the same challenge at once', async () => {
    const user = await newUser()
    const options = await begin(user)
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => finish(user, createAuthenticator({ origin: PAGE }).create(options))),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400])
    expect((await user.list()).length).toBe(1)
  })

  longTest('is refused from the twenty-first on, also at the same time', async () => {
    const user = await newUser()
    await newPasskey(user)
    const copy = (count: number) => sql`insert into passkeys
      (project_id, user_id, credential_id, public_key, rp_id, sign_count, transports, aaguid, backup_eligible, backed_up, mac)
      select project_id, user_id, sha256(credential_id || n::text::bytea), public_key, rp_id, 0, '{}', aaguid, true, true, ''
      from passkeys, generate_series(1, ${count}) n where user_id = ${user.id}`
    await copy(18)
    const made = []
    for (let n = 0; n < 3; n += 1) made.push(createAuthenticator({ origin: PAGE }).create(await begin(user)))
    const answers = await Promise.all(made.map((credential) => finish(user, credential)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    const answer = await user.post('/users/passkey/begin-registration')
    expect([answer.status, answer.json.error]).toEqual([400, 'A user has at most 20 passkeys: remove one first.'])
  })

  test("requires a user's access token", async () => {
    const credential = createAuthenticator({ origin: PAGE }).create(await begin(await newUser()))
    const answers = [
      await service.post('/users/passkey/begin-registration', {}),
      await service.post('/users/passkey/finish-registration', credential),
      await service.post('/users/passkey/remove', { id: service.project.projectId }),
      await service.call('/users/passkeys'),
    ]
    for (const { status, json } of answers) expect([status, json.code]).toEqual([403, 'user_session_required'])
  })

  test('needs no body, and ignores the content type of an empty one', async () => {
    const headers = { ...fromPage(), 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await service.call('/users/login-with-discoverable-passkey', { method: 'POST', headers })
    expect(answer.status).toBe(200)
  })
})

describe('removing a passkey', () => {
  longTest('by an operator removes all passkeys of one user, including the last one', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const [one, two, others] = [await newPasskey(user), await newPasskey(user), await newPasskey(other)]
    const of = { projectId: service.project.projectId, userId: user.id, actor: 'operator' }
    expect(await removeAllPasskeys(service.ctx, of)).toBe(2)
    for (const gone of [one, two]) refusedLogin(await verify(gone.get(await beginLogin())))
    expect((await verify(others.get(await beginLogin()))).status).toBe(200)
    const rows =
      await sql`select actor from audit where action = 'passkey_removed' and details ->> 'user_id' = ${user.id}`
    expect(rows.map(({ actor }) => actor)).toEqual(['operator', 'operator'])
    const unknown = removeAllPasskeys(service.ctx, { ...of, userId: crypto.randomUUID() })
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' })
  })

  test('stops logins with it and is audited; another user’s passkey is not found', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const [first] = [await newPasskey(user), await newPasskey(user)]
    const [{ id }] = await user.list()
    const answers = [
      await other.post('/users/passkey/remove', { id }),
      await user.post('/users/passkey/remove', { id }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 200])
    refusedLogin(await verify(first.get(await beginLogin())))
    expect((await user.list()).length).toBe(1)
    expect(await audited(user)).toEqual(['passkey_added', 'passkey_added', 'passkey_removed'])
  })

  test('is refused for the only login method, also if two are removed at once', async () => {
    const user = await newUser()
    await newPasskey(user)
    await newPasskey(user)
    const remove = ({ id }: { id: string }) => user.post('/users/passkey/remove', { id })
    const answers: Answer[] = await Promise.all((await user.list()).map(remove))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    expect(answers.find(({ status }) => status === 400)?.json.error).toContain(
      'add an e-mail address or another passkey',
    )
    await setEmail(user)
    expect((await remove((await user.list())[0])).status).toBe(200)
  })
})

describe('logging in with a passkey', () => {
  test('that the user chooses begins one session', async () => {
    const user = await newUser()
    const authenticator = await newPasskey(user, { flags: UP | UV | BE })
    const options = await beginLogin()
    expect(options).toEqual({
      challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      timeout: 300_000,
      rpId: 'localhost',
      allowCredentials: [],
      userVerification: 'required',
    })
    const assertion = authenticator.get(options)
    const session = await verify(assertion)
    expect([session.status, session.json.user_id]).toEqual([200, user.id])
    expect(decodeJwt(session.json.access_token).has_passkey_credentials).toBe(true)
    const [row] = await sql`select way from sessions where id = ${session.json.id}`
    expect(row?.way).toBe('passkey')
    expect(await user.list()).toMatchObject([{ last_used_at: expect.any(String), backed_up: true }])
    refusedLogin(await verify(assertion))
  })

  longTest('begins one session if several requests use the same assertion at once', async () => {
    const authenticator = await newPasskey(await newUser())
    const assertion = authenticator.get(await beginLogin())
    const answers = await Promise.all(Array.from({ length: 4 }, () => verify(assertion)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
  })

  test('begins one session for one challenge and for one signature count, even if several logins were checked at once', async () => {
    const user = await newUser()
    const authenticator = await newPasskey(user, { signCount: 1 })
    const visitor = await visitorOf(service, { origin: PAGE })
    const [options, others] = [await beginLogin(), await beginLogin()]
    const proven = []
    for (const [challenge, signCount] of [
      [options, 2],
      [options, 3],
      [others, 2],
      [others, 3],
    ] as const) {
      const { response, ...rest } = authenticator.get(challenge, { signCount, userHandle: '' })
      const assertion = { ...rest, type: 'public-key' as const, response: { ...response, userHandle: '' } }
      proven.push(await proveByPasskey(service.ctx, visitor, { assertion }))
    }
    const settled = []
    for (const each of proven) settled.push(await service.ctx.db.transaction(async (tx) => each?.consume(tx)))
    // The third one's count is used. Its challenge is used up too, because nothing rolls back here.
    expect(settled).toEqual([{ userId: user.id }, null, null, null])
  })

  test('of the user with a given e-mail address or wallet accepts only a passkey of that user', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const [mine, second, others] = [await newPasskey(user), await newPasskey(user), await newPasskey(other)]
    const email = await setEmail(user)
    const wallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    await sql`update users set sign_in_wallet = ${wallet} where id = ${user.id}`
    await sealUsers(service, sql)
    const options = await beginLoginOf(email.toUpperCase())
    refusedLogin(await verify(others.get(options)))
    expect((await verify(mine.get(options))).json.user_id).toBe(user.id)
    const byWallet = await service.post(
      '/users/login-with-passkey',
      { sign_in_wallet: wallet.toLowerCase() },
      fromPage(),
    )
    expect((await verify(second.get(byWallet.json.publicKey))).json.user_id).toBe(user.id)
  })

  test('is refused if anything is wrong, and the challenge then still works for a right assertion', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const authenticator = await newPasskey(user, { signCount: 5 })
    const options = await beginLogin()
    const expired = await beginLogin()
    await sql`update nonces set expires_at = now() where nonce = ${expired.challenge}`
    const registration = await begin(user)
    const handle = (await begin(other)).user.id
    const odds: readonly Oddities[] = [
      { flags: UP | BE },
      { flags: UP | UV },
      { flags: UV | BE },
      { flags: UP | UV | BS },
      { rpId: 'example.com' },
      { challenge: 'A'.repeat(43) },
      { type: 'webauthn.create' },
      { challenge: '\u0000'.repeat(43) },
      { userHandle: handle },
      { challenge: registration.challenge },
      { challenge: expired.challenge },
      { clientData: { crossOrigin: true } },
      { clientData: { origin: 'https://evil.example' } },
      { clientData: { topOrigin: 'https://example.com', crossOrigin: true } },
      { signCount: 5 },
      { signCount: 4 },
      { signCount: 0 },
    ]
    for (const odd of someOf(odds, 2)) {
      const answer = await verify(authenticator.get(options, { signCount: 6, ...odd }))
      expect([odd, answer.status, answer.json.code]).toEqual([odd, 401, 'login_failed'])
    }
    const good = authenticator.get(options, { signCount: 6 })
    const forger = createAuthenticator({ origin: PAGE, credentialId: Buffer.from(good.id, 'base64url') })
    refusedLogin(await verify(forger.get(options, { userHandle: null })))
    refusedLogin(await verify({ ...good, rawId: 'AAAA' }))
    expect((await verify(good)).status).toBe(200)
    const [row] = await sql`select sign_count::int from passkeys where user_id = ${user.id}`
    expect(row?.sign_count).toBe(6)
  })

  test.each(someOf([['EdDSA'], ['RS256'], ['ES256']] as const, 3))('works with %s', async (key) => {
    const user = await newUser()
    const authenticator = createAuthenticator({ origin: PAGE, key })
    expect((await finish(user, authenticator.create(await begin(user)))).status).toBe(200)
    expect((await verify(authenticator.get(await beginLogin()))).json.user_id).toBe(user.id)
  })

  longTest('accepts an assertion without a user handle, and a counter that stays at zero', async () => {
    const user = await newUser()
    const authenticator = await newPasskey(user)
    for (const userHandle of [null, '', undefined]) {
      const odd = userHandle === undefined ? {} : { userHandle }
      expect((await verify(authenticator.get(await beginLogin(), odd))).json.user_id).toBe(user.id)
    }
  })

  test('is refused for another user than user_id, and its challenge is not used up', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const assertion = (await newPasskey(user)).get(await beginLogin())
    const body = { passkey_credential_assertion_response: assertion }
    refusedLogin(await service.post('/users/verify-login', { ...body, user_id: other.id }, fromPage()))
    expect((await service.post('/users/verify-login', { ...body, user_id: user.id }, fromPage())).status).toBe(200)
  })

  test('refuses a passkey and a challenge of another project', async () => {
    const project = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const client = service.as(project)
    const authenticator = await newPasskey(await newUser(client))
    refusedLogin(await verify(authenticator.get(await beginLogin())))
    refusedLogin(await verify(authenticator.get(await beginLogin(client))))
    expect((await verify(authenticator.get(await beginLogin(client)), client)).status).toBe(200)
  })

  test('begins the same for users with passkeys, users without, and unknown users', async () => {
    const [user, bare] = [await newUser(), await newUser()]
    await newPasskey(user)
    const emails = [await setEmail(user), await setEmail(bare), 'nobody@example.com']
    for (const email of emails) {
      const [options, again] = [await beginLoginOf(email), await beginLoginOf(email)]
      expect(options.challenge).not.toBe(again.challenge)
      expect({ ...options, challenge: '' }).toEqual({ ...(await beginLogin()), challenge: '' })
      const [nonce] = await sql`select user_id from nonces where nonce = ${options.challenge}`
      expect(nonce?.user_id).toBeString()
    }
  })

  test('refuses a passkey for the challenge of an unknown user', async () => {
    const authenticator = await newPasskey(await newUser())
    refusedLogin(await verify(authenticator.get(await beginLoginOf('nobody-at-all@example.com'))))
  })

  test.each([[{}], [{ email: 'a@example.com', sign_in_wallet: `0x${'1'.repeat(40)}` }], [{ email: 'x' }]])(
    'of %p is refused',
    async (body) => {
      const answer = await service.post('/users/login-with-passkey', body, fromPage())
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    },
  )

  test('can begin thirty times in fifteen minutes from one address', async () => {
    const visitor = await visitorOf(service, { address: '192.0.2.1', origin: PAGE })
    const ctx = { ...service.ctx, config: { ...service.ctx.config, devnet: false, publicBaseUrl: PAGE } }
    const begun = []
    for (let n = 0; n < 31; n += 1) begun.push(await beginDiscoverableLogin(ctx, visitor).catch((error) => error.code))
    expect(begun.filter((each) => each === 'rate_limited').length).toBe(1)
    expect(begun.at(-1)).toBe('rate_limited')
  })
})

describe('the domain of passkeys', () => {
  const newProject = async (origins: readonly string[], rpId: string | null = null) => {
    const project = await createProject(service.ctx, { name: 'Domains', actor: 'operator' })
    await addOrigins(service.ctx, { projectId: project.projectId, origins })
    if (rpId !== null) await setPasskeyDomain(service.ctx, { projectId: project.projectId, rpId })
    return { ...project, ...service.as(project) }
  }
  const rpIdAt = async (client: Client, origin: string | null) => {
    const answer = await client.post(
      '/users/login-with-discoverable-passkey',
      {},
      {
        authorization: undefined,
        ...(origin === null ? {} : { origin }),
      },
    )
    return answer.json.publicKey?.rpId ?? `${answer.status} ${answer.json.code}`
  }

  test("is by default the page's host, or without an origin the only allowed one", async () => {
    const project = await newProject(['https://app.example.com'])
    expect(await rpIdAt(project, 'https://app.example.com')).toBe('app.example.com')
    expect(await rpIdAt(project, null)).toBe('app.example.com')
    const { projectId } = project
    await addOrigins(service.ctx, { projectId, origins: ['https://b.example.com', 'http://127.0.0.1:8080'] })
    expect(await rpIdAt(project, 'https://b.example.com')).toBe('b.example.com')
    expect(await rpIdAt(project, null)).toBe('400 passkey_domain_required')
    expect(await rpIdAt(project, 'http://127.0.0.1:8080')).toBe('400 passkey_domain_required')
    expect(await rpIdAt(project, 'https://c.example.com')).toBe('403 origin_not_allowed')
  })

  test("is the project's setting on all pages within it, and refused on other pages", async () => {
    const origins = ['https://a.example.com', 'https://b.example.com', 'https://example.org', 'https://notexample.com']
    const project = await newProject(origins, 'example.com')
    expect(await rpIdAt(project, 'https://a.example.com')).toBe('example.com')
    expect(await rpIdAt(project, null)).toBe('example.com')
    expect(await rpIdAt(project, 'https://example.org')).toBe('400 passkey_domain_required')
    expect(await rpIdAt(project, 'https://notexample.com')).toBe('400 passkey_domain_required')
    const user = await newUser(project, 'https://a.example.com')
    const authenticator = await newPasskey(user, {}, 'https://a.example.com')
    const options = await beginLogin(project, 'https://b.example.com')
    const at = (origin: string) => authenticator.get(options, { clientData: { origin } })
    refusedLogin(await verify(at('https://c.example.com'), project))
    refusedLogin(await verify(at('https://notexample.com'), project))
    expect((await verify(at('https://b.example.com'), project)).json.user_id).toBe(user.id)
  })

  longTest('of a passkey never changes: the passkey is useless after the project changes its domain', async () => {
    const project = await newProject(['https://app.example.com'])
    const user = await newUser(project, 'https://app.example.com')
    const authenticator = await newPasskey(user, {}, 'https://app.example.com')
    await setPasskeyDomain(service.ctx, { projectId: project.projectId, rpId: 'example.com' })
    refusedLogin(await verify(authenticator.get(await beginLogin(project, 'https://app.example.com')), project))
    await setPasskeyDomain(service.ctx, { projectId: project.projectId, rpId: null })
    const options = await beginLogin(project, 'https://app.example.com')
    expect((await verify(authenticator.get(options), project)).status).toBe(200)
  })

  longTest('that the project no longer has counts for nothing: the last passkey of the present one stays', async () => {
    const origin = 'https://app.example.com'
    const project = await newProject([origin])
    const user = await newUser(project, origin)
    await newPasskey(user, {}, origin)
    await setPasskeyDomain(service.ctx, { projectId: project.projectId, rpId: 'example.com' })
    await newPasskey(user, {}, origin)
    const remove = async (domain: string) => {
      const { id } = (await user.list()).find(({ rp_id }: { rp_id: string }) => rp_id === domain)
      return (await user.post('/users/passkey/remove', { id })).status
    }
    expect([await remove('example.com'), await remove('app.example.com')]).toEqual([400, 200])
  })

  test('cannot be set for an unknown project', async () => {
    const set = setPasskeyDomain(service.ctx, { projectId: randomUUID(), rpId: null })
    expect(await set.catch((error) => error.code)).toBe('not_found')
  })

  test.each([
    ['app.example.com', true],
    ['example.com', true],
    ['localhost', true],
    ['com', false],
    ['other.com', false],
    ['ample.com', false],
    ['x.app.example.com', false],
    ['App.example.com', false],
    ['app.example.com:443', false],
    ['https://app.example.com', false],
    ['127.0.0.1', false],
    ['.example.com', false],
    ['example.com.', false],
    ['', false],
  ])('%p: %p', async (rpId, isTaken) => {
    const { projectId } = service.project
    await addOrigins(service.ctx, { projectId, origins: ['https://app.example.com:8443', 'http://127.0.0.1'] })
    const set = setPasskeyDomain(service.ctx, { projectId, rpId }).then(
      () => true,
      (error) => error.code !== 'invalid_input',
    )
    expect(await set).toBe(isTaken)
    await setPasskeyDomain(service.ctx, { projectId, rpId: null })
  })
})

describe('a body that is no WebAuthn JSON', () => {
  const PROOF = 'passkey_credential_assertion_response'

  test('is refused as invalid input', async () => {
    const good = createAuthenticator({ origin: PAGE }).get({ rpId: 'localhost', challenge: 'A'.repeat(43) })
    const response = (field: string, value: unknown) => ({ ...good, response: { ...good.response, [field]: value } })
    for (const odd of [
      {},
      { ...good, id: 7 },
      { ...good, id: 'a+b' },
      { ...good, id: 'A'.repeat(2_000) },
      { ...good, rawId: [] },
      { ...good, type: 'password' },
      { ...good, response: 'x' },
      { ...good, response: {} },
      response('clientDataJSON', {}),
      response('clientDataJSON', 'A'.repeat(4_097)),
      response('authenticatorData', 1),
      response('signature', true),
      response('signature', ''),
      response('userHandle', 9),
    ]) {
      const answer = await verify(odd)
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
      expect(answer.json.error).toContain(PROOF)
    }
    const user = await newUser()
    const credential = createAuthenticator({ origin: PAGE }).create(await begin(user))
    for (const change of [
      { attestationObject: 'A'.repeat(12_289) },
      { attestationObject: 'oA' },
      { attestationObject: 'm_____8' },
      { transports: 'usb' },
      { transports: ['usb\n'] },
      { transports: ['u'.repeat(65)] },
      { transports: Array(17).fill('usb') },
      { clientDataJSON: 'bnVsbA' },
      { clientDataJSON: '_w' },
    ]) {
      const answer = await finish(user, { ...credential, response: { ...credential.response, ...change } })
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    }
  })
})
