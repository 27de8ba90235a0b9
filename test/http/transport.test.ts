// Unusual HTTP from clients, independent of any endpoint.

import { describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { commonService } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import { sendRaw } from '../support/raw-http.ts'
import { startService } from '../support/service.ts'

const MEGABYTE = 1024 * 1024
const SECRET = 'testnet-secret'

const service = await commonService()

const authentication = () =>
  `Authorization: Bearer ${service.project.apiKey}\r\nX-WalletKit-Project-ID: ${service.project.projectId}\r\n`

const JSON_BODY = 'Content-Type: application/json\r\n'

const raw = (...parts: readonly (string | Uint8Array)[]) => sendRaw({ url: service.baseUrl, parts })

const refusal = (answer: { readonly status: number; readonly body: string }) => ({
  status: answer.status,
  code: JSON.parse(answer.body).code,
})

describe('the target of a request', () => {
  test('may have a host name of any length', async () => {
    for (const host of ['x', 'api', 'localhost', 'strongroom.internal.example.com:3000']) {
      const found = await raw(`GET /wallets?network=Ethereum HTTP/1.1\r\nHost: ${host}\r\n${authentication()}\r\n`)
      expect({ host, status: found.status }).toEqual({ host, status: 200 })
    }
  })

  test('must match a whole path, whatever the host', async () => {
    for (const host of ['x', 'localhost']) {
      const answer = await raw(`GET ///x/healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
      expect(refusal(answer)).toEqual({ status: 404, code: 'not_found' })
    }
  })

  test('is refused with an invalid host, without internal details', async () => {
    for (const host of ['a b', '[::', 'a/b', '%', 'x/wallets?', 'x/wallets#']) {
      for (const path of ['/healthz', '/nowhere', '/aaaaaaaa/wallets']) {
        const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${authentication()}\r\n`)
        expect(refusal(answer)).toEqual({ status: 400, code: 'invalid_input' })
        expect(answer.head).toContain('application/json')
        expect(Object.keys(JSON.parse(answer.body)).sort()).toEqual(['code', 'error'])
      }
    }
  })
})

describe('the caller is checked first', () => {
  test('before the body is checked', async () => {
    const headers = { authorization: undefined }
    for (const rawBody of ['{', '{"a":1,"a":2}', '[]']) {
      expect((await service.call('/wallets', { rawBody, headers })).json.code).toBe('unauthorized')
    }
    const form = { ...headers, 'content-type': 'text/plain' }
    expect((await service.call('/wallets', { rawBody: 'x', headers: form })).json.code).toBe('unauthorized')
  })

  test('before any of the body has arrived', async () => {
    const answer = await raw(`POST /wallets HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}Content-Length: 1000\r\n\r\n{`)
    expect(refusal(answer)).toEqual({ status: 400, code: 'project_required' })
  })

  test('and refused if an authentication header comes twice', async () => {
    const list = 'GET /wallets?network=Ethereum HTTP/1.1\r\nHost: localhost\r\n'
    const twoTokens = await raw(`${list}${authentication()}Authorization: Bearer ${service.project.apiKey}\r\n\r\n`)
    expect(refusal(twoTokens)).toEqual({ status: 401, code: 'unauthorized' })
    const project = `X-WalletKit-Project-ID: ${service.project.projectId}\r\n`
    expect(refusal(await raw(`${list}${authentication()}${project}\r\n`))).toEqual({
      status: 400,
      code: 'project_required',
    })
  })

  test('but not where no login is needed: a bearer token there is ignored', async () => {
    const headers = { authorization: 'Bearer nonsense', 'x-walletkit-project-id': 'nonsense' }
    expect((await service.call('/healthz', { headers })).status).toBe(200)
    expect((await service.call('/openapi/json', { headers })).status).toBe(200)
    expect((await service.call('/metadata/x.json', { headers })).json.code).toBe('not_found')
  })

  longTest('with one request limit for all resources', async () => {
    const limited = await startService({ variables: { RATE_LIMIT_PER_SECOND: '4' } })
    try {
      const paths = [
        '/wallets?network=Vara',
        '/activity?network=Vara&wallet_address=x',
        '/transactions/status-by-id?id=x',
      ]
      const answers = await Promise.all([...paths, ...paths, ...paths].map((path) => limited.call(path)))
      expect(answers.filter((answer) => answer.status === 429).length).toBe(5)
    } finally {
      await limited.close()
    }
  })
})

