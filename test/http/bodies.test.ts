// How much of a body is read, whose budget it counts against, and what happens to the rest; tested with raw sockets.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { createApp } from '../../src/api/app.ts'
import { createProject } from '../../src/operators/projects.ts'
import { bodyLimitOf, LARGE_BODIES, SMALL_BODY_BYTES } from '../../src/platform/http/body.ts'
import { readMetrics } from '../metrics/exposition.ts'
import { commonService } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import { sendRaw } from '../support/raw-http.ts'
import { type Service, startService } from '../support/service.ts'

const MEGABYTE = 1024 * 1024
const SECRET = 'testnet-secret'
const JSON_BODY = 'Content-Type: application/json\r\n'
/** As Apple answers (form_post). */
const FORM_BODY = 'Content-Type: application/x-www-form-urlencoded\r\n'

const service = await commonService()

const project = () => `X-WalletKit-Project-ID: ${service.project.projectId}\r\n`
const bearer = () => `Authorization: Bearer ${service.project.apiKey}\r\n`
const post = (path: string) => `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}${project()}${bearer()}`
const raw = (...parts: readonly (string | Uint8Array)[]) => sendRaw({ url: service.baseUrl, parts })
const outcome = (answer: { readonly status: number; readonly body: string }) => ({
  status: answer.status,
  code: JSON.parse(answer.body).code,
})

const padded = (body: object, bytes: number) => {
  const text = JSON.stringify(body)
  return text + ' '.repeat(bytes - Buffer.byteLength(text))
}

const inChunks = (text: string) => [
  `${(1000).toString(16)}\r\n${text.slice(0, 1000)}\r\n`,
  `${(text.length - 1000).toString(16)}\r\n${text.slice(1000)}\r\n`,
  '0\r\n\r\n',
]

