// Which URLs may be asked, and what is made of an answer. test/webhooks/post.test.ts has what a server can do to who
// asks.

import { afterAll, describe, expect, test } from 'bun:test'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { listedHosts } from '../../src/platform/environment/hosts.ts'
import { type Outgoing, readJsonFrom, refusalOfUrl, sendOutgoing } from '../../src/platform/process/outgoing.ts'

const rules = (environment: 'testnet' | 'mainnet', ...words: readonly string[]): Outgoing['config'] => {
  const outgoingHosts = listedHosts(words)
  if (outgoingHosts === null) throw new Error('not a list')
  return { environment, outgoingHosts }
}

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

const serve = async (answer: RequestListener): Promise<number> => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  servers.push(server)
  return (server.address() as AddressInfo).port
}

const https = 'begins with https://'
const unlisted = 'that OUTGOING_ALLOWED_HOSTS lists'

test.each([
  ['mainnet', [], 'https://id.example.com/a?b=c', null],
  ['mainnet', [], 'http://id.example.com', https],
  ['mainnet', [], 'https://10.0.0.1', unlisted],
  ['mainnet', [], 'https://id.internal', unlisted],
  ['mainnet', [], 'https://localhost', unlisted],
  ['mainnet', [], 'https://[::1]', unlisted],
  ['mainnet', ['id.internal'], 'https://id.internal', null],
  ['mainnet', ['id.internal'], 'https://ID.internal.', null],
  ['mainnet', ['id.internal'], 'https://10.0.0.1', unlisted],
  ['mainnet', ['id.internal'], 'http://id.internal', https],
  ['mainnet', ['10.0.0.0/8'], 'https://10.1.2.3', null],
  ['mainnet', ['10.0.0.0/8'], 'http://10.1.2.3', https],
  ['mainnet', ['127.0.0.1', '::1'], 'http://127.0.0.1:9000', null],
  ['mainnet', ['127.0.0.1', '::1'], 'http://[::1]:9000', null],
  ['mainnet', ['127.0.0.1', '::1'], 'http://127.0.0.2:9000', https],
  ['testnet', ['id.internal'], 'http://id.internal', null],
  ['testnet', ['10.0.0.0/8'], 'http://10.1.2.3', null],
  ['testnet', ['10.0.0.0/8'], 'http://11.1.2.3', https],
] as const)('on %s, with %p listed, %s', (environment, words, url, right) => {
  const refusal = refusalOfUrl(rules(environment, ...words), url)
  if (right === null) expect(refusal).toBeNull()
  else expect(refusal).toContain(right)
})

test('a listed name may lead anywhere, another one only to listed addresses', async () => {
  const port = await serve((_, response) => void response.end('{}'))
  const ask = (config: Outgoing['config'], host: string) =>
    readJsonFrom(
      { config, resolve: async () => [{ address: '127.0.0.1' }] },
      { url: `http://${host}:${port}/`, maxBytes: 10, timeoutMs: 5_000 },
    ).catch(String)
  expect(await ask(rules('testnet', 'id.internal'), 'id.internal')).toEqual({})
  expect(await ask(rules('testnet', '127.0.0.1'), 'id.internal')).toEqual({})
  expect(await ask(rules('testnet', 'id.internal'), 'other.example.com')).toContain('leads to an address')
})

test('where one address of a host takes no connection the next is tried', async () => {
  const port = await serve((request, response) => void response.end(`"${request.headers.host}"`))
  const resolve = async () => [{ address: '127.0.0.9' }, { address: '127.0.0.1' }]
  const url = `http://id.internal:${port}/`
  const outgoing = { config: rules('testnet', 'id.internal'), resolve }
  expect(await readJsonFrom(outgoing, { url, maxBytes: 100, timeoutMs: 5_000 })).toBe(`id.internal:${port}`)
})

describe('an answer', () => {
  const outgoing = { config: rules('testnet', '127.0.0.1') }
  const limits = { maxBytes: 20, timeoutMs: 500 }

  test('has its status, its headers and its text', async () => {
    const port = await serve((request, response) => {
      response.writeHead(400, { 'x-method': String(request.method) })
      request.pipe(response)
    })
    const url = `http://127.0.0.1:${port}/`
    const answer = await sendOutgoing(outgoing, { url, method: 'POST', body: 'grüezi', ...limits })
    expect(answer).toMatchObject({ status: 400, text: 'grüezi', missing: null, headers: { 'x-method': 'POST' } })
  })

  test.each<[string, RequestListener]>([
    ['answered with status 404', (_, response) => void response.writeHead(404).end('{}')],
    ['answered with status 302', (_, response) => void response.writeHead(302, { location: '/b' }).end()],
    ['answered with more than 20 bytes', (_, response) => void response.end(JSON.stringify('x'.repeat(19)))],
    ['The answer is not JSON', (_, response) => void response.end('<html>')],
    ['did not end its answer in time', (_, response) => void response.write('{}')],
    ['did not answer in time', () => {}],
    [
      'compressed its answer',
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}')),
    ],
    [
      'broke off its answer',
      (_, response) => {
        response.writeHead(200, { 'content-length': 10 }).write('{}')
        setTimeout(() => response.destroy(), 20)
      },
    ],
  ])('that is no document: %s', async (words, answer) => {
    const url = `http://127.0.0.1:${await serve(answer)}/`
    const timeoutMs = words.endsWith('in time') ? 100 : limits.timeoutMs
    const outcome = await readJsonFrom(outgoing, { url, ...limits, timeoutMs }).catch(String)
    expect(outcome).toContain(words)
  })
})
