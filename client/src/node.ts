import { isObject, ProviderError } from './provider-error.ts'

/** Calls a node's JSON-RPC. */
export const askNode = async (
  rpcUrl: string,
  { method, params = [] }: { readonly method: string; readonly params?: unknown },
): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const answer: unknown = await response.json()
  if (isObject(answer) && isObject(answer.error))
    throw new ProviderError(Number(answer.error.code), String(answer.error.message), answer.error.data)
  if (isObject(answer) && 'result' in answer) return answer.result
  throw new ProviderError(-32603, 'The node answered in another form.')
}
