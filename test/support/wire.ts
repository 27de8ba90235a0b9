// Proxies for the connections of a process: PostgreSQL's protocol, JSON-RPC over HTTP, and the vault's socket. They
// pass on message by message. At any message the process can be killed, or PostgreSQL: before the other side receives
// it or after it has answered. A request to a node, or its answer, can also be lost; the client then gets 502.
//
// A message is what makes the other side do something: for PostgreSQL an executed statement (with its Parse, Bind and
// Describe; the login does not count), for a node one HTTP request (a batch is one), for the vault one request.

import { createConnection, createServer, type Socket } from 'node:net'
import { createFrameReader } from '../../src/vault/client/frames.ts'
import { isAnswer, isRequest, PROGRESS } from '../../src/vault/client/protocol.ts'
import { byTcp } from './postgres.ts'

export type Wire = 'db' | 'node' | 'vault'

/** `before`: the message is not passed on. `after`: it is passed on, and its answer is not. */
export type Moment = 'before' | 'after'

export type Tap = {
  /**
   * Called with every message before it is passed on. @returns the moment at which somebody is killed; null to pass it.
   */
  readonly heard: (wire: Wire, kind: string) => Moment | null
  /** Called at that moment. When it resolves, a connection to a database is closed, and a message to a node goes on. */
  readonly kill: () => Promise<void>
  /** Called with every message to a node. @returns the moment at which it is lost; null to pass it. */
  readonly loses: (kind: string) => Moment | null
}

/** A short name of a statement: `select transactions for update`, `commit (add_strongroom_job)`. */
export const kindOfQuery = (query: string): string => {
  const text = query.replaceAll('"', '').replace(/\s+/g, ' ').trim().toLowerCase()
  const verb = /^[a-z]+/.exec(text)?.[0] ?? '?'
  const about =
    /^select (?:public|graphile_worker|pg_catalog)?\.?([a-z_]+)\(/.exec(text)?.[1] ??
    /\b(?:from|into|update|join) (?:only )?([a-z_.]+)/.exec(text)?.[1]?.replace(/^.*\./, '') ??
    ''
  return `${verb} ${about}${/ for (?:no key )?update/.test(text) ? ' for update' : ''}`.trim()
}

/** Splits a stream into frames: a type byte, a length of four bytes that includes itself, and a body. */
const createFramer = (input: { readonly untypedFirst: boolean; readonly onFrame: (frame: Buffer) => void }) => {
  let rest: Buffer = Buffer.alloc(0)
  let typeBytes = input.untypedFirst ? 0 : 1
  return (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= typeBytes + 4) {
      const end = typeBytes + rest.readUInt32BE(typeBytes)
      if (rest.length < end) return
      const frame = rest.subarray(0, end)
      rest = rest.subarray(end)
      typeBytes = 1
      input.onFrame(frame)
    }
  }
}

const textAt = (frame: Buffer, offset: number): string => frame.toString('utf8', offset, frame.indexOf(0, offset))

/** Groups what a client sends before it waits for an answer, with the name of the executed statement. */
const createFlights = (onFlight: (flight: { bytes: Buffer; kind: string | null; isSynced: boolean }) => void) => {
  const prepared = new Map<string, string>()
  let frames: Buffer[] = []
  let kind: string | null = null
  let last = ''
  let isFirst = true
  return createFramer({
    untypedFirst: true,
    onFrame: (frame) => {
      const type = isFirst ? 'startup' : String.fromCharCode(frame[0] ?? 0)
      isFirst = false
      frames.push(frame)
      if (type === 'P') {
        const name = textAt(frame, 5)
        prepared.set(name, kindOfQuery(textAt(frame, 6 + Buffer.byteLength(name))))
      }
      if (type === 'B') kind = prepared.get(textAt(frame, 6 + Buffer.byteLength(textAt(frame, 5)))) ?? '?'
      if (type === 'Q') kind = kindOfQuery(textAt(frame, 5))
      if (['P', 'B', 'D', 'E', 'C'].includes(type)) return
      const bytes = Buffer.concat(frames)
      // A commit is named by the last statement of its transaction.
      const shown = kind === 'commit' ? `commit (${last})` : kind
      if (kind !== null) last = kind
      frames = []
      kind = null
      onFlight({ bytes, kind: shown, isSynced: ['startup', 'S', 'Q'].includes(type) })
    },
  })
}

