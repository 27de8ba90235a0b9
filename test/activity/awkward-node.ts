// A real node behind a proxy that adds the limits and faults of hosted nodes.

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
type Answer = { readonly result?: unknown; readonly error?: { readonly code: number; readonly message: string } }

/** How a node reports that it has pruned its oldest blocks. */
type Pruned = {
  readonly below: number
  /**
   * `code`: go-ethereum, nethermind and besu (4444). `words`: erigon, of an unknown code. `null`: erigon 2, for blocks,
   * and no events. `silent`: reth with pruned receipts, which has the blocks, and no events. `index`: erigon with
   * blocks and receipts, which finds no events but those of a block.
   */
  readonly as: 'code' | 'words' | 'null' | 'silent' | 'index'
}

type Moods = {
  /** The widest range of blocks for eth_getLogs. */
  logsWidthMax: number
  /** The most events that one eth_getLogs may find. */
  resultsMax: number
  /** How many of the newest blocks it does not know. */
  blocksBehind: number
  /** It reports the real head, but has the newest blocks only later, like several nodes behind one address. */
  announcesWhatItLacks: boolean
  /** For this percentage of requests, at random; the others are answered by a node that is not behind. */
  behindPercent: number
  /** Instead, for all requests with this method and no others. */
  behindFor: string | null
  pruned: Pruned | null
  /** It cannot trace below this block. */
  stateFrom: number
  /** It answers null instead of traces. */
  tracesNothing: boolean
  /** Methods that it refuses with an unknown message. */
  refuses: ReadonlySet<string>
  /** It does not answer. */
  away: boolean
}

const calm = (): Moods => ({
  logsWidthMax: Number.POSITIVE_INFINITY,
  resultsMax: Number.POSITIVE_INFINITY,
  blocksBehind: 0,
  announcesWhatItLacks: false,
  behindPercent: 100,
  behindFor: null,
  pruned: null,
  stateFrom: 0,
  tracesNothing: false,
  refuses: new Set(),
  away: false,
})

type LogsFilter = { readonly fromBlock?: string; readonly toBlock?: string; readonly blockHash?: string }

const numberIn = (value: unknown): number => Number(BigInt(String(value)))

const isTag = (value: unknown): boolean => value === 'latest' || value === 'finalized'

const refusal = (code: number, message: string): Answer => ({ error: { code, message } })

const PRUNED_WORDS = {
  code: refusal(4444, 'Pruned history unavailable'),
  words: refusal(
    -32_000,
    'old data not available due to pruning: requested block 1, history is available from block 2',
  ),
}

