// Users of a project's own identity provider, over HTTP: who they are, what they may do, and what somebody with the
// database can do.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { createClient } from '../../client/src/client.ts'
import { issuerMac } from '../../src/identity/auth/row-macs.ts'
import { revokeSessions } from '../../src/identity/users/end-sessions.ts'
import { createProject } from '../../src/operators/projects.ts'
import { ENDED, FORGED, troublesOf } from '../auth/forged.ts'
import { runCli } from '../support/cli.ts'
import { AUDIENCE, startIssuer, type TestIssuer } from '../support/issuer.ts'
import { untilWaiting } from '../support/locks.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { createAuthenticator } from '../users/authenticator.ts'
import { DONE, statusAndCode } from '../users/people.ts'

const PIN = '493817'
const PAGE = 'http://localhost:5173'

let service: Service
let sql: Sql
let issuer: TestIssuer
let projectId: string
/** Another project, which has no issuer at first. */
let other: Service['project']

beforeAll(async () => {
  service = await startService({
    rpcUrls: { Ethereum: 'http://127.0.0.1:1' },
    variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' },
  })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  issuer = await startIssuer({ path: '/auth/v1' })
  projectId = service.project.projectId
  other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
  expect(await cli('add', projectId, 'supabase', issuer.issuer, '--audience', AUDIENCE)).toMatchObject({ exitCode: 0 })
})
afterAll(async () => {
  await issuer.close()
  await sql.end()
  await service.close()
})

const cli = (...args: readonly string[]) =>
  runCli(['project', 'issuers', ...args], { ...service.variables, VAULT_SOCKET: '' }, '')

const seconds = () => Math.floor(Date.now() / 1_000)
const headersOf = (token: string, source = 'supabase') => ({
  authorization: `Bearer ${token}`,
  'x-walletkit-token-source': source,
})

const look = (token: string, source?: string) =>
  service.call('/wallets?network=Ethereum', { headers: headersOf(token, source) })
const post = (path: string, token: string, body: unknown = {}, headers = {}) =>
  service.post(path, body, { ...headersOf(token), ...headers })

/** Rows that are as the service wrote them. The last test verifies them all at once. */
const unforged: string[] = []

const userOf = async (subject: string) => {
  const [user] = await sql`select * from users where subject = ${subject} and project_id = ${projectId}`
  return user
}

