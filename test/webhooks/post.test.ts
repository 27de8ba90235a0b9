// Requests to URLs that callers wrote: where they may go, and what a receiver can do to the sender.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { post } from '../../src/events/webhooks/post.ts'
import { listedHosts } from '../../src/platform/environment/hosts.ts'
import type { Outgoing } from '../../src/platform/process/outgoing.ts'
import { certificatesIn } from '../support/certificates.ts'
import { startDns } from '../support/dns.ts'

const listed = (...words: readonly string[]) => {
  const list = listedHosts(words)
  if (list === null) throw new Error('not a list')
  return list
}
const NOTHING = listed()
const LOOPBACK = listed('127.0.0.0/8')

const servers: Server[] = []
const cleanup: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const server of servers) server.close()
  for (const end of cleanup) await end()
})

const portOf = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  servers.push(server)
  return (server.address() as AddressInfo).port
}
const receiver = (answer: RequestListener) => portOf(createServer(answer))

const countingReceiver = async () => {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections += 1
    socket.destroy()
  })
  return { port: await portOf(server), connections: () => connections }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

type Sending = Omit<Outgoing, 'config'> & { readonly listed?: typeof LOOPBACK; readonly timeoutMs?: number }

const send = (url: string, { listed = LOOPBACK, timeoutMs, ...outgoing }: Sending = {}) =>
  post(
    { config: { environment: 'testnet', outgoingHosts: listed }, ...outgoing },
    { url, headers: { 'content-type': 'application/json' }, body: '{"a":"ü"}' },
    timeoutMs,
  )

describe('a receiver', () => {
  test('gets the body, the host of its URL and nothing of another connection', async () => {
    const seen: unknown[] = []
    const port = await receiver(async (request, response) => {
      const { host, connection } = request.headers
      seen.push([request.method, request.url, host, connection, await bodyOf(request)])
      response.writeHead(204).end()
    })
    expect(await send(`http://127.0.0.1:${port}/a/b?c=d`)).toEqual({ failure: null, status: 204, excerpt: null })
    expect(seen).toEqual([['POST', '/a/b?c=d', `127.0.0.1:${port}`, 'close', '{"a":"ü"}']])
  })

  test('that answers with an error: its status, and one line of its text', async () => {
    const port = await receiver((_, response) => {
      response.writeHead(500).end(`no\r\n\u001b[31mplace${'.'.repeat(300)}`)
    })
    const { failure, status, excerpt } = await send(`http://127.0.0.1:${port}/`)
    expect([failure, status, excerpt?.slice(0, 12), excerpt?.length]).toEqual(['status', 500, 'no [31mplace', 200])
  })

  test('that refuses and says when to come again: in how many seconds', async () => {
    for (const status of [307, 413, 429, 503]) {
      const port = await receiver((_, response) => response.writeHead(status, { 'Retry-After': '60' }).end())
      expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ status, retryAfterSeconds: 60 })
    }
    const taken = await receiver((_, response) => response.writeHead(200, { 'Retry-After': '60' }).end())
    expect(await send(`http://127.0.0.1:${taken}/`)).toEqual({ failure: null, status: 200, excerpt: null })
  })

  test('that redirects is not followed, not even to an allowed address', async () => {
    let followed = 0
    const target = await receiver((_, response) => {
      followed += 1
      response.end()
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const port = await receiver((_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${target}/` }).end()
      })
      expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ failure: 'redirected', status })
    }
    expect(followed).toBe(0)
  })

  test('that sends without end is cut off', async () => {
    const closed = Promise.withResolvers<number>()
    const port = await receiver((_, response) => {
      let sent = 0
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000))) sent += 10_000
      }
      response.writeHead(200)
      response.on('drain', more)
      response.on('close', () => closed.resolve(sent))
      more()
    })
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ failure: null, status: 200 })
    expect(await closed.promise).toBeGreaterThan(0)
  })

  test('that accepts and says nothing ends at the timeout', async () => {
    const closed = Promise.withResolvers<void>()
    const port = await portOf(createTcpServer((socket) => socket.on('close', () => closed.resolve()).resume()))
    expect(await send(`http://127.0.0.1:${port}/`, { timeoutMs: 100 })).toEqual({
      failure: 'timed_out',
      status: null,
      excerpt: null,
    })
    await closed.promise
  })

  test('that drips its headers ends at the timeout', async () => {
    const port = await portOf(
      createTcpServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket.write('X-More: x\r\n'), 20)
        socket.on('error', () => {}).on('close', () => clearInterval(timer))
      }),
    )
    expect(await send(`http://127.0.0.1:${port}/`, { timeoutMs: 100 })).toMatchObject({ failure: 'timed_out' })
  })

  test('that has answered and does not end has taken the message', async () => {
    const port = await receiver((_, response) => void response.writeHead(202).write('wait'))
    expect(await send(`http://127.0.0.1:${port}/`, { timeoutMs: 300 })).toMatchObject({ failure: null, status: 202 })
  })

  test('that speaks no HTTP, or is not there', async () => {
    const port = await portOf(createTcpServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH\r\n')))
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({ failure: 'connection_failed' })
    expect(await send('http://127.0.0.1:1/')).toMatchObject({ failure: 'connection_failed' })
  })
})

