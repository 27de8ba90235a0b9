import { ResponseError } from '@acala-network/chopsticks-core'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { ServerWebSocket } from 'bun'
import { NO_SUBSCRIPTIONS, type Subscriptions } from './chopsticks-dev-methods.ts'
import type { Methods } from './chopsticks-methods.ts'

const RequestSchema = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Optional(Type.Union([Type.Number(), Type.String(), Type.Null()])),
  method: Type.String(),
  params: Type.Optional(Type.Array(Type.Unknown())),
})

type Connection = { readonly subscriptions: Subscriptions; readonly end: () => void }
type Socket = ServerWebSocket<{ connection?: Connection }>

const HEADERS = { 'content-type': 'application/json', 'access-control-allow-origin': '*' }
const CORS = { ...HEADERS, 'access-control-allow-methods': 'POST', 'access-control-allow-headers': '*' }
/** A runtime's code in hex has a few megabytes. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

const connect = (socket: Socket): Connection => {
  const cancels = new Map<string, () => void>()
  const subscribe: Subscriptions['subscribe'] = (method, subscription, onCancel = () => undefined) => {
    cancels.set(subscription, onCancel)
    return (result) => {
      if (!cancels.has(subscription)) return
      socket.send(JSON.stringify({ jsonrpc: '2.0', method, params: { result, subscription } }))
    }
  }
  const unsubscribe: Subscriptions['unsubscribe'] = (subscription) => {
    cancels.get(subscription)?.()
    cancels.delete(subscription)
  }
  const end = () => {
    for (const subscription of [...cancels.keys()]) unsubscribe(subscription)
  }
  return { subscriptions: { subscribe, unsubscribe }, end }
}

const errorOf = (error: unknown) =>
  error instanceof ResponseError
    ? error.toJSON()
    : { code: -32603, message: `Internal error: ${error instanceof Error ? error.message : error}` }

const answerOne = async (methods: Methods, request: unknown, subscriptions: Subscriptions) => {
  if (!Value.Check(RequestSchema, request)) {
    return { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'Invalid request' } }
  }
  const { id = null, method, params = [] } = request
  try {
    return { jsonrpc: '2.0', id, result: (await methods({ method, params }, subscriptions)) ?? null }
  } catch (error) {
    return { jsonrpc: '2.0', id, error: errorOf(error) }
  }
}

const answer = async (methods: Methods, text: string, subscriptions: Subscriptions): Promise<string> => {
  let request: unknown
  try {
    request = JSON.parse(text)
  } catch {
    return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } })
  }
  if (!Array.isArray(request)) return JSON.stringify(await answerOne(methods, request, subscriptions))
  return JSON.stringify(await Promise.all(request.map((each) => answerOne(methods, each, subscriptions))))
}

/**
 * Serves JSON-RPC 2.0 on 127.0.0.1: by POST, and by WebSocket on the same port.
 * @returns the port, a function that closes all WebSocket connections at once, and one that closes everything
 */
export const serveMethods = (methods: Methods, port: number) => {
  const sockets = new Set<Socket>()
  const server = Bun.serve<{ connection?: Connection }>({
    hostname: '127.0.0.1',
    port,
    maxRequestBodySize: MESSAGE_BYTES_MAX,
    idleTimeout: 0,
    fetch: async (request, self) => {
      if (self.upgrade(request, { data: {} })) return undefined
      if (request.method === 'OPTIONS') return new Response(null, { headers: CORS })
      if (request.method !== 'POST') return new Response('Only POST and WebSocket are served.', { status: 405 })
      return new Response(await answer(methods, await request.text(), NO_SUBSCRIPTIONS), { headers: HEADERS })
    },
    websocket: {
      maxPayloadLength: MESSAGE_BYTES_MAX,
      open: (socket) => {
        socket.data.connection = connect(socket)
        sockets.add(socket)
      },
      message: async (socket, message) => {
        const subscriptions = socket.data.connection?.subscriptions ?? NO_SUBSCRIPTIONS
        socket.send(await answer(methods, String(message), subscriptions))
      },
      close: (socket) => {
        socket.data.connection?.end()
        sockets.delete(socket)
      },
    },
  })
  const dropConnections = (): void => {
    for (const socket of sockets) socket.terminate()
  }
  return { port: server.port ?? port, dropConnections, stop: () => server.stop(true) }
}