export const startAwkwardNode = (rpcUrl: string) => {
  const moods = calm()
  const asked: Call[] = []
  let chance = 1
  /** A number from 0 to 99, the same in every run (MINSTD). */
  const byChance = (): number => {
    chance = (chance * 48_271) % 2_147_483_647
    return chance % 100
  }

  const ask = async (call: Pick<Call, 'method' | 'params'>): Promise<Answer> => {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }),
    })
    const { result, error } = (await response.json()) as Answer
    return error === undefined ? { result } : { error }
  }

  const newest = async (behind: number): Promise<number> =>
    numberIn((await ask({ method: 'eth_blockNumber', params: [] })).result) - behind

  const blockOf = async (call: Call): Promise<number | null> => {
    const [first] = call.params
    if (call.method === 'eth_getLogs') {
      const { fromBlock, blockHash } = first as LogsFilter
      if (fromBlock !== undefined) return numberIn(fromBlock)
      const { result } = await ask({ method: 'eth_getBlockByHash', params: [blockHash, false] })
      return result === null ? null : numberIn((result as { number: string }).number)
    }
    const isOfBlock = ['eth_getBlockByNumber', 'eth_getBlockReceipts', 'trace_block', 'debug_traceBlockByNumber']
    return isOfBlock.includes(call.method) && !isTag(first) ? numberIn(first) : null
  }

  /** The answer of a node without its oldest blocks; undefined if it has the requested data. */
  const forgotten = async (call: Call): Promise<Answer | undefined> => {
    const { pruned, stateFrom } = moods
    if (pruned === null && stateFrom === 0) return undefined
    const number = await blockOf(call)
    if (number === null) return undefined
    if (call.method.includes('trace') && number < stateFrom) {
      return refusal(-32_000, 'required historical state unavailable (reexec=128)')
    }
    // The first block is kept.
    if (pruned === null || number === 0 || number >= pruned.below) return undefined
    if (pruned.as === 'code' || pruned.as === 'words') return PRUNED_WORDS[pruned.as]
    if (call.method === 'eth_getLogs') {
      if (pruned.as === 'index' && (call.params[0] as LogsFilter).blockHash !== undefined) return undefined
      const { result } = await ask(call)
      const isLeft = ({ blockNumber }: { blockNumber: string }) => numberIn(blockNumber) >= pruned.below
      return { result: (result as { blockNumber: string }[]).filter(isLeft) }
    }
    return pruned.as === 'null' ? { result: null } : undefined
  }

  /** The answer of a node without the newest blocks; undefined if that does not matter. */
  const notYet = async (call: Call): Promise<Answer | undefined> => {
    if (moods.blocksBehind === 0) return undefined
    const has = await newest(moods.blocksBehind)
    const [first, ...rest] = call.params
    if (call.method === 'eth_blockNumber') return { result: `0x${has.toString(16)}` }
    if (call.method === 'eth_getBlockByNumber' && isTag(first)) {
      const shift = moods.announcesWhatItLacks ? moods.blocksBehind : 0
      return ask({ ...call, params: [`0x${(has + shift).toString(16)}`, ...rest] })
    }
    const number = await blockOf(call)
    if (call.method === 'eth_getLogs') {
      if ((first as LogsFilter).blockHash !== undefined) {
        return number !== null && number > has ? refusal(-32_000, 'unknown block') : undefined
      }
      // It knows no events there, and reports no error.
      const { result, error } = await ask(call)
      if (error !== undefined) return { error }
      return { result: (result as { blockNumber: string }[]).filter((log) => numberIn(log.blockNumber) <= has) }
    }
    return number !== null && number > has ? { result: null } : undefined
  }

  const limited = async (call: Call, isBehind: boolean): Promise<Answer> => {
    if (moods.refuses.has(call.method)) return refusal(-32_099, 'the moon is in the wrong house')
    if (moods.tracesNothing && call.method === 'trace_block') return { result: null }
    const [first] = call.params
    const heard = async () => (isBehind ? notYet(call) : undefined)
    if (call.method !== 'eth_getLogs') return (await forgotten(call)) ?? (await heard()) ?? ask(call)
    const { fromBlock, toBlock } = first as LogsFilter
    if (numberIn(toBlock ?? 0) - numberIn(fromBlock ?? 0) + 1 > moods.logsWidthMax) {
      return refusal(-32_600, `You can make eth_getLogs requests with up to a ${moods.logsWidthMax} block range.`)
    }
    const answer = (await forgotten(call)) ?? (await heard()) ?? (await ask(call))
    const found = Array.isArray(answer.result) ? answer.result.length : 0
    return found > moods.resultsMax ? refusal(-32_005, `query returned more than ${moods.resultsMax} results`) : answer
  }

  const answer = async (call: Call, isBehind: boolean): Promise<unknown> => {
    asked.push(call)
    return { jsonrpc: '2.0', id: call.id, ...(await limited(call, isBehind)) }
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      if (moods.away) return new Response('', { status: 503 })
      const body = (await request.json()) as Call | readonly Call[]
      const calls = 'method' in body ? [body] : body
      // One node answers all of a batch.
      const isBehind =
        moods.behindFor === null
          ? byChance() < moods.behindPercent
          : calls.some(({ method }) => method === moods.behindFor)
      if ('method' in body) return Response.json(await answer(body, isBehind))
      return Response.json(await Promise.all(body.map((call) => answer(call, isBehind))))
    },
  })

  return {
    rpcUrl: `http://127.0.0.1:${server.port}`,
    moods,
    /** No faults. */
    calm: () => void Object.assign(moods, calm()),
    /** The requests, oldest first. */
    asked,
    stop: () => server.stop(true),
  }
}

export type AwkwardNode = ReturnType<typeof startAwkwardNode>
