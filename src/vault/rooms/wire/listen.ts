// The server. It takes requests of many connections, and answers each when it is done.
//
// Bad input ends its connection, and nothing else: `onRefused` says why, once. Whatever the end, `onEnd` follows, so
// that all that belongs to the connection is given up. More requests than a connection may have under way wait in its
// socket, and so do those that find no room.

import type { Socket } from 'node:net'
import type { Static, TSchema } from '@sinclair/typebox'
import { AppError } from '../../../platform/errors.ts'
import { measureParts, type Timing } from '../../../platform/tracing/timings.ts'
import { type Channel, openChannel } from '../../client/channel.ts'
import { Refused } from '../../client/data.ts'
import { type Audience, failureOf } from '../../client/failure.ts'
import type { Message } from '../../client/frames.ts'
import {
  ALIVE,
  ALIVE_EVERY_MS,
  DONE,
  FAILED,
  HELLO_WAIT_MS,
  isHello,
  isRequest,
  LEAVING,
  NOTICE,
  PROGRESS,
  PROTOCOL,
} from '../../client/protocol.ts'
import type { Given, Method } from '../../contract/method.ts'
import type { Door, RefusedConnection } from './door.ts'
import { createRoom, type Room } from './room.ts'

/**
 * Above the most that an API lets run at once, so that a signature does not wait behind PINs (credentials/guard.ts).
 */
const UNDER_WAY_MAX = 4096
/** A message that was begun must end in ten seconds, and an answer be read. */
const STALLED_MAX = 20

export type Connection = {
  /** The client's own name for itself. */
  readonly name: string
  readonly wantsTimings: boolean
  /** Aborted when it has ended. */
  readonly ended: AbortSignal
}

/** Disposing of it zeroes its secret parts. */
type Answer = Disposable & { readonly output: unknown }

/** A request that may be run. */
type Work = (connection: Connection, onProgress: (progress: unknown) => void) => Promise<Answer>

/** A method and what it does. */
export type Served = {
  readonly name: string
  /** @throws Refused for an input that is not the method's. */
  readonly accept: (input: unknown) => Work
}

type Run<Input extends TSchema, Output extends TSchema, Progress extends TSchema> = (
  input: Static<Input>,
  call: { readonly connection: Connection; readonly onProgress: (progress: Given<Static<Progress>>) => void },
) => Promise<Given<Static<Output>>>

/**
 * Serves a method. `run` gets only an input that fits the method's schema; the Uint8Arrays in it are zeroed when `run`
 * has ended, and what is secret in its output when that is sent. It throws Refused for what only an attacker or a
 * mistake can ask.
 */
export const serve = <Input extends TSchema, Output extends TSchema, Progress extends TSchema>(
  method: Method<Input, Output, Progress>,
  run: Run<Input, Output, Progress>,
): Served => ({
  name: method.name,
  accept: (input) => {
    if (!method.input.fits(input)) throw new Refused(`an input of ${method.name} is not as it should be`)
    return async (connection, onProgress) => {
      const output = method.output.named(await run(input, { connection, onProgress }))
      return { output, [Symbol.dispose]: () => method.output.zero(output) }
    }
  },
})

export type ListenOptions = {
  readonly door: Door
  /** The server's own name for itself. */
  readonly name: string
  readonly methods: readonly Served[]
  readonly audience: Audience
  /** A connection was closed for bad input, or its client is not allowed. */
  readonly onRefused: (refusal: RefusedConnection) => void
  /** How many requests of a connection may be under way. */
  readonly underWayMax?: number
  /** Where the messages of all connections have their place; by default this server's own. */
  readonly room?: Room
  readonly aliveEveryMs?: number
  /** An error whose text callers must not see. */
  readonly onFailure: (failure: { readonly error: unknown; readonly method: string }) => void
  /** A connection that has said hello has ended. */
  readonly onEnd: (connection: Connection) => void
}

export type Listener = {
  /** The place for clients. */
  readonly place: string
  /** Takes no more connections, asks clients to go elsewhere, and ends when they have, or after `graceMs`. */
  stop(input: { readonly graceMs: number }): Promise<void>
}

type Serving = Omit<ListenOptions, 'door' | 'methods' | 'room'> & {
  readonly room: Room
  readonly methods: ReadonlyMap<string, Served>
  readonly socket: Socket
  /** Who the client is, if the door knows. */
  readonly peer: string | null
  readonly onClosed: () => void
}

type Request = { readonly id: number; readonly method: string; readonly work: Work }

/** Runs a request and sends its answer. @throws Refused for bad input. */
const answer = async (
  { id, method, work }: Request,
  {
    connection,
    channel,
    onFailure,
    audience,
  }: Pick<Serving, 'onFailure' | 'audience'> & { connection: Connection; channel: Channel },
): Promise<void> => {
  let timings: (() => readonly Timing[]) | null = null
  const send = (...message: readonly [kind: number, body: unknown]) => {
    const isLast = message[0] !== PROGRESS
    if (id !== 0) channel.send(isLast && timings !== null ? [id, ...message, timings()] : [id, ...message])
  }
  const fail = (error: unknown) => {
    if (!(error instanceof AppError)) onFailure({ error, method })
    send(FAILED, failureOf(error, audience))
  }
  let isRunning = true
  // A client that reads slowly misses some progress.
  const onProgress = (progress: unknown) => {
    if (isRunning && !channel.isClogged()) send(PROGRESS, progress)
  }
  const run = async () => {
    try {
      if (!connection.wantsTimings) return await work(connection, onProgress)
      const measured = measureParts(() => work(connection, onProgress))
      timings = measured.timings
      return await measured.result
    } catch (error) {
      if (error instanceof Refused) throw error
      fail(error)
      return null
    } finally {
      isRunning = false
    }
  }
  using done = await run()
  if (done === null) return
  try {
    send(DONE, done.output)
  } catch (error) {
    fail(error)
  }
}