describe('an address that is not allowed', () => {
  test('is not connected to, however the URL writes it', async () => {
    const { port, connections } = await countingReceiver()
    const hosts = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f.1',
      '017700000001',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'localhost',
    ]
    for (const host of [...hosts, '127.0.0.1.']) {
      for (const scheme of ['http', 'https']) {
        const posted = await send(`${scheme}://${host}:${port}/`, { listed: NOTHING })
        expect([host, posted.failure]).toEqual([host, 'address_not_allowed'])
      }
    }
    expect(connections()).toBe(0)
  })

  test('a public address is reached by https alone', async () => {
    const resolve = async () => [{ address: '192.88.98.1' }]
    expect(await send('http://example.com/', { listed: NOTHING, resolve })).toMatchObject({
      failure: 'address_not_allowed',
    })
  })

  test('a name that leads there is not connected to, nor one that leads there at the second question', async () => {
    const { port, connections } = await countingReceiver()
    const inside = await startDns(['127.0.0.1'])
    cleanup.push(inside.close)
    const posted = await send(`https://hooks.example.com:${port}/`, { listed: NOTHING, resolve: inside.resolve })
    expect([posted.failure, inside.asked()]).toEqual(['address_not_allowed', 1])

    // The first answer is an allowed address where nobody listens; who asks again, would reach the receiver.
    const changing = await startDns(['127.0.0.9', '127.0.0.1'])
    cleanup.push(changing.close)
    const listedFirst = listed('127.0.0.9')
    const sent = await send(`http://hooks.example.com:${port}/`, { listed: listedFirst, resolve: changing.resolve })
    expect([sent.failure, changing.asked()]).toEqual(['connection_failed', 1])
    const again = await send(`http://hooks.example.com:${port}/`, { listed: listedFirst, resolve: changing.resolve })
    expect([again.failure, changing.asked(), connections()]).toEqual(['address_not_allowed', 2, 0])
  })

  test('of several answers only an allowed one is used', async () => {
    const port = await receiver((request, response) => response.end(String(request.headers.host)))
    const resolve = async () => [{ address: '10.0.0.1' }, { address: '::1' }, { address: '127.0.0.1' }]
    expect(await send(`http://hooks.example.com:${port}/`, { resolve })).toMatchObject({ failure: null, status: 200 })
  })

  test('a name that does not exist', async () => {
    expect(await send('https://hooks.invalid/', { listed: NOTHING })).toMatchObject({ failure: 'name_not_found' })
  })
})

describe('by TLS', () => {
  let folder: string
  let certificates: ReturnType<typeof certificatesIn>
  let ca: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-webhooks-'))
    cleanup.push(() => rm(folder, { recursive: true, force: true }))
    certificates = certificatesIn(folder)
    certificates.authority('ours')
    certificates.authority('others')
    ca = await readFile(certificates.at('ours.crt'), 'utf8')
  })

  const names: (string | undefined)[] = []
  const secureReceiver = async (name: string, saying: Parameters<typeof certificates.certificate>[1]) => {
    const { certFile, keyFile } = await certificates.certificate(name, saying)
    const [cert, key] = [await readFile(certFile), await readFile(keyFile)]
    const server = createTlsServer({ cert, key }, (_, response) => response.end())
    server.on('secureConnection', (socket) => names.push(socket.servername || undefined))
    return portOf(server)
  }
  const resolve = async () => [{ address: '127.0.0.1' }]

  test('the certificate must be for the host of the URL, not for the address', async () => {
    const port = await secureReceiver('good', { names: 'DNS:hooks.example.com' })
    expect(await send(`https://hooks.example.com:${port}/`, { resolve, ca })).toMatchObject({ failure: null })
    expect(names).toEqual(['hooks.example.com'])
    for (const host of ['other.example.com', '127.0.0.1']) {
      const posted = await send(`https://${host}:${port}/`, { resolve, ca })
      expect([host, posted.failure]).toEqual([host, 'certificate_refused'])
    }
    const byAddress = await secureReceiver('address', { names: 'IP:127.0.0.1' })
    expect(await send(`https://127.0.0.1:${byAddress}/`, { ca })).toMatchObject({ failure: null })
    expect(await send(`https://hooks.example.com:${byAddress}/`, { resolve, ca })).toMatchObject({
      failure: 'certificate_refused',
    })
  })

  test('it must be valid, and of a known authority', async () => {
    const ended = await secureReceiver('ended', { names: 'DNS:hooks.example.com', days: -1 })
    const foreign = await secureReceiver('foreign', { names: 'DNS:hooks.example.com', authority: 'others' })
    for (const port of [ended, foreign]) {
      const posted = await send(`https://hooks.example.com:${port}/`, { resolve, ca })
      expect(posted).toMatchObject({ failure: 'certificate_refused', status: null })
    }
    const own = await secureReceiver('unknown', { names: 'DNS:hooks.example.com' })
    expect(await send(`https://hooks.example.com:${own}/`, { resolve })).toMatchObject({
      failure: 'certificate_refused',
    })
  })
})