describe('bodies', () => {
  const chunked = `POST /wallets HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}Transfer-Encoding: chunked\r\n`

  test('may be chunked and slow', async () => {
    const body = JSON.stringify({ network: 'Ethereum', name: 'W', control_mode: 'developer', developer_secret: SECRET })
    const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`)
    const answer = await raw(`${chunked}${authentication()}\r\n`, ...chunks, '0\r\n\r\n')
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body).name).toBe('W')
  })

  for (const [name, megabytes] of [
    ['over our limit', 5],
    ['over what is read to the end', 20],
  ] as const) {
    test(`${name} get an answer that the client can read, declared or chunked`, async () => {
      const piece = Buffer.alloc(MEGABYTE, ' ')
      const pieces = Array<Uint8Array>(megabytes).fill(piece)
      const declared = `POST /wallets HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}${authentication()}Content-Length: ${megabytes * MEGABYTE}\r\n\r\n`
      expect(refusal(await raw(declared, ...pieces))).toEqual({ status: 413, code: 'body_too_large' })
      const chunk = Buffer.concat([Buffer.from(`${MEGABYTE.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
      const answer = await raw(`${chunked}${authentication()}\r\n`, ...pieces.map(() => chunk), '0\r\n\r\n')
      expect(refusal(answer)).toEqual({ status: 413, code: 'body_too_large' })
    })
  }

  test('that are cut off do not affect other clients', async () => {
    const half = `POST /wallets HTTP/1.1\r\nHost: localhost\r\n${JSON_BODY}${authentication()}Content-Length: 100\r\n\r\n{"a":`
    const { connect } = await import('node:net')
    const { hostname, port } = new URL(service.baseUrl)
    for (let each = 0; each < 5; each += 1) {
      const socket = connect(Number(port), hostname)
      await new Promise<void>((resolve) => socket.write(half, () => resolve()))
      socket.destroy()
    }
    expect((await service.call('/wallets?network=Ethereum')).status).toBe(200)
  })

  test('nested too deeply are refused, even behind a duplicate key', async () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    for (const rawBody of [`{"a":${deep}}`, `{"a":${deep},"a":1}`]) {
      const answer = await service.call('/transactions/sign', { rawBody })
      expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 400, code: 'invalid_input' })
    }
  })

  test('with an unknown field get an error that does not repeat a dangerous name', async () => {
    for (const name of ['493817', `${'x'.repeat(70)}`, 'a\nb']) {
      const body = await service.call('/wallets', { body: { [name]: '\u0000' } })
      expect(body.json.error).toBe('A field must not contain the NUL character.')
      const query = await service.call(`/wallets?network=Ethereum&${encodeURIComponent(name)}=%00`)
      expect(query.json.error).toBe('A field must not contain the NUL character.')
    }
  })
})

describe('methods', () => {
  test('HEAD answers like GET, without a body', async () => {
    for (const path of ['/healthz', '/wallets?network=Ethereum', '/openapi']) {
      const answer = await service.call(path, { method: 'HEAD' })
      expect({ path, status: answer.status, text: answer.text }).toEqual({ path, status: 200, text: '' })
    }
    expect((await service.call('/nowhere', { method: 'HEAD' })).status).toBe(404)
  })

  test('that a path does not have get an answer with those that it has', async () => {
    for (const [path, method, allow] of [
      ['/wallets', 'PUT', 'GET, POST'],
      ['/wallets/', 'PATCH', 'GET, POST'],
      ['/transactions/sign', 'GET', 'POST'],
      ['/metadata/x.json', 'DELETE', 'GET'],
      ['/users/verify-login', 'GET', 'POST'],
      ['/openapi/json', 'POST', 'GET'],
    ] as const) {
      const answer = await service.call(path, { method })
      expect({ path, status: answer.status, allow: answer.headers.get('allow') }).toEqual({ path, status: 405, allow })
      expect(answer.json.code).toBe('method_not_allowed')
    }
  })

  test('every answer has its own request id', async () => {
    const ids = await Promise.all(['/healthz', '/nowhere', '/wallets'].map((path) => service.call(path)))
    const seen = new Set(ids.map((answer) => answer.headers.get('x-request-id')))
    expect(seen.size).toBe(3)
    expect(seen.has(null)).toBe(false)
  })

  test('a request keeps its own id, unless that is no token', async () => {
    const idOf = async (id: string) =>
      (await service.call('/nowhere', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
    const tokens = ['9f1c2a', '0b5a9c1e-2f4d-4a6b-8c7d-9e0f1a2b3c4d', 'Root=1-67891233/abc+def==', 'a'.repeat(128)]
    for (const token of tokens) expect(await idOf(token)).toBe(token)
    for (const other of ['a b', 'a,b', '"a"', '{a}', 'ä', 'a'.repeat(129)]) {
      expect(await idOf(other)).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/)
    }
  })
})

describe('when the database is unavailable', () => {
  test('waiting requests are told to try again, and later ones are served', async () => {
    const sql = postgres(service.database.url, { max: 2 })
    try {
      for (const table of ['api_keys', 'wallets']) {
        await sql.begin(async (tx) => {
          await tx.unsafe(`lock table ${table} in access exclusive mode`)
          const waiting = service.call('/wallets?network=Ethereum')
          const blocked = () => sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = ${service.database.name} and application_name = 'strongroom-test' and wait_event_type = 'Lock'`
          while ((await blocked()).length === 0) await Bun.sleep(5)
          const answer = await waiting
          expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 503, code: 'unavailable' })
        })
        const next = await service.call('/wallets?network=Ethereum')
        expect(next.status).toBe(200)
      }
    } finally {
      await sql.end()
    }
  })
})
