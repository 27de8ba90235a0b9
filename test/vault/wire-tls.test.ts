// The wire by TLS: who is let in, and that the others cost nobody else anything.

import { expect, test } from 'bun:test'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect, createServer } from 'node:tls'
import { readTls, type TlsFiles } from '../../src/vault/client/tls-files.ts'
import { doorByTls, type TlsDoor } from '../../src/vault/rooms/wire/tls-door.ts'
import { certificatesIn } from '../support/certificates.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { afterTests } from '../support/shared.ts'
import { createWire, echo, lend, type Server, use } from './wire-support.ts'

const wire = createWire()
const USER = 'TLS: the certificate of the client'
const NO_HANDSHAKE = 'TLS: there was no handshake'

const folder = await mkdtemp(join(tmpdir(), 'wire-tls-'))
afterTests(() => rm(folder, { recursive: true, force: true }))
const made = certificatesIn(folder)
made.authority('ours')
made.authority('other')
const vault = await made.certificate('vault', { names: 'DNS:localhost', use: 'serverAuth' })
const api = await made.certificate('api', { names: 'DNS:api-1', use: 'clientAuth' })

const serverOf = (files = vault, changes: Partial<TlsDoor> = {}): Promise<Server> =>
  wire.server({
    door: doorByTls({
      host: '127.0.0.1',
      port: 0,
      files,
      clients: ['api-1', 'a.apis.example'],
      renewEveryMs: 50,
      ...changes,
    }),
  })

const portOf = ({ place }: Server): number => Number(new URL(place).port)
const placeOf = (server: Server): string => `tls://localhost:${portOf(server)}`

/** A connection that verifies the server, with what the test changes. */
const dialled = (server: Server, files: TlsFiles | null, changes: ConnectionOptions = {}) => {
  const { ca, ...own } = readTls(files ?? api)
  const to = { host: '127.0.0.1', port: portOf(server), servername: 'localhost' }
  const socket = connect({ ...to, ca, ...(files === null ? {} : own), ...changes })
  socket.on('error', () => {})
  return socket
}

const refusedAfter = async (server: Server, many: number) => {
  while (server.refusals.length < many) await server.happened()
  return server.refusals.slice(many - 1)
}

test('a client with an allowed name in its certificate is served, with large messages and open keys', async () => {
  const server = await serverOf()
  const client = wire.clientOf({ sockets: [placeOf(server)], tls: api })
  const bytes = new Uint8Array(isLong ? 3_000_000 : 500_000).fill(7)
  const asked = Array.from({ length: isLong ? 20 : 5 }, (_, index) => client.ask(echo, { text: String(index), bytes }))
  for (const [index, answer] of (await Promise.all(asked)).entries()) {
    expect([answer.text, Buffer.from(answer.bytes ?? []).equals(bytes)]).toEqual([String(index), true])
  }
  const { output, held } = await client.hold(lend, {})
  expect(await held.ask(use, { handle: output })).toBe('vault')
  expect(server.refusals).toEqual([])
})

const STRANGERS: readonly (readonly [what: string, why: string, files: () => Promise<TlsFiles | null>])[] = [
  ['no certificate', 'TLS: the client has no certificate', async () => null],
  [
    'one of another authority',
    `${USER} is of another authority`,
    () => made.certificate('foreign', { names: 'DNS:api-1', authority: 'other' }),
  ],
  ['one that has ended', `${USER} has expired`, () => made.certificate('old', { names: 'DNS:api-1', days: -1 })],
  [
    'one for servers',
    `${USER} is not for clients`,
    () => made.certificate('s', { names: 'DNS:api-1', use: 'serverAuth' }),
  ],
  ['another name', `${USER} has no name in VAULT_TLS_CLIENTS`, () => made.certificate('n', { names: 'DNS:api-2' })],
  [
    'the name only as its subject',
    `${USER} has no name in VAULT_TLS_CLIENTS`,
    () => made.certificate('c', { commonName: 'api-1' }),
  ],
  [
    'a wildcard that fits',
    `${USER} has no name in VAULT_TLS_CLIENTS`,
    () => made.certificate('w', { names: 'DNS:*.apis.example' }),
  ],
  [
    'two names in one',
    `${USER} has no name in VAULT_TLS_CLIENTS`,
    () => made.certificate('t', { names: 'URI:x//DNS:api-1' }),
  ],
]

