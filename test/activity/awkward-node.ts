// A real node behind a proxy that gives it the limits and the moods of hosted ones.

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }

type Moods = {
  /** The widest range of blocks for eth_getLogs. */
  logsWidthMax: number
  /** How many of the newest blocks it has not heard of. */
  blocksBehind: number
  /** It tells the head as it is, but has the newest blocks only later: several nodes behind one address. */
  announcesWhatItLacks: boolean
  /** It answers nothing at all. */
  away: boolean
}

const numberIn = (value: unknown): number => Number(BigInt(String(value)))

const isTag = (value: unknown): boolean => value === 'latest' || value === 'finalized'

export const startAwkwardNode = (rpcUrl: string) => {
  const moods: Moods = {
    logsWidthMax: Number.POSITIVE_INFINITY,
    blocksBehind: 0,
    announcesWhatItLacks: false,
    away: false,
  }
  const asked: Call[] = []

  const ask = async (call: unknown): Promise<{ result?: unknown; error?: unknown }> => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(call),
    })
    return (await response.json()) as { result?: unknown; error?: unknown }
  }

  const newest = async (): Promise<number> => {
    const { result } = await ask({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    return numberIn(result) - moods.blocksBehind
  }

  const answer = async (call: Call): Promise<unknown> => {
    asked.push(call)
    const refusal = (code: number, message: string) => ({ jsonrpc: '2.0', id: call.id, error: { code, message } })
    const [first] = call.params
    if (call.method === 'eth_getLogs') {
      const { fromBlock, toBlock } = first as { fromBlock?: string; toBlock?: string }
      if (numberIn(toBlock ?? 0) - numberIn(fromBlock ?? 0) + 1 > moods.logsWidthMax) {
        return refusal(-32_600, `You can make eth_getLogs requests with up to a ${moods.logsWidthMax} block range.`)
      }
    }
    if (call.method === 'eth_getBlockByNumber' && moods.blocksBehind > 0) {
      const has = await newest()
      if (isTag(first)) {
        const shift = moods.announcesWhatItLacks ? moods.blocksBehind : 0
        return answerOf({ ...call, params: [`0x${(has + shift).toString(16)}`, ...call.params.slice(1)] })
      }
      if (numberIn(first) > has) return { jsonrpc: '2.0', id: call.id, result: null }
    }
    return answerOf(call)
  }

  const answerOf = async (call: Call): Promise<unknown> => ({
    ...(await ask({ jsonrpc: '2.0', ...call })),
    id: call.id,
  })

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      if (moods.away) return new Response('', { status: 503 })
      const body = (await request.json()) as Call | readonly Call[]
      if ('method' in body) return Response.json(await answer(body))
      return Response.json(await Promise.all(body.map(answer)))
    },
  })

  return {
    rpcUrl: `http://127.0.0.1:${server.port}`,
    moods,
    /** What it was asked, oldest first. */
    asked,
    stop: () => server.stop(true),
  }
}

export type AwkwardNode = ReturnType<typeof startAwkwardNode>
