import { isObject, ProviderError } from './provider-error.ts'

/** JSON-RPC §5.1. viem, for instance, asks again after it. */
const INTERNAL = -32603

/** Calls a node's JSON-RPC. */
export const askNode = async (
  rpcUrl: string,
  { method, params = [] }: { readonly method: string; readonly params?: unknown },
): Promise<unknown> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const response = await fetch(rpcUrl, init).catch(() => null)
  if (response === null) throw new ProviderError(INTERNAL, 'The node did not answer.')
  const answer: unknown = await response.json().catch(() => null)
  // Gateways have errors of this form, too, but do not call them JSON-RPC.
  if (isObject(answer) && answer.jsonrpc === '2.0' && isObject(answer.error))
    throw new ProviderError(Number(answer.error.code), String(answer.error.message), answer.error.data)
  if (isObject(answer) && 'result' in answer) return answer.result
  throw new ProviderError(INTERNAL, `The node answered ${response.status} in another form.`)
}
