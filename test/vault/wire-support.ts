// A server and clients on real sockets, with methods that do what a test needs.

import { afterEach } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import { type Client, type ConnectOptions, connect } from '../../src/vault/client/connect.ts'
import { Refused } from '../../src/vault/client/data.ts'
import { createFrameReader, createFrameWriter } from '../../src/vault/client/frames.ts'
import { PROTOCOL } from '../../src/vault/client/protocol.ts'
import { methods } from '../../src/vault/contract/method.ts'
import { doorAtPath } from '../../src/vault/rooms/wire/door.ts'
import { type Connection, type Listener, type ListenOptions, listen, serve } from '../../src/vault/rooms/wire/listen.ts'

const closed = { additionalProperties: false }

export const { echo, wait, waitAgain, fail, count, lend, use, giveBack } = methods({
  echo: {
    input: Type.Object({ text: Type.String(), bytes: Type.Optional(Type.Uint8Array()) }, closed),
    output: Type.Object({ text: Type.String(), bytes: Type.Optional(Type.Uint8Array()) }, closed),
    repeatable: true,
  },
  /** Answers when the test lets it. */
  wait: {
    input: Type.Object({ gate: Type.String() }, closed),
    output: Type.Object({ by: Type.String() }, closed),
  },
  /** The same, but it may be repeated. */
  waitAgain: {
    input: Type.Object({ gate: Type.String() }, closed),
    output: Type.Object({ by: Type.String() }, closed),
    repeatable: true,
  },
  fail: { input: Type.Object({ kind: Type.String() }, closed) },
  count: {
    input: Type.Object({ to: Type.Integer() }, closed),
    output: Type.Integer(),
    progress: Type.Integer(),
  },
  /** Gives a handle that only its connection may use, once. */
  lend: { input: Type.Object({}, closed), output: Type.Integer(), repeatable: true },
  use: { input: Type.Object({ handle: Type.Integer() }, closed), output: Type.String() },
  giveBack: { input: Type.Object({ handle: Type.Integer() }, closed) },
})

/** Things that a test lets go on, by name. */
export type Gates = {
  arrived(name: string): Promise<void>
  open(name: string): void
  pass(name: string): Promise<void>
  /** How many wait there. */
  waiting(name: string): number
}

export const createGates = (): Gates => {
  const gates = new Map<
    string,
    { open: PromiseWithResolvers<void>; arrived: PromiseWithResolvers<void>; waiting: number }
  >()
  const of = (name: string) => {
    const gate = gates.get(name) ?? { open: Promise.withResolvers(), arrived: Promise.withResolvers(), waiting: 0 }
    gates.set(name, gate)
    return gate
  }
  return {
    arrived: (name) => of(name).arrived.promise,
    open: (name) => of(name).open.resolve(),
    pass: async (name) => {
      of(name).waiting += 1
      of(name).arrived.resolve()
      await of(name).open.promise
    },
    waiting: (name) => of(name).waiting,
  }
}

export type Server = Listener & {
  readonly path: string
  readonly refusals: { readonly why: string; readonly name: string | null }[]
  readonly failures: unknown[]
  readonly ended: Connection[]
  /** Resolved at each refusal or end. */
  happened(): Promise<void>
}

/** A message as it is sent. */
export const frameOf = (value: unknown): Buffer => {
  const writer = createFrameWriter()
  writer.add(value)
  return writer.take().bytes
}