describe('the limit of a route', () => {
  test('is listed only for existing routes', () => {
    const routes = createApp(service.ctx).routes.filter(({ method }) => method === 'POST')
    const paths = new Set(routes.map(({ path }) => path))
    for (const path of LARGE_BODIES.keys()) expect({ path, exists: paths.has(path) }).toEqual({ path, exists: true })
  })

  test('is 16 KiB on every route of users, and twice that where a contract wallet’s signature is verified', async () => {
    const KIBIBYTE = 1024
    const { access_token } = (await service.post('/users/login-anonymously', {})).json
    const asUser = (path: string) => post(path).replace(service.project.apiKey, access_token)
    const routes = createApp(service.ctx).routes.filter(({ path }) => path.startsWith('/users/'))
    expect(routes.length).toBeGreaterThan(15)
    for (const { method, path } of routes) {
      const limit = (path === '/users/verify-login' ? 32 : 16) * KIBIBYTE
      expect({ path, limit: bodyLimitOf(path) }).toEqual({ path, limit })
      if (method === 'GET') continue
      const head = path === '/users/oauth/apple-callback' ? asUser(path).replace(JSON_BODY, FORM_BODY) : asUser(path)
      // A declared length is checked before any byte of the body arrives.
      const answer = await raw(`${head}Content-Length: ${limit + 1}\r\n\r\n`)
      expect({ path, ...outcome(answer) }).toEqual({ path, status: 413, code: 'body_too_large' })
    }
  })

  for (const path of ['/users/login-with-email', '/users/verify-login', '/wallets', '/policies', '/nfts/mint']) {
    test(`of ${path} is exact to the byte, for declared and chunked bodies`, async () => {
      const limit = bodyLimitOf(path)
      for (const [bytes, status, code] of [
        [limit, 400, 'invalid_input'],
        [limit + 1, 413, 'body_too_large'],
      ] as const) {
        const text = padded({ no_such_field: 1 }, bytes)
        const declared = await raw(`${post(path)}Content-Length: ${bytes}\r\n\r\n${text}`)
        expect({ bytes, ...outcome(declared) }).toEqual({ bytes, status, code })
        const chunked = await raw(`${post(path)}Transfer-Encoding: chunked\r\n\r\n`, ...inChunks(text))
        expect({ bytes, ...outcome(chunked) }).toEqual({ bytes, status, code })
      }
    })
  }

  test('leaves room for the largest fields', async () => {
    const signature = { siwe_message: 'x'.repeat(4_096), signature: `0x${'ab'.repeat(8_192)}` }
    expect((await service.post('/users/verify-login', signature)).status).not.toBe(413)
    const description = '\ud83d\ude00'.repeat(4_096)
    const metadata = { name: 'Door', description, image: 'https://example.com/d.png' }
    const mint = { network: 'Ethereum', contract_address: 'x', metadata, developer_secret: SECRET }
    expect((await service.post('/nfts/mint', mint)).json.code).toBe('address_invalid')
    const value = '\ud83d\ude00'.repeat(1_024)
    const rules = Array(50).fill({ argument: 'to', operator: 'eq', value })
    const policy = {
      network: 'Ethereum',
      wallet_address: 'x',
      argument_rules: rules,
      developer_secret: SECRET,
      user_pin: '493817',
    }
    expect((await service.post('/policies', policy)).status).not.toBe(413)
    const call = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', input: `0x${'ab'.repeat(1_000_000)}` }
    const sign = {
      network: 'Ethereum',
      signer_wallet_address: call.to,
      unsigned_transaction: call,
      developer_secret: SECRET,
    }
    expect((await service.post('/transactions/sign', sign)).json.code).toBe('not_found')
  })

  test('is reported before any byte of a declared body has arrived', async () => {
    const answer = await raw(`${post('/users/login-with-email')}Content-Length: ${4 * MEGABYTE}\r\n\r\n`)
    expect(outcome(answer)).toEqual({ status: 413, code: 'body_too_large' })
    expect(JSON.parse(answer.body).error).toBe('The body of this call must not be larger than 16384 bytes.')
  })

  test('is reported to a client that reads only after sending everything and asks to close the connection', async () => {
    const { hostname, port } = new URL(service.baseUrl)
    for (const framing of [`Content-Length: ${5 * MEGABYTE}`, 'Transfer-Encoding: chunked']) {
      const socket = connect(Number(port), hostname)
      const failed = Promise.withResolvers<never>()
      socket.on('error', failed.reject)
      const write = (part: string | Uint8Array) =>
        Promise.race([new Promise<void>((resolve) => socket.write(part, () => resolve())), failed.promise])
      await write(`${post('/users/login-with-email')}Connection: close\r\n${framing}\r\n\r\n`)
      for (let megabyte = 0; megabyte < 5; megabyte += 1) {
        const isChunked = framing.startsWith('Transfer')
        if (isChunked) await write(`${MEGABYTE.toString(16)}\r\n`)
        await write(Buffer.alloc(MEGABYTE, ' '))
        if (isChunked) await write('\r\n')
      }
      if (framing.startsWith('Transfer')) await write('0\r\n\r\n')
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
      })
      await Promise.race([new Promise((resolve) => socket.on('close', resolve)), failed.promise])
      expect(text.split('\r\n', 1)).toEqual(['HTTP/1.1 413 Payload Too Large'])
    }
  })

  test('applies to the form behind a mailed link', async () => {
    const form = `POST /login/link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n`
    const answer = await raw(`${form}Content-Length: ${SMALL_BODY_BYTES + 1}\r\n\r\n`)
    expect(outcome(answer)).toEqual({ status: 413, code: 'body_too_large' })
  })
})

