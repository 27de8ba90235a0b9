// A door to a node that counts what goes through: HTTP requests, the calls in them, bytes both ways, and the longest
// batch. It can put the node far away.

export type NodeCounts = {
  readonly requests: number
  readonly calls: number
  readonly bytes: number
  readonly longestBatch: number
  /** Calls by method. */
  readonly methods: Readonly<Record<string, number>>
}

type Call = { readonly method: string }

/**
 * Speaks JSON-RPC on a free port of this machine, and passes everything on as it came.
 * @param delayMs how much later each answer comes.
 */
export const startCountingNode = (behind: string, delayMs = 0) => {
  let requests = 0
  let bytes = 0
  let longestBatch = 0
  let methods: Record<string, number> = {}
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (incoming) => {
      const question = await incoming.text()
      const parsed = JSON.parse(question) as Call | readonly Call[]
      const calls = Array.isArray(parsed) ? parsed : [parsed]
      const headers = { 'content-type': 'application/json' }
      if (delayMs > 0) await Bun.sleep(delayMs)
      const answer = await (await fetch(behind, { method: 'POST', headers, body: question })).text()
      requests += 1
      bytes += question.length + answer.length
      longestBatch = Math.max(longestBatch, calls.length)
      for (const { method } of calls) methods[method] = (methods[method] ?? 0) + 1
      return new Response(answer, { headers })
    },
  })
  /** What went through since the last time this was asked. */
  const take = (): NodeCounts => {
    const calls = Object.values(methods).reduce((sum, count) => sum + count, 0)
    const taken = { requests, calls, bytes, longestBatch, methods }
    requests = bytes = longestBatch = 0
    methods = {}
    return taken
  }
  return { rpcUrl: `http://127.0.0.1:${server.port}`, take, stop: () => server.stop(true) }
}
