import type { Network } from '../../../db/words.ts'
import { httpTransport } from './http.ts'
import { webSocketTransport } from './web-socket.ts'

/** Sends one JSON-RPC request or batch. @returns the decoded JSON of the answer. */
export type Transport = (request: {
  readonly body: string
  readonly ids: readonly number[]
  readonly timeoutMs: number
}) => Promise<unknown>

/** Chooses the transport by the URL's scheme. It connects at the first request. */
export const transportTo = (node: { readonly rpcUrl: string; readonly network: Network }): Transport =>
  /^wss?:/i.test(node.rpcUrl) ? webSocketTransport(node) : httpTransport(node)