/** Ends everything of a test file's tests. */
export const createWire = () => {
  const endings: (() => unknown)[] = []
  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end()
  })

  const folder = async (): Promise<string> => {
    const made = await mkdtemp(join(tmpdir(), 'wire-'))
    endings.push(() => rm(made, { recursive: true, force: true }))
    return made
  }

  const server = async (
    options: Partial<Pick<ListenOptions, 'door' | 'name' | 'underWayMax' | 'audience' | 'room' | 'aliveEveryMs'>> & {
      readonly path?: string
      readonly gates?: Gates
      readonly errors?: Readonly<Record<string, unknown>>
      /** What `echo` answers beside its input. */
      readonly extra?: object
    } = {},
  ): Promise<Server> => {
    const { gates = createGates(), name = 'vault', errors = {}, underWayMax, room, aliveEveryMs } = options
    const path = options.path ?? join(await folder(), 'run', 'vault.sock')
    const refusals: Server['refusals'] = []
    const failures: unknown[] = []
    const ended: Connection[] = []
    const handles = new Map<number, Connection>()
    let lastHandle = 0
    let happens = Promise.withResolvers<void>()
    const happen = () => {
      happens.resolve()
      happens = Promise.withResolvers()
    }
    const waits = async ({ gate }: { gate: string }) => {
      await gates.pass(gate)
      return { by: name }
    }
    const listener = await listen({
      ...{
        door: options.door ?? doorAtPath({ path, mode: 0o660 }),
        name,
        audience: options.audience ?? 'everybody',
        ...(underWayMax === undefined ? {} : { underWayMax }),
        ...(room === undefined ? {} : { room }),
        ...(aliveEveryMs === undefined ? {} : { aliveEveryMs }),
      },
      methods: [
        serve(echo, async (input) => ({ ...input, ...options.extra })),
        serve(wait, waits),
        serve(waitAgain, waits),
        serve(fail, async ({ kind }) => {
          throw errors[kind]
        }),
        serve(count, async ({ to }, { onProgress }) => {
          for (let at = 1; at <= to; at += 1) onProgress(at)
          return to
        }),
        serve(lend, async (_, { connection }) => {
          lastHandle += 1
          handles.set(lastHandle, connection)
          return lastHandle
        }),
        serve(use, async ({ handle }, { connection }) => {
          if (handles.get(handle) !== connection) throw new Refused('a handle is not of this connection')
          handles.delete(handle)
          return name
        }),
        serve(giveBack, async ({ handle }) => {
          handles.delete(handle)
        }),
      ],
      onRefused: (refusal) => {
        refusals.push(refusal)
        happen()
      },
      onFailure: ({ error }) => failures.push(error),
      onEnd: (connection) => {
        ended.push(connection)
        happen()
      },
    })
    endings.push(() => listener.stop({ graceMs: 0 }))
    return { ...listener, path, refusals, failures, ended, happened: () => happens.promise }
  }

  const clientOf = (
    options: Pick<ConnectOptions, 'sockets' | 'tls'>,
  ): Client & { changes: () => readonly string[]; changed(): Promise<void>; unreached: () => Promise<string> } => {
    const changes: string[] = []
    const unreached = Promise.withResolvers<string>()
    let changing = Promise.withResolvers<void>()
    const made = connect({
      ...options,
      name: 'api',
      onUnreached: ({ error }) => unreached.resolve(error?.message ?? 'closed'),
      onChange: ({ socket, is }) => {
        changes.push(`${socket} ${is}`)
        changing.resolve()
        changing = Promise.withResolvers()
      },
    })
    endings.push(made.close)
    return { ...made, changes: () => changes, changed: () => changing.promise, unreached: () => unreached.promise }
  }
  const client = (...sockets: readonly string[]) => clientOf({ sockets })

  /** A connection that says what the test writes. */
  const raw = async (to: string | Socket) => {
    const socket = typeof to === 'string' ? createConnection(to) : to
    socket.on('error', () => {})
    const reader = createFrameReader()
    const received: unknown[] = []
    let arrives = Promise.withResolvers<void>()
    const { promise: over, resolve: onOver } = Promise.withResolvers<void>()
    socket.on('data', (chunk: Buffer) => {
      reader.push(new Uint8Array(chunk))
      for (let message = reader.next(); message !== null; message = reader.next()) {
        // That it is alive is told in between.
        if (!isDeepStrictEqual(message.value, [0, 3, 'alive'])) received.push(message.value)
      }
      arrives.resolve()
      arrives = Promise.withResolvers()
    })
    socket.on('close', () => onOver())
    endings.push(() => socket.destroy())
    return {
      socket,
      over,
      send: (value: unknown) => void socket.write(frameOf(value)),
      hello: () => void socket.write(frameOf({ protocol: PROTOCOL, name: 'raw' })),
      /** The first messages, once there are so many. */
      received: async (many: number) => {
        while (received.length < many) await arrives.promise
        return received
      },
    }
  }

  return { folder, server, client, clientOf, raw }
}
