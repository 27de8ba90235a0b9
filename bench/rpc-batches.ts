export type Call = { readonly method: string; readonly params: readonly unknown[] }

type Answer = { readonly result?: unknown; readonly error?: { readonly message: string } }

/** One HTTP request. @throws Error where the node refuses any of the calls. */
const postCalls = async (rpcUrl: string, calls: readonly Call[]): Promise<readonly unknown[]> => {
  const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })))
  const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const answers = (await response.json()) as readonly Answer[]
  const refusal = answers.find(({ error }) => error !== undefined)
  if (refusal !== undefined) throw new Error(`the node refused: ${refusal.error?.message}`)
  return answers.map(({ result }) => result)
}

/** All calls, so many in a request and so many requests at once. @returns the results in their order. */
export const callInBatches = async (
  rpcUrl: string,
  input: { readonly calls: readonly Call[]; readonly batch: number; readonly atOnce: number },
): Promise<readonly unknown[]> => {
  const { calls, batch, atOnce } = input
  const results: (readonly unknown[])[] = []
  let next = 0
  const worker = async () => {
    for (let at = next; at < calls.length; at = next) {
      next += batch
      results[at / batch] = await postCalls(rpcUrl, calls.slice(at, at + batch))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results.flat()
}
