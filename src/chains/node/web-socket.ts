// JSON-RPC over one WebSocket. The first request opens it, and so does the first request after it was lost. Requests
// that are waiting when it is lost fail: only the caller knows whether a question may be sent twice.

import type { Network } from '../../../db/words.ts'
import type { Transport } from './http.ts'
import { isRecord, NodeUnavailable } from './wire.ts'

type Waiting = {
  readonly resolve: (body: unknown) => void
  readonly reject: (error: NodeUnavailable) => void
}

type Connection = {
  readonly socket: WebSocket
  readonly opened: Promise<void>
  /** By request id. A batch is answered by one message. */
  readonly waiting: Map<number, Waiting>
  /** When the last message arrived, on a monotonic clock; 0 for never. */
  heardAtMs: number
  /** It was lost or given up. */
  isOver: boolean
  /** Ends it at once for those that wait, and closes it, which may take long: the other side may never answer. */
  readonly giveUp: () => void
}

type Failing = (trouble: 'unreachable' | 'refused' | 'unreadable') => NodeUnavailable

/** The id of an answer; for a batch, that of its first element. */
const idIn = (body: unknown): number | null => {
  const one: unknown = Array.isArray(body) ? body[0] : body
  return isRecord(one) && typeof one.id === 'number' ? one.id : null
}

/** @returns null for an invalid URL. The error would show it, and with it the provider's key. */
export const openSocket = (rpcUrl: string): WebSocket | null => {
  try {
    return new WebSocket(rpcUrl)
  } catch {
    return null
  }
}

export const isWebSocketUrl = (rpcUrl: string): boolean => /^wss?:/i.test(rpcUrl)

const connect = (rpcUrl: string, failing: Failing): Connection => {
  const socket = openSocket(rpcUrl)
  if (socket === null) throw failing('unreachable')
  const waiting = new Map<number, Waiting>()
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>()
  const failAll = (trouble: Parameters<Failing>[0]): void => {
    for (const { reject: fail } of new Set(waiting.values())) fail(failing(trouble))
    waiting.clear()
  }
  const end = (): void => {
    connection.isOver = true
    reject(failing('unreachable'))
    failAll('unreachable')
  }
  const giveUp = (): void => {
    end()
    socket.close()
  }
  const connection: Connection = { socket, opened, waiting, heardAtMs: 0, isOver: false, giveUp }
  // Those that await it get the error; this only prevents an unhandled rejection.
  opened.catch(() => {})
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
      giveUp()
      return
    }
    const id = idIn(body)
    if (id !== null) waiting.get(id)?.resolve(body)
    // An error without an id refuses one of the waiting requests, perhaps a whole batch. It does not say which, so all
    // fail.
    else if (isRecord(body) && 'error' in body) failAll('refused')
  })
  return connection
}

const SENTENCES = {
  unreachable: 'cannot be reached',
  refused: 'refused a question',
  unreadable: 'answered something other than JSON',
} as const

export const webSocketTransport = (node: { readonly rpcUrl: string; readonly network: Network }): Transport => {
  const { rpcUrl, network } = node
  const failing: Failing = (trouble) => new NodeUnavailable(trouble, `The ${network} node ${SENTENCES[trouble]}.`)
  let last: Connection | null = null

  const connection = (): Connection => {
    if (last === null || last.isOver || last.socket.readyState > WebSocket.OPEN) last = connect(rpcUrl, failing)
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
      // Nothing arrived since the request: the connection may be half open. A slow node still answers other requests.
      if (asked.heardAtMs < askedAtMs) asked.giveUp()
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
