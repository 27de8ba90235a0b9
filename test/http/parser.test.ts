// What the runtime's HTTP parser answers by itself, before the app sees a request. docs/operations.md describes it for
// operators ("In front of the API"); if a test fails after an update of the runtime, change that text too.

import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { commonService } from '../support/common-service.ts'

const service = await commonService()

/** Everything that the server sends until it closes the connection or has sent enough answers. */
const exchange = (text: string, answers = Number.POSITIVE_INFINITY): Promise<string> => {
  const { hostname, port } = new URL(service.baseUrl)
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(Number(port), hostname, () => socket.write(text))
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    if ((received.match(/HTTP\/1\.1 [0-9]{3}.*?\r\n\r\n\{[^}]*\}/gs) ?? []).length >= answers) socket.destroy()
  })
  socket.on('error', () => {})
  socket.on('close', () => resolve(received))
  return promise
}

const statuses = (received: string) =>
  [...received.matchAll(/HTTP\/1\.1 ([0-9]{3})/g)].map(([, status]) => Number(status))
const HOST = 'Host: localhost\r\n'
const EMPTY = /^HTTP\/1\.1 [0-9]{3} [^\r\n]*\r\nConnection: close\r\n\r\n$/

describe('the app answers', () => {
  test('methods that a path does not have, including HTTP extensions', async () => {
    for (const method of ['PROPFIND', 'QUERY', 'TRACE', 'CONNECT', 'LINK', 'PATCH']) {
      const received = await exchange(`${method} /healthz HTTP/1.1\r\n${HOST}\r\n`, 1)
      expect({ method, statuses: statuses(received) }).toEqual({ method, statuses: [405] })
      expect(received).toContain('"code":"method_not_allowed"')
      const nowhere = await exchange(`${method} /nowhere HTTP/1.1\r\n${HOST}\r\n`, 1)
      expect(nowhere).toContain('"code":"not_found"')
    }
  })

  test('pipelined requests, if each is answered at once', async () => {
    const get = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`
    expect(statuses(await exchange(get + get + get, 3))).toEqual([200, 200, 200])
  })

  test('a chunked body with chunk extensions', async () => {
    const head = `POST /wallets HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`
    expect(statuses(await exchange(`${head}2;a=b\r\n{}\r\n0\r\n\r\n`, 1))).toEqual([400])
  })
})

describe('the parser answers with only a status, and closes the connection', () => {
  const cases: readonly (readonly [name: string, text: string, status: number])[] = [
    ['more than 32 KiB of headers', `GET /healthz HTTP/1.1\r\n${HOST}X-A: ${'a'.repeat(33_000)}\r\n\r\n`, 431],
    ['more than 200 headers', `GET /healthz HTTP/1.1\r\n${HOST}${'X-A: b\r\n'.repeat(201)}\r\n`, 431],
    ['a path of more than 32 KiB', `GET /${'a'.repeat(33_000)} HTTP/1.1\r\n${HOST}\r\n`, 431],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['a method that is no token', `G@T /healthz HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['a path that is none', `GET * HTTP/1.1\r\n${HOST}\r\n`, 400],
    ['another version', `GET /healthz HTTP/3.0\r\n${HOST}\r\n`, 505],
    ['two lengths', `POST /wallets HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400],
    [
      'a length and chunks',
      `POST /wallets HTTP/1.1\r\n${HOST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'a transfer coding but chunks',
      `POST /wallets HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['a header that goes on in the next line', `GET /healthz HTTP/1.1\r\n${HOST}X-A: b\r\n c\r\n\r\n`, 400],
  ]
  for (const [name, text, status] of cases) {
    test(name, async () => {
      const received = await exchange(text)
      expect(statuses(received)).toEqual([status])
      expect(received).toMatch(EMPTY)
    })
  }
})

describe('the parser does not accept', () => {
  test('unknown methods: it closes the connection without an answer', async () => {
    for (const method of ['BREW', 'get']) expect(await exchange(`${method} /healthz HTTP/1.1\r\n${HOST}\r\n`)).toBe('')
  })

  test('trailers: it answers the request and closes the connection', async () => {
    const head = `POST /wallets HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`
    const next = `GET /healthz HTTP/1.1\r\n${HOST}\r\n`
    const received = await exchange(`${head}2\r\n{}\r\n0\r\nX-Checksum: 1\r\n\r\n${next}`)
    expect(statuses(received)).toEqual([400, 400])
    expect(received).toContain('"code":"project_required"')
  })

  test('a pipelined request behind one that is still running: it closes the connection without an answer to either', async () => {
    const list = `GET /wallets?network=Ethereum HTTP/1.1\r\n${HOST}Authorization: Bearer ${service.project.apiKey}\r\nX-WalletKit-Project-ID: ${service.project.projectId}\r\n\r\n`
    expect(await exchange(list + list)).toBe('')
  })
})
