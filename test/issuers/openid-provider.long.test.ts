// Bearer tokens of a real OpenID provider (oidc-provider). What a provider should never send is in tokens.test.ts,
// where it is our own.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { createIssuers } from '../../src/identity/issuers/admit.ts'
import { addIssuer } from '../../src/identity/issuers/issuers.ts'
import { AppError } from '../../src/platform/errors.ts'
import { type OpenidProvider, RESOURCE_AUDIENCE, startOpenidProvider, tokensFrom } from '../support/openid-provider.ts'
import { type Service, startService } from '../support/service.ts'
import { statusAndCode } from '../users/people.ts'

const CALLBACK = 'http://127.0.0.1/app'
const CLIENT = 'the-app'
const MINUTE_MS = 60_000

let service: Service
let provider: OpenidProvider

const serve = () => provider.serve([{ id: CLIENT, secret: null, callback: CALLBACK }])
const logIn = (name: string) => tokensFrom(provider, { clientId: CLIENT, callback: CALLBACK, name })

/** An issuer by each audience: that of access tokens, that of ID tokens, and that of another app. */
const AUDIENCES = { api: RESOURCE_AUDIENCE, app: CLIENT, elsewhere: 'another-app' } as const

beforeAll(async () => {
  service = await startService({
    rpcUrls: { Ethereum: 'http://127.0.0.1:1' },
    variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' },
  })
  provider = await startOpenidProvider()
  await serve()
  const { projectId } = service.project
  const facts = {
    projectId,
    issuer: provider.issuer,
    userClaim: 'sub',
    audienceClaim: 'aud',
    clientId: null,
    clientSecret: null,
  }
  for (const [name, audience] of Object.entries(AUDIENCES)) {
    await addIssuer(service.ctx, { ...facts, name, audience, algorithms: ['RS256'], actor: 'operator' })
  }
})
afterAll(async () => {
  await provider?.close()
  await service?.close()
})

const look = (token: string, source: keyof typeof AUDIENCES) =>
  service.call('/wallets?network=Ethereum', {
    headers: { authorization: `Bearer ${token}`, 'x-walletkit-token-source': source },
  })
const OK = [200, 'done'] as [number, string]
const UNAUTHORIZED = [401, 'unauthorized'] as [number, string]

describe('what a provider issues', () => {
  test('admits the same user by access token (RFC 9068) and by ID token, each for its own audience', async () => {
    const { access_token, id_token } = await logIn('ada')
    expect([decodeProtectedHeader(access_token).typ, decodeJwt(access_token).aud]).toEqual([
      'at+jwt',
      RESOURCE_AUDIENCE,
    ])
    expect(decodeJwt(id_token)).toMatchObject({ aud: CLIENT, sub: 'ada' })
    expect(statusAndCode(await look(access_token, 'api'))).toEqual(OK)
    expect(statusAndCode(await look(id_token, 'app'))).toEqual(OK)
    const { projectId } = service.project
    const admit = (name: string, token: string) => service.ctx.issuers.admit({ projectId, name, token })
    const { userId } = (await admit('api', access_token)) as { userId: string }
    expect(await admit('app', id_token)).toMatchObject({ kind: 'user', userId })
    expect(await admit('api', (await logIn('ben')).access_token)).not.toMatchObject({ userId })
  })

  test('is refused for another audience than its own', async () => {
    const { access_token, id_token } = await logIn('ada')
    for (const [token, source] of [
      [access_token, 'app'],
      [id_token, 'api'],
      [access_token, 'elsewhere'],
      [id_token, 'elsewhere'],
    ] as const) {
      expect([source, statusAndCode(await look(token, source))]).toEqual([source, UNAUTHORIZED])
    }
  })
})

describe('a provider that', () => {
  let aheadMs = 0
  let issuers: ReturnType<typeof createIssuers>
  beforeEach(async () => {
    aheadMs = 0
    issuers = createIssuers({ ...service.ctx, now: () => new Date(Date.now() + aheadMs) })
  })
  const outcomeOf = async (token: string): Promise<string> => {
    try {
      return (await issuers.admit({ projectId: service.project.projectId, name: 'api', token })).kind
    } catch (error) {
      if (error instanceof AppError) return error.code
      throw error
    }
  }

  test('begins anew with another key is asked for it within 30 seconds, and the key of before no longer counts', async () => {
    const before = (await logIn('ada')).access_token
    expect(await outcomeOf(before)).toBe('user')
    await serve()
    const after = (await logIn('ada')).access_token
    expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid)
    expect([await outcomeOf(after), await outcomeOf(before)]).toEqual(['refused', 'user'])
    aheadMs = 31_000
    expect([await outcomeOf(after), await outcomeOf(before)]).toEqual(['user', 'refused'])
  })

  test('is down stops nobody while its keys are known, and is 503 if they are not', async () => {
    const { access_token } = await logIn('ada')
    expect(await outcomeOf(access_token)).toBe('user')
    await provider.shut()
    aheadMs = 9 * MINUTE_MS
    expect(await outcomeOf(access_token)).toBe('user')
    const fresh = createIssuers(service.ctx)
    issuers = fresh
    expect(await outcomeOf(access_token)).toBe('unavailable')
    await provider.open()
    expect((await logIn('ada')).id_token).toBeString()
  })
})
