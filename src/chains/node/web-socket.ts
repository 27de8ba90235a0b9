// JSON-RPC over one WebSocket, which is opened by the first request, and again by the first one after it was lost. What waits
// when it is lost fails: whether a question may be asked twice is for whoever asks.

import type { Network } from '../../../db/words.ts'
import type { Transport } from './transport.ts'
import { NodeUnavailable } from './unavailable.ts'
import { isRecord } from './wire.ts'

type Waiting = {
  readonly resolve: (body: unknown) => void
  readonly reject: (error: NodeUnavailable) => void
}

/** Bun's own; `terminate` waits for no answer from the other side. */
type Socket = WebSocket & { terminate(): void }

type Connection = {
  readonly socket: Socket
  readonly opened: Promise<void>
  /** By the ids of their requests: a batch is answered by one message. */
  readonly waiting: Map<number, Waiting>
  /** When anything last came over it, by a clock that only goes forward; 0 for never. */
  heardAtMs: number
}

type Failing = (trouble: 'unreachable' | 'refused' | 'unreadable') => NodeUnavailable

/** The id of an answer, or of any within the answer of a batch. */
const idIn = (body: unknown): number | null => {
  const one: unknown = Array.isArray(body) ? body[0] : body
  if (typeof one !== 'object' || one === null || !('id' in one)) return null
  return typeof one.id === 'number' ? one.id : null
}

/** What a URL is refused for stands in no message: the URL holds the provider's key. */
const open = (rpcUrl: string, failing: Failing): Socket => {
  try {
    return new WebSocket(rpcUrl) as Socket
  } catch {
    throw failing('unreachable')
  }
}

const connect = (rpcUrl: string, failing: Failing): Connection => {
  const socket = open(rpcUrl, failing)
  const waiting = new Map<number, Waiting>()
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>()
  const failAll = (trouble: Parameters<Failing>[0]): void => {
    for (const { reject: fail } of new Set(waiting.values())) fail(failing(trouble))
    waiting.clear()
  }
  const end = (): void => {
    reject(failing('unreachable'))
    failAll('unreachable')
  }
  // Whoever waits for it hears of it.
  opened.catch(() => {})
  const connection: Connection = { socket, opened, waiting, heardAtMs: 0 }
  socket.addEventListener('open', () => resolve())
  socket.addEventListener('error', end)
  socket.addEventListener('close', end)
  socket.addEventListener('message', ({ data }) => {
    connection.heardAtMs = performance.now()
    let body: unknown
    try {
      body = JSON.parse(String(data))
    } catch {
      failAll('unreadable')
      socket.terminate()
      return
    }
    const id = idIn(body)
    if (id !== null) waiting.get(id)?.resolve(body)
    // Without an id it is a no to one of those that wait, such as to a batch as a whole: nobody knows to which.
    else if (isRecord(body) && 'error' in body) failAll('refused')
  })
  return connection
}

const SENTENCES = {
  unreachable: 'cannot be reached',
  refused: 'refused a question',
  unreadable: 'answered something other than JSON',
} as const

/** @throws NodeUnavailable. */
export const webSocketTransport = (node: { readonly rpcUrl: string; readonly network: Network }): Transport => {
  const { rpcUrl, network } = node
  const failing: Failing = (trouble) => new NodeUnavailable(trouble, `The ${network} node ${SENTENCES[trouble]}.`)
  let last: Connection | null = null

  const connection = (): Connection => {
    if (last === null || last.socket.readyState > WebSocket.OPEN) last = connect(rpcUrl, failing)
    return last
  }

  return async ({ body, ids, timeoutMs }) => {
    const asked = connection()
    const { socket, opened, waiting } = asked
    const askedAtMs = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    promise.catch(() => {})
    const timer = setTimeout(() => {
      reject(new NodeUnavailable('timeout', `The ${network} node did not answer within ${timeoutMs} ms.`))
      // It may be half open: then nothing would ever come. A node that is only slow goes on answering the others.
      if (asked.heardAtMs < askedAtMs) socket.terminate()
    }, timeoutMs)
    try {
      await Promise.race([opened, promise])
      for (const id of ids) waiting.set(id, { resolve, reject })
      socket.send(body)
      return await promise
    } finally {
      clearTimeout(timer)
      for (const id of ids) waiting.delete(id)
    }
  }
}
