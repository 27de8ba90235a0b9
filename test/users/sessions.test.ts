// Sessions: their tokens, refreshing them, and ending them.

import { describe, expect, test } from 'bun:test'
import type { JobHelpers } from 'graphile-worker'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { cleanLoginsTask } from '../../jobs/tasks/index.ts'
import { loginAnonymously, refreshToken } from '../../src/identity/users/session.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { type Answer, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { sealSessions } from './own-rows.ts'
import { visitorOf } from './people.ts'

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database

const ANONYMOUS = { authorization: undefined }

const loggedIn = async () => (await service.post('/users/login-anonymously', {}, ANONYMOUS)).json
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const refresh = (session: { id: string; refresh_token: string }): Promise<Answer> =>
  service.post('/users/refresh-token', { session_id: session.id, refresh_token: session.refresh_token }, ANONYMOUS)
const reaches = async (token: string) =>
  (await service.call('/wallets?network=Ethereum', { headers: bearer(token) })).status

/** Moves a session's last refresh into the past. */
const age = async (id: string, seconds: number) => {
  await sql`update sessions set refreshed_at = refreshed_at - make_interval(secs => ${seconds}) where id = ${id}`
  await sealSessions(service, sql)
}

test('caches may keep the published keys from the first login on', async () => {
  const published = async () => {
    const { json, headers } = await service.call('/.well-known/jwks.json', { headers: ANONYMOUS })
    return [json.keys.length, headers.get('cache-control')]
  }
  expect(await published()).toEqual([0, 'no-store'])
  await loggedIn()
  expect(await published()).toEqual([1, 'public, max-age=300'])
})

describe('an access token', () => {
  test('is a JWT that can be verified with the published keys', async () => {
    const session = await loggedIn()
    const keys = (await service.call('/.well-known/jwks.json', { headers: ANONYMOUS })).json
    const { payload, protectedHeader } = await jwtVerify(session.access_token, createLocalJWKSet(keys), {
      issuer: 'http://localhost:3000',
      audience: service.project.projectId,
    })
    expect(protectedHeader).toEqual({ alg: 'EdDSA', typ: 'JWT', kid: keys.keys[0].kid })
    expect(payload).toEqual({
      iss: 'http://localhost:3000',
      aud: service.project.projectId,
      sub: session.user_id,
      session_id: session.id,
      iat: expect.any(Number),
      exp: (payload.iat ?? 0) + 86_400,
    })
    expect(keys.keys.every((key: object) => !('d' in key))).toBe(true)
  })

  test('is refused if any part was changed or its algorithm is another', async () => {
    const { access_token: token } = await loggedIn()
    expect(await reaches(token)).toBe(200)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const { kid } = decodeProtectedHeader(token)
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    for (const forged of [
      `${header}.${part({ ...claims, sub: service.project.projectId })}.${signature}`,
      `${part({ alg: 'none', typ: 'JWT', kid })}.${payload}.`,
      `${part({ alg: 'HS256', typ: 'JWT', kid })}.${payload}.${signature}`,
      `${part({ alg: 'EdDSA', typ: 'JWT', kid: 'another' })}.${payload}.${signature}`,
      `${header}.${payload}.${'A'.repeat(86)}`,
      `${header}.${payload}`,
      'x.y.z',
    ]) {
      const answer = await service.call('/wallets?network=Ethereum', { headers: bearer(forged) })
      expect([answer.status, answer.json.code]).toEqual([401, 'unauthorized'])
    }
  })

  test('of another project is refused', async () => {
    const { access_token: token } = await loggedIn()
    const { createProject } = await import('../../src/operators/projects.ts')
    const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const answer = await service.call('/wallets?network=Ethereum', {
      headers: { ...bearer(token), 'x-walletkit-project-id': other.projectId },
    })
    expect([answer.status, answer.json.code]).toEqual([403, 'project_mismatch'])
  })
})

