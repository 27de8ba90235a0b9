import { describe, expect, test } from 'bun:test'
import { createAllowance } from '../../src/identity/auth/allowance.ts'
import { secretIn } from '../../src/operators/console/session.ts'
import { AppError } from '../../src/platform/errors.ts'
import { startConsole } from '../support/console.ts'
import { holdTable } from '../support/locks.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const PER_SECOND = 5
const service = await shared(
  startService({
    rpcUrls: { Ethereum: 'http://127.0.0.1:1' },
    variables: { RATE_LIMIT_PER_SECOND: String(PER_SECOND), TRUSTED_PROXIES: '1' },
  }),
)
const { sql } = service.database

/** Each test has its own. */
let addresses = 0

const wrongKey = (index: number) => `Bearer sk_${String(index).padStart(43, '0')}`
const from = (address: string, authorization?: string) => ({ 'x-forwarded-for': address, authorization })
const list = (headers: Record<string, string | undefined>) => service.call('/wallets?network=Ethereum', { headers })
const statusesOf = async (answers: readonly Promise<Response | { readonly status: number }>[]) =>
  (await Promise.all(answers)).map(({ status }) => status).toSorted()

const ROUNDS_MAX = 20

/** Calls, many at a time, until one is refused: on a busy machine, calls of one round may fall into several seconds. */
const untilRefused = async (call: () => Promise<Response>): Promise<Response> => {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const answers = await Promise.all(Array.from({ length: 3 * PER_SECOND }, call))
    const refused = answers.find(({ status }) => status === 429)
    if (refused !== undefined) return refused
  }
  throw new Error('the address has no limit')
}

describe('an address that sends wrong tokens', () => {
  test('gets 429 before the database is asked, and keys that were accepted before go on beside it', async () => {
    const right = () => list(from('192.0.2.1', `Bearer ${service.project.apiKey}`))
    expect((await right()).status).toBe(200)
    await using letGo = await holdTable(sql, 'api_keys', 'access exclusive')
    const wrong = Array.from({ length: 3 * PER_SECOND }, (_, index) => list(from('192.0.2.1', wrongKey(index))))
    const beside = [right(), right()]
    const many = Promise.withResolvers<void>()
    const refusals: Awaited<ReturnType<typeof list>>[] = []
    for (const each of wrong) {
      each.then((answer) => {
        if (refusals.push(answer) === 2 * PER_SECOND) many.resolve()
      })
    }
    await many.promise
    for (const { status, json, headers } of [...refusals]) {
      expect([status, json.code, headers.get('retry-after')]).toEqual([429, 'rate_limited', '1'])
    }
    await letGo()
    expect(new Set(await statusesOf(wrong))).toEqual(new Set([401, 429]))
    expect(await statusesOf(beside)).toEqual([200, 200])
    expect((await list(from('192.0.2.2', wrongKey(0)))).status).toBe(401)
  })

  test.each([
    ['GET', '/metadata/x.json'],
    ['GET', '/.well-known/jwks.json'],
    ['GET', '/users/session-challenge?code=x'],
    ['POST', '/users/refresh-token'],
    ['POST', '/users/login-anonymously'],
    ['POST', '/users/verify-login'],
    ['GET', '/login'],
    ['GET', '/login/link?secret=x'],
    ['GET', '/consent'],
    ['GET', '/approvals/x'],
    ['GET', '/users/oauth/google-callback'],
    ['GET', '/login/oidc/callback/5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f/x'],
    ['GET', '/nowhere'],
  ])('has the same limit for %s %s, which needs no token', async (method, path) => {
    addresses += 1
    const headers = { 'x-forwarded-for': `198.51.100.${addresses}`, origin: 'https://app.example.com' }
    const call = () => fetch(`${service.baseUrl}${path}`, { method, headers })
    const refused = await untilRefused(call)
    expect(refused.headers.get('access-control-allow-origin')).toBe('*')
    expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  test('lets a page of any origin read that it was refused: preflights are answered', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.8', origin: 'https://app.example.com' }
    const at = `${service.baseUrl}/wallets`
    await untilRefused(() => fetch(at, { headers }))
    const answers = await Promise.all(
      Array.from({ length: 3 * PER_SECOND }, () => fetch(at, { method: 'OPTIONS', headers })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]))
    const open = answers.find((answer) => answer.headers.get('access-control-allow-origin') === '*')
    expect(open?.headers.get('access-control-allow-headers')).toContain('Authorization')
    expect(open?.headers.get('access-control-allow-methods')).toContain('POST')
  })

  test('has the same limit for the pages of the console, with a session that it does not know', async () => {
    const ours = await startConsole(service)
    try {
      const cookie = `__Host-strongroom-console=${'x'.repeat(43)}`
      const headers = { 'x-forwarded-for': '192.0.2.3', cookie }
      await untilRefused(() => fetch(`http://127.0.0.1:${ours.port}/wallets`, { headers, redirect: 'manual' }))
    } finally {
      await ours.close()
    }
  })

  test('does not make the process look dead', async () => {
    const calls = Array.from({ length: 3 * PER_SECOND }, () =>
      fetch(`${service.baseUrl}/readyz`, { headers: { 'x-forwarded-for': '192.0.2.9' } }),
    )
    expect(new Set(await statusesOf(calls)).has(429)).toBe(false)
  })
})

const SECRET = `__Host-strongroom-console=${'x'.repeat(43)}`

describe('an allowance', () => {
  const requestOf = (authorization: string): Request =>
    new Request('http://localhost/wallets', { headers: { authorization } })

  test('is given back for a token that is accepted, and a token that ends spends from the address again', async () => {
    const allowance = createAllowance({ rateLimitPerSecond: 2, trustedProxies: 0 })
    const isRefused = (request: Request) =>
      allowance.spend(request).then(
        () => false,
        (error: unknown) => error instanceof AppError && error.code === 'rate_limited',
      )
    for (let index = 0; index < 4; index += 1) {
      const request = requestOf(`Bearer token-${index}`)
      expect(await isRefused(request)).toBe(false)
      await allowance.accept(request)
    }
    for (const refused of [false, false, true]) expect(await isRefused(requestOf('Bearer wrong'))).toBe(refused)
    const once = requestOf('Bearer token-0')
    expect(await isRefused(once)).toBe(false)
    allowance.refuse(once)
    expect(await isRefused(requestOf('Bearer token-0'))).toBe(true)
    for (const refused of [false, false, true]) expect(await isRefused(requestOf('Bearer token-1'))).toBe(refused)
  })

  test.each([
    ['authorization', ['Bearer a.b.-_-_', 'bearer   a.b.-_-_', 'BEARER a.b.+/+/', 'Bearer a.b.-_-_='], {}],
    ['cookie', [SECRET, `a=b; ${SECRET}`, `${SECRET};c=d`], { tokenIn: secretIn }],
  ] as const)('is one for a token in the header %s, however it is spelled', async (name, texts, options) => {
    const allowance = createAllowance({ rateLimitPerSecond: 1, trustedProxies: 0 }, options)
    const requests = texts.map((text) => new Request('http://localhost/wallets', { headers: { [name]: text } }))
    for (const request of requests.slice(0, 1)) await allowance.accept(request)
    const spent = await Promise.allSettled(requests.map(allowance.spend))
    expect(spent.map(({ status }) => status)).toEqual(texts.map((_, at) => (at === 0 ? 'fulfilled' : 'rejected')))
    // Another token spends from the address, from which nothing was spent.
    await allowance.spend(new Request('http://localhost/wallets', { headers: { [name]: 'x' } }))
  })
})
