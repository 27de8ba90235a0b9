import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const AnswerSchema = Type.Object({
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Object({ code: Type.Number(), message: Type.String() })),
})

/** One JSON-RPC request: a method and its parameters. */
type RpcCall = { readonly method: string; readonly params?: readonly unknown[] }

const TIMEOUT_MS = 60_000

/**
 * Calls a method of a local node.
 * @throws Error with the node's message
 */
export const callRpc = async (rpcUrl: string, method: string, params: readonly unknown[] = []): Promise<unknown> => {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const answer: unknown = await response.json()
  if (!Value.Check(AnswerSchema, answer)) throw new Error(`The node answered ${method} in an unknown shape.`)
  if (answer.error !== undefined) throw new Error(`The node refused ${method}: ${answer.error.message}`)
  return answer.result
}

/** Like `callRpc`, for an answer that must be a string. */
export const callRpcForString = async (rpcUrl: string, { method, params = [] }: RpcCall): Promise<string> => {
  const result = await callRpc(rpcUrl, method, params)
  if (typeof result !== 'string') throw new Error(`The node answered ${method} with something else than a string.`)
  return result
}