describe('a refresh token', () => {
  test('is exchanged for its successor; earlier access tokens stay valid', async () => {
    const first = await loggedIn()
    const second = (await refresh(first)).json
    expect(second.id).toBe(first.id)
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect([await reaches(first.access_token), await reaches(second.access_token)]).toEqual([200, 200])
    expect((await refresh(second)).status).toBe(200)
  })

  test('gives the same successor again for ten seconds, also to simultaneous requests', async () => {
    const first = await loggedIn()
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(first)))
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]))
    expect(new Set(answers.map((answer) => answer.json.refresh_token)).size).toBe(1)
    await age(first.id, 9)
    expect((await refresh(first)).json.refresh_token).toBe(answers[0]?.json.refresh_token)
  })

  test('that was used before ends the session with all its tokens', async () => {
    const first = await loggedIn()
    const second = (await refresh(first)).json
    await age(first.id, 11)
    const reused = await refresh(first)
    expect([reused.status, reused.json.code]).toEqual([401, 'session_ended'])
    expect((await refresh(second)).status).toBe(401)
    const answer = await service.call('/wallets?network=Ethereum', { headers: bearer(second.access_token) })
    expect([answer.status, answer.json.code]).toEqual([401, 'session_ended'])
    const [row] = await sql`select ended_by from sessions where id = ${first.id}`
    expect(row?.ended_by).toBe('reuse')
  })

  test('from two exchanges ago ends the session even within the ten seconds', async () => {
    const first = await loggedIn()
    const third = (await refresh((await refresh(first)).json)).json
    expect((await refresh(first)).status).toBe(401)
    expect((await refresh(third)).status).toBe(401)
  })

  test('that we did not issue is refused, and ends nothing', async () => {
    const session = await loggedIn()
    const other = await loggedIn()
    const bytes = Buffer.from(session.refresh_token, 'base64url')
    bytes.writeUInt32BE(7)
    for (const token of [bytes.toString('base64url'), other.refresh_token, 'A'.repeat(48), 'x']) {
      const answer = await refresh({ id: session.id, refresh_token: token })
      expect([answer.status, answer.json.code]).toEqual([401, 'session_ended'])
    }
    expect((await refresh(session)).status).toBe(200)
  })

  test('that has expired is refused, without a security event', async () => {
    const session = await loggedIn()
    await sql`update sessions set expires_at = now() where id = ${session.id}`
    await sealSessions(service, sql)
    expect((await refresh(session)).status).toBe(401)
    expect([...(await sql`select ended_by from sessions where id = ${session.id}`)]).toEqual([{ ended_by: null }])
  })

  test('is stored in no table', async () => {
    const session = await loggedIn()
    const [row] = await sql`select row_to_json(s)::text as text from sessions s where id = ${session.id}`
    expect(row?.text).toContain(session.id)
    expect(row?.text).not.toContain(session.refresh_token)
  })
})

describe('a session', () => {
  const DAY_MS = 86_400_000
  /** Moves the login into the past. */
  const ageLogin = async (id: string, days: number) => {
    await sql`update sessions set authenticated_at = authenticated_at - make_interval(secs => ${days * 86_400}) where id = ${id}`
    await sealSessions(service, sql)
  }
  const inDays = (instant: string): number => Math.round((new Date(instant).getTime() - Date.now()) / DAY_MS)

  test('ends 90 days after its login even if it is refreshed, and its tokens say so', async () => {
    const first = await loggedIn()
    expect(inDays(first.refresh_token_expires_at)).toBe(30)
    await ageLogin(first.id, 80)
    const second = (await refresh(first)).json
    expect(inDays(second.refresh_token_expires_at)).toBe(10)
    expect(inDays(second.access_token_expires_at)).toBe(1)
    await ageLogin(first.id, 9 + 23 / 24)
    const third = (await refresh(second)).json
    const left = new Date(third.refresh_token_expires_at).getTime() - Date.now()
    expect(left).toBeWithin(3_590_000, 3_600_001)
    const difference = left + Date.now() - new Date(third.access_token_expires_at).getTime()
    expect(difference).toBeWithin(-1_000, 2_000)
    expect(await reaches(third.access_token)).toBe(200)
    await ageLogin(first.id, 1)
    const last = await refresh(third)
    expect([last.status, last.json.code]).toEqual([401, 'session_ended'])
    expect([...(await sql`select ended_by from sessions where id = ${first.id}`)]).toEqual([{ ended_by: null }])
  })

  test('ends after the number of days that the operator sets, even if it was begun before', async () => {
    const ctx = { ...service.ctx, config: { ...service.ctx.config, sessionDays: 2 } }
    const { projectId } = service.project
    const begun = await loginAnonymously(ctx, await visitorOf(service))
    expect(inDays(begun.row.expiresAt.toISOString())).toBe(2)
    const before = await loggedIn()
    await ageLogin(before.id, 1)
    const input = { projectId, sessionId: before.id, refreshToken: before.refresh_token }
    const refreshed = await refreshToken(ctx, input)
    expect(inDays(refreshed.row.expiresAt.toISOString())).toBe(1)
    await ageLogin(before.id, 1)
    await expect(refreshToken(ctx, { ...input, refreshToken: refreshed.refreshToken })).rejects.toThrow('log in again')
  })

  test('that another device let in ends together with the session of that device', async () => {
    const first = await loggedIn()
    await ageLogin(first.id, 60)
    const { code } = (await service.post('/users/create-session-challenge', {}, ANONYMOUS)).json
    await service.post('/users/complete-session-challenge', { code }, bearer(first.access_token))
    const second = (await service.post('/users/verify-login', { session_challenge_code: code }, ANONYMOUS)).json
    expect(inDays(second.refresh_token_expires_at)).toBe(30)
    await ageLogin(second.id, 20)
    expect(inDays((await refresh(second)).json.refresh_token_expires_at)).toBe(10)
  })
})