/** In the suite one without a certificate, one of another authority, and one with another name. */
test.each(isLong ? STRANGERS : STRANGERS.filter((_, index) => [0, 1, 4].includes(index)))(
  'a client with %s is refused before any message, and others are not affected',
  async (_what, why, files) => {
    const server = await serverOf()
    const others = wire.clientOf({ sockets: [placeOf(server)], tls: api })
    const { output, held } = await others.hold(lend, {})
    const stranger = await wire.raw(dialled(server, await files()))
    stranger.hello()
    expect(await refusedAfter(server, 1)).toEqual([{ why, name: '127.0.0.1' }])
    await stranger.over
    expect(await stranger.received(0)).toEqual([])
    expect(await held.ask(use, { handle: output })).toBe('vault')
    expect([server.ended, server.failures]).toEqual([[], []])
  },
)

test('TLS 1.2, plain text and silence are refused', async () => {
  const server = await serverOf()
  const old = dialled(server, api, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })
  expect(await refusedAfter(server, 1)).toEqual([{ why: NO_HANDSHAKE, name: '127.0.0.1' }])
  // Silence ends after the five seconds that a handshake may take.
  const silence = isLong ? [null] : []
  for (const [index, text] of ['GET / HTTP/1.1\r\n\r\n', '\0\0\0\x05hello', ...silence].entries()) {
    const socket = createConnection(portOf(server), '127.0.0.1')
    const over = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
    // It is read, so that the end of the connection is noticed.
    socket.resume()
    if (text !== null) socket.write(text)
    expect(await refusedAfter(server, index + 2)).toEqual([{ why: NO_HANDSHAKE, name: '127.0.0.1' }])
    await over
  }
  old.destroy()
  const client = wire.clientOf({ sockets: [placeOf(server)], tls: api })
  expect(await client.ask(echo, { text: 'a' })).toEqual({ text: 'a' })
})

test('connections beyond the limit are refused, and existing ones continue', async () => {
  const server = await serverOf(vault, { connectionsMax: 3 })
  const client = wire.clientOf({ sockets: [placeOf(server)], tls: api })
  await client.ask(echo, { text: 'a' })
  const idle = Array.from({ length: 3 }, () => createConnection(portOf(server), '127.0.0.1').on('error', () => {}))
  expect(await refusedAfter(server, 1)).toEqual([{ why: 'TLS: there are too many connections', name: '127.0.0.1' }])
  expect(await client.ask(echo, { text: 'b' })).toEqual({ text: 'b' })
  for (const socket of idle) socket.destroy()
})

// Only Linux has the address 127.0.0.2.
test.skipIf(process.platform !== 'linux')(
  'one address cannot take the connections of others, and has its own again when they have ended',
  async () => {
    const server = await serverOf(vault, { ofOneAddressMax: 2 })
    const socketOf = () => createConnection(portOf(server), '127.0.0.1').on('error', () => {})
    const [first, second] = [socketOf(), socketOf()]
    const others = Array.from({ length: 3 }, socketOf)
    const why = 'TLS: there are too many connections of one address'
    await refusedAfter(server, 3)
    expect(server.refusals).toEqual(Array(3).fill({ why, name: '127.0.0.1' }))
    const socket = createConnection({ port: portOf(server), host: '127.0.0.1', localAddress: '127.0.0.2' })
    const elsewhere = await wire.raw(dialled(server, api, { socket }))
    elsewhere.hello()
    expect(await elsewhere.received(1)).toEqual([{ protocol: 1, name: 'vault' }])
    // Without a handshake they end after five seconds, and so make room.
    if (!isLong) for (const each of [first, second]) each.write('no handshake')
    expect(await refusedAfter(server, 5)).toEqual([{ why: NO_HANDSHAKE, name: '127.0.0.1' }])
    const client = wire.clientOf({ sockets: [placeOf(server)], tls: api })
    expect(await client.ask(echo, { text: 'a' })).toEqual({ text: 'a' })
    expect(server.refusals.slice(3)).toEqual(Array(2).fill({ why: NO_HANDSHAKE, name: '127.0.0.1' }))
    for (const each of [first, second, ...others]) each.destroy()
  },
)

test('bad input or a cut-off message ends only its connection, and the audit has the name in the certificate', async () => {
  const server = await serverOf()
  const others = wire.clientOf({ sockets: [placeOf(server)], tls: api })
  const { output, held } = await others.hold(lend, {})
  for (const [index, why] of ['the connection ended within a message', 'a method is unknown'].entries()) {
    const raw = await wire.raw(dialled(server, api))
    raw.hello()
    await raw.received(1)
    if (index === 0) raw.socket.end(Buffer.alloc(2))
    else raw.send([1, 'secret', {}])
    expect(await refusedAfter(server, index + 1)).toEqual([{ why, name: 'api-1' }])
    await raw.over
  }
  expect(await held.ask(use, { handle: output })).toBe('vault')
})

