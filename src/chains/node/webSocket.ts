// JSON-RPC over one WebSocket, which is opened by the first request, and again by the first one after it was lost. What waits
// when it is lost fails: whether a question may be asked twice is for whoever asks.

import type { Network } from '../../../db/words.ts'
import type { Transport } from './transport.ts'
import { NodeUnavailable } from './unavailable.ts'

type Waiting = {
  readonly resolve: (body: unknown) => void
  readonly reject: (error: NodeUnavailable) => void
}

type Connection = {
  readonly socket: WebSocket
  readonly opened: Promise<void>
  /** By the ids of their requests: a batch is answered by one message. */
  readonly waiting: Map<number, Waiting>
}

/** The id of an answer, or of any within the answer of a batch. */
const idIn = (body: unknown): number | null => {
  const one: unknown = Array.isArray(body) ? body[0] : body
  if (typeof one !== 'object' || one === null || !('id' in one)) return null
  return typeof one.id === 'number' ? one.id : null
}

const connect = (rpcUrl: string, lost: () => NodeUnavailable): Connection => {
  const socket = new WebSocket(rpcUrl)
  const waiting = new Map<number, Waiting>()
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>()
  const end = (): void => {
    reject(lost())
    for (const { reject: fail } of new Set(waiting.values())) fail(lost())
    waiting.clear()
  }
  // Whoever waits for it hears of it.
  opened.catch(() => {})
  socket.addEventListener('open', () => resolve())
  socket.addEventListener('error', end)
  socket.addEventListener('close', end)
  socket.addEventListener('message', ({ data }) => {
    let body: unknown
    try {
      body = JSON.parse(String(data))
    } catch {
      // Nobody knows whose answer it was to be.
      socket.close()
      return
    }
    const id = idIn(body)
    if (id !== null) waiting.get(id)?.resolve(body)
  })
  return { socket, opened, waiting }
}

/** @throws NodeUnavailable. */
export const webSocketTransport = (node: { readonly rpcUrl: string; readonly network: Network }): Transport => {
  const { rpcUrl, network } = node
  const lost = () => new NodeUnavailable('unreachable', `The ${network} node cannot be reached.`)
  let last: Connection | null = null

  const connection = (): Connection => {
    if (last === null || last.socket.readyState > WebSocket.OPEN) last = connect(rpcUrl, lost)
    return last
  }

  return async ({ body, ids, timeoutMs }) => {
    const { socket, opened, waiting } = connection()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    promise.catch(() => {})
    const timer = setTimeout(() => {
      reject(new NodeUnavailable('timeout', `The ${network} node did not answer within ${timeoutMs} ms.`))
      // It may be half open: then nothing would ever come.
      socket.close()
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
