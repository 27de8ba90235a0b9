import type { Network } from '../../../db/words.ts'
import { httpTransport } from './http.ts'
import { webSocketTransport } from './web-socket.ts'

/** One JSON-RPC request or batch, as text. @returns the JSON that came back. @throws NodeUnavailable. */
export type Transport = (request: {
  readonly body: string
  readonly ids: readonly number[]
  readonly timeoutMs: number
}) => Promise<unknown>

/** By the URL's scheme. It connects to nothing before it is asked. */
export const transportTo = (node: { readonly rpcUrl: string; readonly network: Network }): Transport =>
  /^wss?:/i.test(node.rpcUrl) ? webSocketTransport(node) : httpTransport(node)