describe('a user of the issuer', () => {
  test('is made when first seen, once, with a row of the audit', async () => {
    const token = await issuer.token({ sub: 'first' })
    const answers = await Promise.all(Array.from({ length: 10 }, () => look(token)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const rows = await sql`select id, issuer, email from users where subject = 'sub:first'`
    expect([...rows]).toEqual([{ id: expect.any(String), issuer: issuer.issuer, email: null }])
    const made =
      await sql`select actor, project_id, details from audit where action = 'user_created' and subject = ${rows[0]?.id}`
    expect([...made]).toEqual([
      { actor: `user:${rows[0]?.id}`, project_id: projectId, details: { issuer: 'supabase' } },
    ])
    unforged.push(String(rows[0]?.id))
    const events = await sql`select data from events where type = 'user.created' and data->>'user_id' = ${rows[0]?.id}`
    expect([...events]).toEqual([{ data: { user_id: rows[0]?.id } }])
  })

  longTest('is shown to operators with their name at the issuer', async () => {
    const { projectId: elsewhere } = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    await cli('add', elsewhere, 'elsewhere', issuer.issuer, '--audience', AUDIENCE)
    await look(await issuer.token({ sub: 'shown' }))
    const { id } = (await userOf('sub:shown')) ?? {}
    const users = (...args: readonly string[]) =>
      runCli(['users', ...args, '--project', projectId], service.variables, '')
    expect(JSON.parse((await users('show', id, '--json')).output)).toMatchObject({
      issuer: issuer.issuer,
      subject: 'sub:shown',
    })
    const named = `sub:shown at supabase (${issuer.issuer})`
    expect((await users('show', id)).output).toContain(`issuer:   ${named}\n`)
    expect((await users('list')).output).toContain(named)
  })

  test('has wallets of their own, and reaches no others', async () => {
    const [alice, bob] = [await issuer.token({ sub: 'alice' }), await issuer.token({ sub: 'bob' })]
    const wallet = { network: 'Ethereum', name: 'Mine', control_mode: 'user', user_pin: PIN }
    const made = await post('/wallets', alice, wallet)
    expect(made.status).toBe(200)
    expect(made.json.owner_id).toBe((await userOf('sub:alice'))?.id)
    const addresses = async (token: string) =>
      (await look(token)).json.map(({ address }: { address: string }) => address)
    expect([await addresses(alice), await addresses(bob)]).toEqual([[made.json.address], []])
    const message = { network: 'Ethereum', signer_wallet_address: made.json.address, message: 'hi', user_pin: PIN }
    expect((await post('/transactions/sign-message', alice, message)).status).toBe(200)
    expect((await post('/transactions/sign-message', bob, message)).status).toBe(404)
  })

  test('lists no session as the calling one, and has none to log out of', async () => {
    const token = await issuer.token({ sub: 'carol' })
    expect((await service.call('/users/sessions', { headers: headersOf(token) })).json).toEqual([])
    expect(statusAndCode(await post('/users/sessions/end', token))).toEqual(DONE)
    expect(statusAndCode(await post('/users/logout', token))).toEqual([401, 'unauthorized'])
    expect((await look(token)).status).toBe(200)
  })

  test('adds a passkey only within ten minutes of a login at the issuer, which "auth_time" must state', async () => {
    const add = async (claims: object) => {
      const token = await issuer.token({ sub: 'dave', ...claims })
      return post('/users/passkey/begin-registration', token, {}, { origin: PAGE })
    }
    const refused = [403, 'fresh_login_required']
    for (const claims of [{}, { auth_time: seconds() - 700 }, { auth_time: seconds() + 3_600 }, { auth_time: 'now' }]) {
      expect(statusAndCode(await add(claims))).toEqual(refused as [number, string])
    }
    expect(statusAndCode(await add({ auth_time: seconds() - 60 }))).toEqual(DONE)
  })

  test('lets another device in within ten minutes of a login, whose session is as old as that login', async () => {
    const none = { authorization: undefined }
    const { code } = (await service.post('/users/create-session-challenge', {}, none)).json
    const complete = async (claims: object) =>
      post('/users/complete-session-challenge', await issuer.token({ sub: 'erin', ...claims }), { code })
    expect(statusAndCode(await complete({}))).toEqual([403, 'fresh_login_required'])
    expect(statusAndCode(await complete({ auth_time: seconds() - 590 }))).toEqual(DONE)
    const session = (await service.post('/users/verify-login', { session_challenge_code: code }, none)).json
    const [row] = await sql`select user_id, now() - authenticated_at > interval '9 minutes' as old from sessions
      where id = ${session.id}`
    expect(row).toEqual({ user_id: (await userOf('sub:erin'))?.id, old: true })
  })
})

describe('the tokens of one user end', () => {
  const cliSessions = (userId: string) =>
    runCli(
      ['sessions', 'revoke', '--project', projectId, '--user', userId],
      { ...service.variables, VAULT_SOCKET: '' },
      '',
    )
  const aged = (sub: string, ageSeconds: number) => issuer.token({ sub, iat: seconds() - ageSeconds })
  const statusOf = async (token: Promise<string>) => (await look(await token)).status

  test('by an operator: those from before are refused, also at the next API, and new ones count', async () => {
    const [old, others] = [aged('ended', 5), aged('goes-on', 5)]
    expect([await statusOf(old), await statusOf(others)]).toEqual([200, 200])
    const { id } = (await userOf('sub:ended')) as { id: string }
    expect((await cliSessions(id)).exitCode).toBe(0)
    expect(statusAndCode(await look(await old))).toEqual([401, 'unauthorized'])
    expect([await statusOf(others), await statusOf(aged('ended', -2))]).toEqual([200, 200])
    const [row] = await sql`select details from audit where action = 'issuer_tokens_ended' and subject = ${id}`
    const [user] = await sql`select tokens_from from users where id = ${id}`
    expect(row?.details).toEqual({ from: user?.tokens_from.toISOString() })
    unforged.push(id)
  })

  test('by the user with one of them: it alone goes on, also if another one is newer', async () => {
    const [older, asking, newer] = [aged('self', 60), aged('self', 30), aged('self', 10)]
    const alive = () => Promise.all([older, asking, newer].map(statusOf))
    expect(await alive()).toEqual([200, 200, 200])
    expect((await post('/users/sessions/end', await asking)).status).toBe(200)
    expect(await alive()).toEqual([401, 200, 401])
    expect((await post('/users/sessions/end', await asking)).status).toBe(200)
    expect(await alive()).toEqual([401, 200, 401])
    // The issuer may have made it in the second in which the others were ended.
    const later = aged('self', -2)
    expect((await post('/users/sessions/end', await later)).status).toBe(200)
    expect([await statusOf(asking), await statusOf(later)]).toEqual([401, 200])
  })

  test('by the user with one of them, who changes the PIN: it alone goes on', async () => {
    const [asking, newer] = [aged('new pin', 30), aged('new pin', 10)]
    const wallet = { network: 'Ethereum', name: 'Mine', control_mode: 'user', user_pin: PIN }
    const { address } = (await post('/wallets', await newer, wallet)).json
    const change = { network: 'Ethereum', address, old_user_pin: PIN, new_user_pin: '718394' }
    expect((await post('/wallets/change-user-pin', await asking, change)).status).toBe(200)
    expect([await statusOf(asking), await statusOf(newer)]).toEqual([200, 401])
  })

  longTest('by a change of the PIN with an API key', async () => {
    const token = aged('pin', 5)
    const wallet = { network: 'Ethereum', name: 'Mine', control_mode: 'user', user_pin: PIN }
    const { address } = (await post('/wallets', await token, wallet)).json
    const change = { network: 'Ethereum', address, old_user_pin: PIN, new_user_pin: '718394' }
    expect((await service.post('/wallets/change-user-pin', change)).status).toBe(200)
    expect(await statusOf(token)).toBe(401)
  })

  describe('beside a request that was admitted before', () => {
    const revoke = (userId: string) => revokeSessions(service.ctx, { which: { projectId, userId }, actor: 'operator' })
    const REFUSED: [number, string] = [401, 'session_ended']

    test('which adds no passkey then', async () => {
      const token = await issuer.token({ sub: 'late', iat: seconds() - 5, auth_time: seconds() - 60 })
      const begun = await post('/users/passkey/begin-registration', token, {}, { origin: PAGE })
      const credential = createAuthenticator({ origin: PAGE }).create(begun.json.publicKey)
      const { id } = (await userOf('sub:late')) as { id: string }
      const { ending, adding } = await sql.begin(async (tx) => {
        await tx`select from users where id = ${id} for update`
        const ending = revoke(id)
        await untilWaiting(service.database.sql)
        const adding = post('/users/passkey/finish-registration', token, credential, { origin: PAGE })
        await untilWaiting(service.database.sql, 2)
        return { ending, adding }
      })
      await ending
      expect(statusAndCode(await adding)).toEqual(REFUSED)
      expect([...(await sql`select from passkeys where user_id = ${id}`)]).toEqual([])
    })

    test('which keeps itself no more', async () => {
      const token = await aged('keeping', 5)
      expect((await look(token)).status).toBe(200)
      const { id } = (await userOf('sub:keeping')) as { id: string }
      const endings = await sql.begin(async (tx) => {
        await tx`select from users where id = ${id} for update`
        const first = revoke(id)
        await untilWaiting(service.database.sql)
        const second = post('/users/sessions/end', token)
        await untilWaiting(service.database.sql, 2)
        return [first, second]
      })
      await Promise.all(endings)
      expect((await look(token)).status).toBe(401)
    })

    test('whose device is not let in then', async () => {
      const token = await issuer.token({ sub: 'letting', iat: seconds() - 5, auth_time: seconds() - 60 })
      expect((await look(token)).status).toBe(200)
      const { id: userId } = (await userOf('sub:letting')) as { id: string }
      const none = { authorization: undefined }
      const { id, code } = (await service.post('/users/create-session-challenge', {}, none)).json
      const { ending, letting } = await sql.begin(async (tx) => {
        await tx`select from session_challenges where id = ${id} for update`
        const letting = post('/users/complete-session-challenge', token, { code })
        await untilWaiting(service.database.sql)
        const ending = revoke(userId)
        await Promise.race([ending, untilWaiting(service.database.sql, 2)])
        return { ending, letting }
      })
      await Promise.all([ending, letting])
      const proof = { session_challenge_code: code }
      expect(statusAndCode(await service.post('/users/verify-login', proof, none))).toEqual([401, 'login_failed'])
    })
  })

  test('whoever writes to the database does not bring them back', async () => {
    const token = aged('back', 5)
    expect(await statusOf(token)).toBe(200)
    const before = (await userOf('sub:back')) as { id: string; mac: Uint8Array }
    expect((await cliSessions(before.id)).exitCode).toBe(0)
    const ended = (await userOf('sub:back')) as { mac: Uint8Array; tokens_from: Date }
    await sql`update users set tokens_from = null where id = ${before.id}`
    expect(await statusOf(token)).toBe(401)
    await sql`update users set tokens_from = now() - interval '1 day' where id = ${before.id}`
    expect(await statusOf(token)).toBe(401)
    const kept = createHash('sha256')
      .update(await token)
      .digest()
    await sql`update users set tokens_from = ${ended.tokens_from}, kept_token = ${kept} where id = ${before.id}`
    expect(await statusOf(token)).toBe(401)
    await sql`update users set kept_token = null where id = ${before.id}`
    await sql`update users set tokens_from = now() - interval '1 day' where id = ${before.id}`
    expect(await troublesOf(service, before.id)).toContain(FORGED)
    // The whole row from before is one that we wrote: only the audit shows that it is back.
    await sql`update users set tokens_from = null, mac = ${before.mac} where id = ${before.id}`
    expect(await troublesOf(service, before.id)).toEqual([ENDED])
    await sql`update users set tokens_from = ${ended.tokens_from}, mac = ${ended.mac} where id = ${before.id}`
    expect(await statusOf(token)).toBe(401)
    unforged.push(before.id)
  })
})

describe('a request is refused', () => {
  test.each(['Supabase', 'firebase', '', 'supabase,walletkit', "x' or 1=1", 'walletkit2'])(
    'with the source "%s", which the project does not have',
    async (source) => {
      expect(statusAndCode(await look(await issuer.token(), source))).toEqual([400, 'token_source_unsupported'])
    },
  )

  test('with our own token or an API key as the issuer’s, and with its token as ours', async () => {
    const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    for (const bearer of [session.access_token, service.project.apiKey]) {
      expect(statusAndCode(await look(bearer))).toEqual([401, 'unauthorized'])
    }
    expect(statusAndCode(await look(await issuer.token(), 'walletkit'))).toEqual([401, 'unauthorized'])
  })

  test('with a token that does not count, as a security event', async () => {
    expect(statusAndCode(await look(await issuer.token({ exp: seconds() - 100 })))).toEqual([401, 'unauthorized'])
    await service.ctx.securityEvents.flush()
    const [row] =
      await sql`select project_id, details from audit where action = 'issuer_token_refused' order by id desc`
    expect(row).toMatchObject({ project_id: projectId, details: { source: 'supabase', check: 'exp' } })
  })

  test('with a token that does not count, and the caller learns which check it failed', async () => {
    const told = async (token: string) => (await look(token)).json.error
    const counts = 'The header Authorization must be "Bearer " and a token of the issuer that counts: '
    expect(await told(await issuer.token({ exp: 1 }))).toBe(
      `${counts}its "exp" must be there and not over: get a new one.`,
    )
    expect(await told(await issuer.token({ aud: 'other' }))).toStartWith(`${counts}its "aud", or the claim`)
    expect(await told(await issuer.token({ iss: 'https://a.example' }))).toStartWith(`${counts}its "iss" must be`)
    expect(await told(await issuer.token({}, { kid: 'none' }))).toStartWith(`${counts}the issuer must publish a key`)
    // Whoever has signed nothing learns nothing of what it should say.
    const forged = `${(await issuer.token({ exp: 1, aud: 'other' })).slice(0, -4)}AAAA`
    expect(await told(forged)).toBe(`${counts}it must be a JWT that a key of the issuer signed.`)
  })

  test('at another project, which does not have the issuer', async () => {
    const headers = { ...headersOf(await issuer.token()), 'x-walletkit-project-id': other.projectId }
    expect(statusAndCode(await service.call('/wallets?network=Ethereum', { headers }))).toEqual([
      400,
      'token_source_unsupported',
    ])
    const nowhere = { ...headers, 'x-walletkit-project-id': randomUUID() }
    expect(statusAndCode(await service.call('/wallets?network=Ethereum', { headers: nowhere }))).toEqual([
      401,
      'project_unknown',
    ])
  })

  test('whose token is longer than 16 KiB: one of 16 KiB counts', async () => {
    const bare = (await issuer.token({ filler: '' })).length
    // Three characters of a claim are four in base64url.
    const ofAbout = (length: number) => issuer.token({ filler: 'a'.repeat(((length - bare) * 3) / 4) })
    const long = await ofAbout(16_380)
    expect(long.length).toBeWithin(16_370, 16_385)
    expect((await look(long)).status).toBe(200)
    const longer = await ofAbout(16_500)
    const { status, json } = await look(longer)
    expect([status, json]).toEqual([
      401,
      {
        code: 'unauthorized',
        error: `The bearer token must have at most 16384 characters, and has ${longer.length}: let its issuer put fewer claims into it.`,
      },
    ])
  })

  test('from a page that the project does not allow', async () => {
    const headers = { ...headersOf(await issuer.token()), origin: 'https://evil.example' }
    expect(statusAndCode(await service.call('/wallets?network=Ethereum', { headers }))).toEqual([
      403,
      'origin_not_allowed',
    ])
  })
})

describe('somebody who writes to the database', () => {
  const row = async () => (await sql`select * from issuers where project_id = ${projectId}`)[0] as postgres.Row

  const CHANGES = [
    ['issuer', { issuer: 'https://evil.example' }],
    ['audience', { audience: 'other' }],
    ['claim of the audience', { audience_claim: 'sub' }],
    ['claim', { user_claim: 'email' }],
    ['algorithms', { algorithms: ['ES256'] }],
  ] as const

  test.each(someOf(CHANGES, CHANGES.length))(
    'changes the %s of an issuer: it admits nobody, is reported and named',
    async (_what, change) => {
      const before = await row()
      await sql`update issuers set ${sql(change as never)} where id = ${before.id}`
      expect(statusAndCode(await look(await issuer.token()))).toEqual([400, 'token_source_unsupported'])
      await service.ctx.securityEvents.flush()
      const told = await sql`select from audit where action = 'row_forged' and subject = ${before.id}`
      expect([told.length > 0, await troublesOf(service, before.id)]).toEqual([true, [FORGED]])
      await sql`delete from issuers where id = ${before.id}`
      await sql`insert into issuers ${sql(before as never)}`
      expect((await look(await issuer.token())).status).toBe(200)
    },
  )

  test('copies an issuer to another project, or inserts one: it admits nobody', async () => {
    const id = randomUUID()
    await sql`insert into issuers ${sql({ ...(await row()), id, project_id: other.projectId } as never)}`
    const headers = { ...headersOf(await issuer.token()), 'x-walletkit-project-id': other.projectId }
    expect((await service.call('/wallets?network=Ethereum', { headers })).status).toBe(400)
    expect(await troublesOf(service, id)).toEqual([FORGED])
    await sql`delete from issuers where id = ${id}`
  })

  longTest('deletes an issuer, or puts back one that was removed: the check of the audit names it', async () => {
    const evil = await startIssuer()
    await cli('add', projectId, 'gone', evil.issuer, '--audience', AUDIENCE)
    const [of] = await sql`select * from issuers where name = 'gone'`
    await sql`delete from issuers where name = 'gone'`
    expect(await troublesOf(service, of?.id)).toEqual(['the audit names it, and it is gone'])
    await sql`insert into issuers ${sql(of as never)}`
    expect(await troublesOf(service, of?.id)).toEqual([])
    expect((await cli('remove', projectId, 'gone')).exitCode).toBe(0)
    await sql`insert into issuers ${sql(of as never)}`
    expect(await troublesOf(service, of?.id)).toEqual([ENDED])
    await sql`delete from issuers where name = 'gone'`
    await evil.close()
  })

  test("gives a user another's name at the issuer: nobody is that user any more", async () => {
    const token = await issuer.token({ sub: 'mallory' })
    expect((await look(await issuer.token({ sub: 'victim' }))).status).toBe(200)
    const victim = await userOf('sub:victim')
    await sql`update users set subject = 'sub:mallory' where id = ${victim?.id}`
    expect(statusAndCode(await look(token))).toEqual([401, 'unauthorized'])
    expect(await troublesOf(service, victim?.id)).toEqual([FORGED])
    await sql`update users set subject = 'sub:victim' where id = ${victim?.id}`
    expect((await look(token)).status).toBe(200)
  })

  longTest('deletes a user: the check of the audit names them', async () => {
    await look(await issuer.token({ sub: 'deleted' }))
    const user = await userOf('sub:deleted')
    await sql`delete from users where id = ${user?.id}`
    expect(await troublesOf(service, user?.id)).toEqual(['the audit names it, and it is gone'])
    await look(await issuer.token({ sub: 'deleted' }))
    expect([(await userOf('sub:deleted'))?.id, await troublesOf(service, user?.id)]).toEqual([user?.id, []])
  })
})

describe('cli project issuers', () => {
  test('lists what the project has', async () => {
    const { output } = await cli('list', projectId, '--json')
    expect(JSON.parse(output)).toEqual([
      {
        ...{ name: 'supabase', issuer: issuer.issuer, audience: AUDIENCE, user_claim: 'sub' },
        ...{
          audience_claim: 'aud',
          algorithms: ['RS256', 'ES256'],
          client_id: null,
          callback: null,
          created_at: expect.any(String),
        },
      },
    ])
    expect((await cli('list', projectId)).output).toContain(`supabase  ${issuer.issuer}  audience ${AUDIENCE}`)
  })

  test.each([
    [['Upper'], 'name must be'],
    [['walletkit'], 'name must be'],
    [['supabase'], 'has an issuer of this name'],
    [['a', 'ftp://x.example'], 'begins with https'],
    [['a', 'http://192.0.2.1'], 'begins with https'],
    [['a', 'https://10.1.2.3'], 'that OUTGOING_ALLOWED_HOSTS lists'],
    [['a', 'https://user:pass@issuer.example'], 'without user'],
    [['a', 'issuer.example'], 'and an absolute URL'],
  ] as const)('refuses to add %p', async ([name, url]: readonly string[], words) => {
    const { exitCode, errors } = await cli('add', projectId, name ?? '', url ?? issuer.issuer, '--audience', AUDIENCE)
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(words)])
  })

  test('refuses algorithms with a shared secret, and the name of no claim', async () => {
    const add = (...more: readonly string[]) =>
      cli('add', projectId, 'b', issuer.issuer, '--audience', AUDIENCE, ...more)
    for (const algorithms of ['HS256', 'none', 'RS256,HS512']) {
      expect((await add('--algorithms', algorithms)).errors).toContain('It must be one of')
    }
    expect((await add('--claim', 'a:b')).errors).toContain('name of a claim')
  })

  longTest('adds one whose tokens have another claim in place of aud, and lists it', async () => {
    const id = (await createProject(service.ctx, { name: 'Clerk', actor: 'operator' })).projectId
    const add = (claim: string) =>
      cli('add', id, 'clerk', issuer.issuer, '--audience', AUDIENCE, '--audience-claim', claim)
    expect((await add('a:b')).errors).toContain('The audience claim must be the name of a claim')
    expect(await add('azp')).toMatchObject({ exitCode: 0 })
    expect((await cli('list', id)).output).toContain(`audience ${AUDIENCE} by azp`)
    const token = await issuer.token({ aud: undefined, azp: AUDIENCE })
    const headers = { ...headersOf(token, 'clerk'), 'x-walletkit-project-id': id }
    expect((await service.call('/wallets?network=Ethereum', { headers })).status).toBe(200)
    expect((await look(token)).status).toBe(401)
  })

  longTest('says that there is no such project or issuer', async () => {
    expect((await cli('remove', projectId, 'nothing')).errors).toContain('no issuer of this name')
    expect((await cli('list', randomUUID())).errors).toContain('no such project')
    const nowhere = await cli('add', randomUUID(), 'a', issuer.issuer, '--audience', AUDIENCE)
    expect(nowhere.errors).toContain('no such project')
  })

  test('removes an issuer, with effect on the next request', async () => {
    const id = other.projectId
    await cli('add', id, 'own', issuer.issuer, '--audience', AUDIENCE)
    const headers = { ...headersOf(await issuer.token(), 'own'), 'x-walletkit-project-id': id }
    const status = async () => (await service.call('/wallets?network=Ethereum', { headers })).status
    expect(await status()).toBe(200)
    await cli('remove', id, 'own')
    expect(await status()).toBe(400)
  })

  longTest('removes an issuer: its users can then not remove their last passkey', async () => {
    const id = (await createProject(service.ctx, { name: 'Left', actor: 'operator' })).projectId
    const named = { 'x-walletkit-project-id': id, origin: PAGE }
    await cli('add', id, 'own', issuer.issuer, '--audience', AUDIENCE)
    const token = await issuer.token({ auth_time: seconds() })
    const byToken = { ...named, ...headersOf(token, 'own') }
    const passkey = createAuthenticator({ origin: PAGE })
    const begun = await service.post('/users/passkey/begin-registration', {}, byToken)
    const made = passkey.create(begun.json.publicKey)
    expect(statusAndCode(await service.post('/users/passkey/finish-registration', made, byToken))).toEqual(DONE)
    await cli('remove', id, 'own')

    const byNone = { ...named, authorization: undefined }
    const asked = await service.post('/users/login-with-discoverable-passkey', {}, byNone)
    const proof = { passkey_credential_assertion_response: passkey.get(asked.json.publicKey) }
    const session = (await service.post('/users/verify-login', proof, byNone)).json
    const bySession = { ...named, authorization: `Bearer ${session.access_token}` }
    const [row] = (await service.call('/users/passkeys', { headers: bySession })).json
    const remove = async () => (await service.post('/users/passkey/remove', { id: row.id }, bySession)).status
    expect(await remove()).toBe(400)
    await cli('add', id, 'own', issuer.issuer, '--audience', AUDIENCE)
    expect(await remove()).toBe(200)
  })
})