/** The calls in progress on a connection. */
const createLoad = (underWayMax: number) => {
  const ids = new Set<number>()
  let requests = 0
  return {
    isFull: () => requests >= underWayMax,
    /** Until it is disposed of. @throws Refused for an id that is under way. */
    add: (id: number): Disposable => {
      if (ids.has(id)) throw new Refused('a request has the id of one that is under way')
      if (id !== 0) ids.add(id)
      requests += 1
      const remove = () => {
        ids.delete(id)
        requests -= 1
      }
      return { [Symbol.dispose]: remove }
    },
  }
}

const helloOf = (hello: unknown): Pick<Connection, 'name' | 'wantsTimings'> => {
  if (!isHello.Check(hello)) throw new Refused('the first message is no hello')
  if (hello.protocol !== PROTOCOL) throw new Refused('the hello is of another version of the protocol')
  return { name: hello.name, wantsTimings: hello.timings === true }
}

/** @throws Refused */
const requestOf = (methods: Serving['methods'], value: unknown): Request => {
  if (!isRequest.Check(value)) throw new Refused('a message is no request')
  const [id, method, input] = value
  const served = methods.get(method)
  if (served === undefined) throw new Refused('a method is unknown')
  return { id, method, work: served.accept(input) }
}

/** Serves a connection until it ends. */
const serveConnection = (serving: Serving) => {
  const { socket, peer, room, methods, underWayMax = UNDER_WAY_MAX, onRefused, onEnd, onClosed } = serving
  const ended = new AbortController()
  const load = createLoad(underWayMax)
  let connection: Connection | null = null
  let isRefused = false

  const refuse = (why: string): void => {
    if (isRefused) return
    isRefused = true
    channel.destroy()
    onRefused({ why, name: peer ?? connection?.name ?? null })
  }

  const run = async (request: Request, message: Message, asking: Connection): Promise<void> => {
    try {
      using _message = message
      using _load = load.add(request.id)
      await answer(request, { ...serving, channel, connection: asking })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      refuse(error.message)
    }
    channel.take()
  }

  const onMessage = (message: Message): void => {
    using held = new DisposableStack()
    held.use(message)
    if (connection === null) {
      clearTimeout(waiting)
      connection = { ...helloOf(message.value), ended: ended.signal }
      return
    }
    const request = requestOf(methods, message.value)
    held.move()
    void run(request, message, connection)
  }

  const channel = openChannel(socket, {
    mayTake: () => !load.isFull() && !socket.writableNeedDrain,
    enterRoom: (onRoom) => room.enter(onRoom, peer),
    onMessage,
    onRefused: refuse,
    onClosed: () => {
      clearTimeout(waiting)
      ended.abort()
      if (connection !== null) onEnd(connection)
      onClosed()
    },
  })
  const waiting = setTimeout(() => refuse('there was no hello'), HELLO_WAIT_MS)
  channel.send({ protocol: PROTOCOL, name: serving.name })

  return {
    live: () => {
      if (channel.stalled() > STALLED_MAX)
        refuse('a message was begun and not ended, or no answer was read, for ten seconds')
      else if (!channel.isClogged()) channel.send([0, NOTICE, ALIVE])
    },
    leave: () => channel.send([0, NOTICE, LEAVING]),
    destroy: channel.destroy,
  }
}

/**
 * Listens at a door.
 * @throws Error with a sentence for the operator if it cannot.
 */
export const listen = async ({ door, methods, room = createRoom(), ...options }: ListenOptions): Promise<Listener> => {
  const byName = new Map(methods.map((served) => [served.name, served]))
  const connections = new Set<ReturnType<typeof serveConnection>>()
  const { promise: left, resolve: onLeft } = Promise.withResolvers<void>()
  let isStopping = false

  const onSocket = (socket: Socket, peer: string | null) => {
    const onClosed = () => {
      connections.delete(connection)
      if (isStopping && connections.size === 0) onLeft()
    }
    const connection = serveConnection({ ...options, room, methods: byName, socket, peer, onClosed })
    connections.add(connection)
  }
  const onFailure = (error: unknown) => options.onFailure({ error, method: 'accept' })
  const opened = await door.open({ onSocket, onRefused: options.onRefused, onFailure })
  const living = setInterval(() => {
    for (const connection of connections) connection.live()
  }, options.aliveEveryMs ?? ALIVE_EVERY_MS)

  return {
    place: opened.place,
    stop: async ({ graceMs }) => {
      isStopping = true
      opened.close()
      for (const connection of connections) connection.leave()
      if (connections.size > 0) {
        const timer = setTimeout(onLeft, graceMs)
        await left
        clearTimeout(timer)
      }
      clearInterval(living)
      for (const connection of connections) connection.destroy()
    },
  }
}