describe('logging out', () => {
  const logout = (headers: Record<string, string | undefined>) =>
    service.call('/users/logout', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })

  test('ends the session at once, and expires the cookies', async () => {
    const session = await loggedIn()
    const answer = await logout(bearer(session.access_token))
    expect([answer.status, answer.json]).toEqual([200, { success: true }])
    expect(answer.headers.getSetCookie()).toEqual(
      ['wk-session-id', 'wk-access-token', 'wk-refresh-token'].map(
        (name) => `${name}=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax`,
      ),
    )
    expect(await reaches(session.access_token)).toBe(401)
    expect((await refresh(session)).status).toBe(401)
    expect((await logout(bearer(session.access_token))).status).toBe(200)
  })

  test('accepts no API key, no cookie and no token that we did not sign', async () => {
    const session = await loggedIn()
    const [key, cookie, forged] = await Promise.all([
      logout({}),
      logout({ authorization: undefined, cookie: `wk-access-token=${session.access_token}` }),
      logout(bearer(`${session.access_token.slice(0, -4)}AAAA`)),
    ])
    expect([key.status, key.json.code]).toEqual([403, 'user_session_required'])
    expect([cookie.status, cookie.json.code]).toEqual([401, 'unauthorized'])
    expect([forged.status, forged.json.code]).toEqual([401, 'unauthorized'])
    expect(await reaches(session.access_token)).toBe(200)
  })
})

test('the worker deletes expired rows of logins and sessions, and nothing else', async () => {
  const { id: over } = await loggedIn()
  const { id: ended } = await loggedIn()
  const { id: live } = await loggedIn()
  await sql`update sessions set expires_at = now() - interval '91 days' where id = ${over}`
  const { user_id: unreachable, id: gone } = await loggedIn()
  const { user_id: owner, id: goneToo, access_token: token } = await loggedIn()
  const control = { control_mode: 'user', user_pin: '493817' }
  await service.post('/wallets', { network: 'Ethereum', name: 'Mine', ...control }, bearer(token))
  await sql`update users set created_at = now() - interval '91 days' where id in (${unreachable}, ${owner})`
  await sql`update sessions set expires_at = now() - interval '91 days' where id in (${gone}, ${goneToo})`
  await sql`update sessions set ended_at = now() - interval '89 days', ended_by = 'logout' where id = ${ended}`
  const projectId = service.project.projectId
  for (const [name, age] of [
    ['over', '1 second'],
    ['live', '-1 minute'],
  ] as const) {
    const expiry = sql`now() - ${age}::interval`
    await sql`insert into nonces (project_id, kind, nonce, target, expires_at)
      values (${projectId}, 'wallet', ${name}, 'x', ${expiry})`
    await sql`insert into email_codes (project_id, user_id, purpose, email, code_mac, expires_at)
      values (${projectId}, gen_random_uuid(), 'login', ${name}, '\\x00', ${expiry})`
    await sql`insert into throttles (key, tries, window_ends_at) values (${Buffer.from(name)}, 1, ${expiry})`
    await sql`insert into session_challenges (id, project_id, way, code_hash, asker_address, asker_device, expires_at)
      values (gen_random_uuid(), ${projectId}, 'session_challenge', ${Buffer.from(name)}, '', ${name}, ${expiry} - interval '59 minutes 59 seconds')`
  }
  const worker = await createWorkerCtx({
    config: readConfig({ ...service.variables, VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }),
    process: 'test',
  })
  await cleanLoginsTask(worker)({}, {} as JobHelpers)
  await worker.close({ timeoutSeconds: 2 })
  const left = await sql<{ text: string }[]>`
    select nonce as text from nonces union all select email from email_codes
    union all select convert_from(key, 'utf8') from throttles where length(key) < 32
    union all select asker_device from session_challenges where asker_device in ('over', 'live')
    union all select id::text from sessions where id in (${over}, ${ended}, ${live})`
  expect(left.map(({ text }) => text).sort()).toEqual(['live', 'live', 'live', 'live', ended, live].sort())
  const users = await sql<{ id: string }[]>`select id from users where id in (${unreachable}, ${owner})`
  expect(users.map(({ id }) => id)).toEqual([owner])
})

test('no cache may keep a private answer or a refusal', async () => {
  const { access_token: token } = await loggedIn()
  const post = (path: string, body: object, headers: Record<string, string | undefined> = ANONYMOUS) =>
    service.post(`/users/${path}`, body, headers)
  const answers = await Promise.all([
    post('login-anonymously', {}),
    post('login-with-email', { email: 'cached@example.com' }),
    post('login-with-email', {}),
    post('login-with-passkey', { email: 'cached@example.com' }, { ...ANONYMOUS, origin: 'http://localhost:3000' }),
    post('verify-login', { session_challenge_code: 'x' }),
    post('verify-login', {}, { ...ANONYMOUS, origin: 'https://evil.example' }),
    post('passkey/begin-registration', {}, bearer(token)),
    service.call('/users/passkeys', { headers: bearer(token) }),
    service.call('/users/passkeys', { headers: bearer('x') }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 200, 401, 403, 400, 200, 401])
  expect(new Set(answers.map(({ headers }) => headers.get('cache-control')))).toEqual(new Set(['no-store']))
})