test('a client sends nothing to a server with another name or authority', async () => {
  const foreign = { names: 'DNS:localhost', authority: 'other' } as const
  const cases = [
    ['foreign', foreign, 'unable to verify the first certificate'],
    ['old', { names: 'DNS:localhost', days: -1 }, 'certificate has expired'],
    ['elsewhere', { names: 'DNS:elsewhere' }, "Hostname/IP does not match certificate's altnames"],
  ] as const
  for (const [name, of, why] of someOf(cases, 2)) {
    const server = await serverOf(await made.certificate(name, of))
    const client = wire.clientOf({ sockets: [placeOf(server)], tls: api })
    expect(await client.unreached()).toContain(why)
    expect(client.changes()).toEqual([])
    client.close()
  }
  // By an address that the certificate does not name.
  const server = await serverOf()
  const client = wire.clientOf({ sockets: [`tls://127.0.0.1:${portOf(server)}`], tls: api })
  expect(await client.unreached()).toContain("Hostname/IP does not match certificate's altnames")
})

test('a client sends nothing to a server with TLS 1.2', async () => {
  const heard: Buffer[] = []
  const { ca, ...own } = readTls(vault)
  const server = createServer({ ...own, ca, maxVersion: 'TLSv1.2' }, (socket) =>
    socket.on('data', (b) => heard.push(b)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const client = wire.clientOf({ sockets: [`tls://localhost:${port}`], tls: api })
  expect(await client.unreached()).toMatch(/protocol.?version/i)
  expect(heard).toEqual([])
  client.close()
  server.close()
})

test('renewed files are used for new connections, and files that do not fit together are not used', async () => {
  const files = await made.certificate('renewed', { names: 'DNS:localhost' })
  await made.certificate('next', { names: 'DNS:localhost' })
  const server = await serverOf(files)
  const others = wire.clientOf({ sockets: [placeOf(server)], tls: api })
  const { output, held } = await others.hold(lend, {})
  const serial = () =>
    new Promise<string | undefined>((resolve) => {
      const socket = dialled(server, api)
      socket.once('secureConnect', () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber)
        socket.destroy()
      })
    })
  const first = await serial()
  await made.replace('renewed', 'next')
  while ((await serial()) === first);
  await made.certificate('alone', { names: 'DNS:localhost' })
  const second = await serial()
  server.failures.splice(0)
  await rename(made.at('alone.key'), files.keyFile)
  while (server.failures.length === 0) await serial()
  expect(String(server.failures[0])).toContain('does not belong to the certificate')
  expect(await serial()).toBe(second)
  expect(await held.ask(use, { handle: output })).toBe('vault')
})

longTest('the certificates of docs/deployment.md are accepted', async () => {
  const page = await Bun.file(new URL('../../docs/deployment.md', import.meta.url)).text()
  const [, block = ''] = /```sh\n(mkdir -p strongroom-ca[\s\S]*?)```/.exec(page) ?? []
  expect(Bun.spawnSync(['bash', '-e', '-c', block], { cwd: folder }).exitCode).toBe(0)
  const at = (name: string) => join(folder, 'strongroom-ca', name)
  const filesOf = (name: string) => ({ certFile: at(`${name}.crt`), keyFile: at(`${name}.key`), caFile: at('ca.crt') })
  const server = await serverOf(filesOf('vault.internal'), { clients: ['api-1.internal'] })
  const named = { servername: 'vault.internal' }
  const raw = await wire.raw(dialled(server, filesOf('api-1.internal'), named))
  raw.hello()
  expect(await raw.received(1)).toHaveLength(1)
  await wire.raw(dialled(server, filesOf('db.internal'), named))
  expect((await refusedAfter(server, 1))[0]?.why).toBe(`${USER} is not for clients`)
})

test('a port in use is reported in one sentence', async () => {
  const port = portOf(await serverOf())
  await expect(serverOf(vault, { port })).rejects.toThrow(
    `cannot listen at VAULT_LISTEN, 127.0.0.1:${port} (EADDRINUSE)`,
  )
})

test('files that cannot be used are refused with a sentence', async () => {
  const files = await made.certificate('mine', { names: 'DNS:api-1' })
  expect(() => readTls({ ...files, keyFile: api.keyFile })).toThrow('does not belong to the certificate')
  expect(() => readTls({ ...files, certFile: files.keyFile })).toThrow('must be a PEM file with a certificate')
  expect(() => readTls({ ...files, caFile: `${folder}/none` })).toThrow(
    'must be a PEM file with the certificate of an auth',
  )
  Bun.spawnSync(['chmod', '640', files.keyFile])
  expect(() => readTls(files)).toThrow('only its owner may read it')
})