describe('the byte budget of a caller', () => {
  const BYTES_A_SECOND = 500_000
  /** Three of these exceed the budget of ten seconds. */
  const text = padded({ no_such_field: 1 }, 2 * MEGABYTE)
  let limited: Service

  beforeAll(async () => {
    limited = await startService({
      database: { ...service.database, close: async () => {} },
      hasVault: false,
      variables: {
        ...service.variables,
        RATE_LIMIT_BYTES_PER_SECOND: String(BYTES_A_SECOND),
        TRUSTED_PROXIES: '1',
      },
    })
  })
  afterAll(() => limited.close())

  test('counts by API key, and refuses before reading more', async () => {
    const statuses = []
    for (let each = 0; each < 3; each += 1) {
      const answer = await limited.call('/transactions/sign', { rawBody: text })
      statuses.push(answer.status)
      if (answer.status !== 429) continue
      expect(answer.json).toEqual({ error: 'Too many bytes by this caller; wait and try again.', code: 'rate_limited' })
      expect(Number(answer.headers.get('retry-after'))).toBeWithin(1, 11)
    }
    expect(statuses).toEqual([400, 400, 429])
    const unsent = await sendRaw({
      url: limited.baseUrl,
      parts: [
        `POST /transactions/sign HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}Authorization: Bearer ${limited.project.apiKey}\r\nX-WalletKit-Project-ID: ${limited.project.projectId}\r\nContent-Length: ${2 * MEGABYTE}\r\n\r\n`,
      ],
    })
    expect(outcome(unsent)).toEqual({ status: 429, code: 'rate_limited' })
    const other = await createProject(limited.ctx, { name: 'Other', actor: 'operator' })
    expect((await limited.as(other).call('/transactions/sign', { rawBody: text })).status).toBe(400)
  })

  /** By a new user, with a long body. @returns the status. */
  const signAsUser = async (address: string): Promise<number> => {
    const headers = { authorization: undefined, 'x-forwarded-for': '192.0.2.9' }
    const { access_token } = (await limited.post('/users/login-anonymously', {}, headers)).json
    const asUser = { authorization: `Bearer ${access_token}`, 'x-forwarded-for': address }
    return (await limited.call('/transactions/sign', { rawBody: text, headers: asUser })).status
  }

  test('counts by address for callers without a login, over all login methods', async () => {
    const small = padded({ no_such_field: 1 }, SMALL_BODY_BYTES)
    const from = (address: string, path: string) =>
      limited.call(path, { rawBody: small, headers: { authorization: undefined, 'x-forwarded-for': address } })
    const paths = ['/users/login-with-email', '/users/verify-login', '/users/refresh-token']
    const statuses = [await signAsUser('192.0.2.1'), await signAsUser('192.0.2.1')]
    const left = 10 * BYTES_A_SECOND - 2 * text.length
    const most = Math.floor(left / SMALL_BODY_BYTES)
    for (let sent = 0; sent < most; sent += 1) statuses.push((await from('192.0.2.1', paths[sent % 3] ?? '')).status)
    expect(new Set(statuses)).toEqual(new Set([400]))
    for (const path of paths) expect((await from('192.0.2.1', path)).status).toBe(429)
    expect((await from('192.0.2.2', '/users/verify-login')).status).toBe(400)
  })

  test('counts by address for users too, as anybody can create many', async () => {
    const statuses: number[] = []
    for (let each = 0; each < 3; each += 1) statuses.push(await signAsUser('192.0.2.10'))
    expect(statuses).toEqual([400, 400, 429])
  })
})

describe('a body in a content encoding', () => {
  test('is refused, and the answer says that none is accepted', async () => {
    const zipped = gzipSync(JSON.stringify({ network: 'Ethereum' }))
    for (const encoding of ['gzip', 'deflate, br', 'zstd', 'GZIP']) {
      const answer = await service.call('/wallets', {
        method: 'POST',
        rawBody: new Uint8Array(zipped),
        headers: { 'content-type': 'application/json', 'content-encoding': encoding },
      })
      expect({ status: answer.status, code: answer.json.code }).toEqual({
        status: 415,
        code: 'content_encoding_unsupported',
      })
      expect(answer.headers.get('accept-encoding')).toBe('identity')
    }
    const chunked = `${post('/wallets')}Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n`
    expect((await raw(chunked, '2\r\n{}\r\n0\r\n\r\n')).status).toBe(415)
  })

  test('is accepted if it is the identity', async () => {
    const wallet = { network: 'Ethereum', name: 'W', control_mode: 'developer', developer_secret: SECRET }
    expect((await service.post('/wallets', wallet, { 'content-encoding': 'identity' })).status).toBe(200)
  })
})

describe('a client that disconnects or breaks its body', () => {
  const counted = async (status: string): Promise<number> => {
    const { text } = await service.call('/metrics')
    return readMetrics(text).sum('http_request_duration_seconds_count', { route: '/wallets', method: 'POST', status })
  }

  longTest('is counted apart from our own errors', async () => {
    const beginnings = [
      `${post('/wallets')}Content-Length: 100\r\n\r\n{"a":`,
      `${post('/wallets')}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a`,
    ]
    const broken = [
      `${post('/wallets')}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\nno number\r\n`,
      `${post('/wallets')}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":1}\r\n0\r\n\r\n`,
    ]
    const before = { gone: await counted('499'), failed: await counted('500') }
    const { hostname, port } = new URL(service.baseUrl)
    for (const text of [...beginnings, ...broken]) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      await new Promise<void>((resolve) => socket.write(text, () => resolve()))
      if (beginnings.includes(text)) {
        // Authentication queries the database, so it is done once the next request is answered.
        await service.call('/wallets?network=Ethereum')
        socket.destroy()
      } else {
        socket.resume()
        await new Promise((resolve) => socket.on('close', resolve))
      }
    }
    const deadline = Date.now() + 10_000
    while ((await counted('499')) < before.gone + 4 && Date.now() < deadline) await Bun.sleep(10)
    expect({ gone: await counted('499'), failed: await counted('500') }).toEqual({ ...before, gone: before.gone + 4 })
  })
})
