import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { createApp } from '../../src/api/app.ts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })

const list = (headers: Record<string, string | undefined>) => service.call('/wallets?network=Ethereum', { headers })

const refused = async (headers: Record<string, string | undefined>, status: number, code: string) => {
  const answer = await list(headers)
  expect({ status: answer.status, code: answer.json.code }).toEqual({ status, code })
}

describe('authentication', () => {
  test('accepts an API key with its project', async () => {
    expect((await list({})).status).toBe(200)
  })

  test('accepts X-Project-ID as an alias of the project header', async () => {
    const headers = { 'x-walletkit-project-id': undefined, 'x-project-id': service.project.projectId.toUpperCase() }
    expect((await list(headers)).status).toBe(200)
  })

  test('takes the project header under both names if they say the same, and refuses two projects', async () => {
    const { projectId } = service.project
    expect((await list({ 'x-project-id': projectId.toUpperCase() })).status).toBe(200)
    await refused({ 'x-project-id': other.projectId }, 400, 'project_required')
    await refused({ 'x-project-id': '' }, 400, 'project_required')
    const poll = await service.call('/users/session-challenge?code=x', { headers: { 'x-project-id': other.projectId } })
    expect([poll.status, poll.json.code]).toEqual([400, 'project_required'])
  })

  test('takes the header of the token source under both names, and refuses two sources', async () => {
    const plain = 'x-token-source'
    await refused({ [plain]: 'elsewhere' }, 400, 'token_source_unsupported')
    expect((await list({ [plain]: 'walletkit' })).status).toBe(200)
    await refused({ [plain]: 'firebase', 'x-walletkit-token-source': 'walletkit' }, 400, 'token_source_unsupported')
  })

  test('refuses a missing or malformed project', async () => {
    await refused({ 'x-walletkit-project-id': undefined }, 400, 'project_required')
    await refused({ 'x-walletkit-project-id': 'x' }, 400, 'project_required')
  })

  test('refuses an unknown project, with or without a valid key', async () => {
    await refused({ 'x-walletkit-project-id': randomUUID() }, 401, 'project_unknown')
    await refused({ 'x-walletkit-project-id': randomUUID(), authorization: undefined }, 401, 'project_unknown')
  })

  test("refuses another project's key", async () => {
    await refused({ authorization: `Bearer ${other.apiKey}` }, 403, 'project_mismatch')
  })

  test('refuses a missing, malformed or unknown key', async () => {
    await refused({ authorization: undefined }, 401, 'unauthorized')
    await refused({ authorization: service.project.apiKey }, 401, 'unauthorized')
    await refused({ authorization: `Basic ${service.project.apiKey}` }, 401, 'unauthorized')
    await refused({ authorization: `Bearer sk_${'A'.repeat(43)}` }, 401, 'unauthorized')
  })

  // RFC 9110 §11.6.1, and RFC 6750 §3.1 for when there is an error code.
  test('names the scheme in each answer 401, and an error if a bearer token was refused', async () => {
    const challenge = 'Bearer realm="Strongroom"'
    const wrong = `${challenge}, error="invalid_token"`
    const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    const own = `Bearer ${session.access_token}`
    await service.post('/users/logout', {}, { authorization: own })
    const of = async (headers: Record<string, string | undefined>) => {
      const { status, headers: answered } = await list(headers)
      return [status, answered.get('www-authenticate')]
    }
    expect(await of({ authorization: undefined })).toEqual([401, challenge])
    expect(await of({ authorization: `Basic ${service.project.apiKey}` })).toEqual([401, challenge])
    expect(await of({ authorization: `Bearer sk_${'A'.repeat(43)}` })).toEqual([401, wrong])
    expect(await of({ authorization: `Bearer ${'A'.repeat(20_000)}` })).toEqual([401, wrong])
    expect(await of({ authorization: own })).toEqual([401, wrong])
    expect(await of({ 'x-walletkit-project-id': randomUUID() })).toEqual([401, challenge])
    const proof = { user_id: randomUUID(), verification_code: '000000' }
    const login = await service.post('/users/verify-login', proof, { authorization: own })
    expect([login.json.code, login.headers.get('www-authenticate')]).toEqual(['login_failed', challenge])
    expect((await list({ authorization: `Bearer ${other.apiKey}` })).headers.get('www-authenticate')).toBeNull()
  })

  test('refuses a revoked and an expired key at the next request', async () => {
    const project = await createProject(service.ctx, { name: 'Short', actor: 'operator' })
    const headers = { authorization: `Bearer ${project.apiKey}`, 'x-walletkit-project-id': project.projectId }
    expect((await list(headers)).status).toBe(200)
    const { sql } = service.database
    await sql`update api_keys set expires_at = now() - interval '1 second' where project_id = ${project.projectId}`
    await refused(headers, 401, 'unauthorized')
    await sql`update api_keys set expires_at = null, revoked_at = now() where project_id = ${project.projectId}`
    await refused(headers, 401, 'unauthorized')
  })

  test('refuses a token source other than ours', async () => {
    await refused({ 'x-walletkit-token-source': 'elsewhere' }, 400, 'token_source_unsupported')
    expect((await list({ 'x-walletkit-token-source': 'walletkit' })).status).toBe(200)
  })

  test('refuses an unknown caller before it checks the input', async () => {
    const answer = await service.call('/wallets', { body: { nonsense: true }, headers: { authorization: undefined } })
    expect(answer.json.code).toBe('unauthorized')
  })

  test('records when a key was last used', async () => {
    const { sql } = service.database
    await list({})
    let used: Date | null = null
    for (let tries = 0; used === null && tries < 50; tries += 1) {
      const [row] = await sql<{ at: Date | null }[]>`
        select last_used_at as at from api_keys where project_id = ${service.project.projectId}`
      used = row?.at ?? null
      await Bun.sleep(20)
    }
    expect(used).not.toBeNull()
  })

  test('limits a key to its number of requests per second', async () => {
    const config = readConfig({ ...service.variables, RATE_LIMIT_PER_SECOND: '5' })
    const limited = createApp({ ...service.ctx, config })
    const { apiKey, projectId } = service.project
    const headers = { authorization: `Bearer ${apiKey}`, 'x-walletkit-project-id': projectId }
    const ask = async () => limited.fetch(new Request('http://localhost/wallets?network=Polkadot', { headers }))
    const answers = await Promise.all(Array.from({ length: 12 }, ask))
    const refusals = answers.filter((answer) => answer.status === 429)
    expect(refusals.length).toBe(7)
    expect(await refusals[0]?.json()).toMatchObject({ code: 'rate_limited' })
    expect(Number(refusals[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })
})

describe('browsers', () => {
  const APP = 'https://app.example.com'

  test('a preflight needs neither project nor bearer token, on any path', async () => {
    await addOrigins(service.ctx, { projectId: service.project.projectId, origins: [APP] })
    const answer = await service.call('/transactions/sign', {
      method: 'OPTIONS',
      headers: { origin: APP, authorization: undefined, 'x-walletkit-project-id': undefined },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
    const allowed = answer.headers.get('access-control-allow-headers')?.split(', ')
    for (const name of ['Project-ID', 'Token-Source']) {
      expect(allowed).toContain(`X-${name}`)
      expect(allowed).toContain(`X-WalletKit-${name}`)
    }
    expect(allowed).toContain('Last-Event-ID')
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('a preflight from an origin that no project allows gets no permission', async () => {
    const answer = await service.call('/wallets', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })
    expect(answer.status).toBe(204)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('a preflight for hosted metadata allows any origin to read it, with any headers', async () => {
    const headers = { origin: 'https://gallery.example', authorization: undefined, 'x-walletkit-project-id': undefined }
    const answer = await service.call(`/metadata/${'0'.repeat(64)}.json`, { method: 'OPTIONS', headers })
    expect(answer.status).toBe(204)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': '*',
    })
  })

  test('pages of any origin may read the public keys of access tokens', async () => {
    const path = '/.well-known/jwks.json'
    const asked = await service.call(path, { method: 'OPTIONS', headers: { origin: 'https://a.example' } })
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
    for (const origin of ['https://a.example', APP, undefined]) {
      const answer = await service.call(path, { headers: { origin, authorization: undefined } })
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
    }
  })

  test('the request itself must come from an origin of its own project', async () => {
    const allowed = await list({ origin: APP })
    expect(allowed.status).toBe(200)
    expect(allowed.headers.get('access-control-allow-origin')).toBe(APP)
    await refused({ origin: 'https://evil.example' }, 403, 'origin_not_allowed')
    await refused(
      { origin: APP, authorization: `Bearer ${other.apiKey}`, 'x-walletkit-project-id': other.projectId },
      403,
      'origin_not_allowed',
    )
  })

  test('a page can read errors too', async () => {
    const answer = await list({ origin: APP, authorization: undefined })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
    expect(answer.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
  })

  test('an origin list with an invalid entry is refused', async () => {
    const set = addOrigins(service.ctx, {
      projectId: service.project.projectId,
      origins: ['https://a.example/x'],
    })
    expect(set).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

describe('health', () => {
  test('needs no authentication, and says which networks are unreachable', async () => {
    expect((await fetch(`${service.baseUrl}/healthz`).then((response) => response.json())) as unknown).toEqual({
      status: 'ok',
    })
    const ready = (await fetch(`${service.baseUrl}/readyz`).then((response) => response.json())) as unknown
    expect(ready).toEqual({
      status: 'ready',
      networks: { Ethereum: 'unreachable' },
      nodes: { 'Ethereum#1': expect.any(String) },
    })
  })
})