const carry = (input: { readonly client: Socket; readonly server: Socket; readonly tap: Tap }): void => {
  const { client, server, tap } = input
  /** ReadyForQuery messages that the server owes: for its start, each Sync and each simple query. */
  let owed = 0
  let state: 'open' | 'last answer' | 'dead' = 'open'
  const die = () => {
    state = 'dead'
    void tap.kill().then(() => client.destroy())
  }
  const fromClient = createFlights(({ bytes, kind, isSynced }) => {
    if (state !== 'open') return
    const moment = kind === null ? null : tap.heard('db', kind)
    if (moment === 'before') return die()
    if (isSynced) owed += 1
    if (moment === 'after') state = 'last answer'
    server.write(bytes)
  })
  const fromServer = createFramer({
    untypedFirst: false,
    onFrame: (frame) => {
      if (state === 'dead') return
      if (state === 'open' || owed > 1) client.write(frame)
      if (frame[0] !== 0x5a) return
      owed -= 1
      if (state === 'last answer' && owed === 0) die()
    },
  })
  client.on('data', fromClient)
  server.on('data', fromServer)
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.setNoDelay(true)
    // The other side only needs to know that it ended.
    one.on('error', () => {})
    one.on('close', () => other.destroy())
  }
}

/** A proxy in front of a PostgreSQL server. @returns the same URL with another port. */
export const startDatabaseWire = async (input: { readonly url: string; readonly tap: Tap }) => {
  const to = byTcp(input.url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = createConnection({ host: to.hostname, port: Number(to.port) })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    carry({ client, server: upstream, tap: input.tap })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(input.url)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' ? address?.port : '')
  return {
    url: url.href,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A proxy in front of a node. */
export const startNodeWire = (input: { readonly rpcUrl: string; readonly tap: Tap }) => {
  const { rpcUrl, tap } = input
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = await request.text()
      const asked = [JSON.parse(body)].flat() as readonly { readonly method: string }[]
      const kind = [...new Set(asked.map(({ method }) => method))].join(' ')
      const moment = tap.heard('node', kind)
      const loss = moment === null ? tap.loses(kind) : null
      if (moment === 'before') await tap.kill()
      const answer =
        loss === 'before'
          ? null
          : await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      const text = await answer?.text()
      if (moment === 'after') await tap.kill()
      return loss === null
        ? new Response(text, { status: answer?.status ?? 502 })
        : new Response('bad gateway', { status: 502 })
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

/** Splits a stream into the vault's messages: a length of four bytes, and a body. */
const createMessages = (onMessage: (message: { readonly bytes: Buffer; readonly value: unknown }) => void) => {
  const reader = createFrameReader()
  let rest: Buffer = Buffer.alloc(0)
  return (chunk: Buffer): void => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const bytes = Buffer.from(rest.subarray(0, 4 + rest.readUInt32BE(0)))
      rest = rest.subarray(bytes.length)
      // The reader zeroes what it was given.
      reader.push(Buffer.from(bytes))
      using message = reader.next()
      onMessage({ bytes, value: message?.value })
    }
  }
}

/** @returns a function that writes in the order of its calls, and after what it has to wait for. */
const createWriting = (socket: Socket) => {
  let last = Promise.resolve()
  return (bytes: Buffer, first: () => Promise<void> = async () => {}): void => {
    last = last.then(first).then(() => void (socket.destroyed || socket.write(bytes)))
  }
}

const carryToVault = (client: Socket, vault: Socket, taps: readonly Tap[]): void => {
  const toVault = createWriting(vault)
  const toClient = createWriting(client)
  /** Who is killed when the answer to a request comes, by its number. */
  const afterwards = new Map<number, Tap>()
  const fromClient = createMessages(({ bytes, value }) => {
    if (!isRequest.Check(value)) return toVault(bytes)
    const [id, method] = value
    let before: Tap | null = null
    for (const tap of taps) {
      const moment = tap.heard('vault', method)
      if (moment === 'before') before = tap
      if (moment === 'after') afterwards.set(id, tap)
    }
    toVault(bytes, before?.kill)
  })
  const fromVault = createMessages(({ bytes, value }) => {
    const [id, kind] = isAnswer.Check(value) ? value : [0, PROGRESS]
    const tap = kind === PROGRESS ? undefined : afterwards.get(id)
    afterwards.delete(tap === undefined ? -1 : id)
    toClient(bytes, tap?.kill)
  })
  client.on('data', fromClient)
  vault.on('data', fromVault)
  for (const [one, other] of [
    [client, vault],
    [vault, client],
  ] as const) {
    // The other side only needs to know that it ended.
    one.on('error', () => {})
    one.on('close', () => other.destroy())
  }
}

/** A proxy in front of a vault's socket. Each tap hears every request. */
export const startVaultWire = async (input: {
  readonly path: string
  readonly to: string
  readonly taps: readonly Tap[]
}) => {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const vault = createConnection(input.to)
    for (const socket of [client, vault]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    }
    carryToVault(client, vault, input.taps)
  })
  await new Promise<void>((resolve) => server.listen(input.path, resolve))
  return {
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