test('the MAC of an issuer covers each column', async () => {
  const [row] =
    await sql`select id, project_id as "projectId", name, issuer, audience, audience_claim as "audienceClaim",
      user_claim as "userClaim", algorithms, client_id as "clientId", mac
    from issuers where project_id = ${projectId}`
  const mac = issuerMac(service.ctx.identity)
  expect(mac.holds(row as never)).toBe(true)
  for (const column of ['id', 'projectId', 'name', 'issuer', 'audience', 'audienceClaim', 'userClaim', 'clientId']) {
    expect([column, mac.holds({ ...row, [column]: 'x' } as never)]).toEqual([column, false])
  }
  expect(mac.holds({ ...row, algorithms: ['RS256'] } as never)).toBe(false)
})

test('strongroom-client passes such a token', async () => {
  const options = { baseUrl: service.baseUrl, projectId, accessToken: () => issuer.token({ sub: 'client' }) }
  const wallets = (given: object) => createClient({ ...options, ...given }).wallets.list({ network: 'Ethereum' })
  expect(await wallets({ tokenSource: 'supabase' })).toEqual([])
  await expect(wallets({})).rejects.toMatchObject({ code: 'unauthorized' })
})

test('the check of the audit names no user whom only the service has changed', async () => {
  expect(unforged).toHaveLength(3)
  const { output } = await runCli(['audit', 'verify', '--json'], { ...service.variables, VAULT_SOCKET: '' })
  const { forged }: { forged: readonly { readonly id: string }[] } = JSON.parse(output).callers
  expect(forged.filter(({ id }) => unforged.includes(id))).toEqual([])
})
