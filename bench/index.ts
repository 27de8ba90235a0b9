// Indexing a chain that is there already, from its first block to its last: with a transfer of a wallet in every event,
// and with none; beside Ponder. Payments of the coin, beside a bare loop that only fetches the same blocks whole. And
// what one more block costs with few and with many wallets.

import type { TestChain } from '../test/support/chains.ts'
import { lastFullBlock, ONE_SIDE_OF_EACH, PAYER, type Size, startCoinChain, startTokenChain } from './index-chain.ts'
import { installPonder, PONDER_VERSION, type Ponder, runPonder } from './index-ponder.ts'
import { benchWallets, type WalletsCost } from './index-wallets.ts'
import { startIndexWorld } from './index-world.ts'
import { median } from './load.ts'
import { callInBatches } from './rpc-batches.ts'

const TOKEN_CHAINS: readonly Size[] = [
  { blocks: 5_000, perBlock: 40 },
  { blocks: 100, perBlock: 2_000 },
]
const COIN_CHAIN: Size = { blocks: 400, perBlock: 40 }
const RUNS = 3
/** As our own client asks for whole blocks. */
const FULL_BLOCKS = { batch: 25, atOnce: 4 }
const METHOD_MISSING = -32_601

type Rate = { readonly eventsPerSecond: number; readonly blocksPerSecond: number }

export type TransfersBench = Size & {
  readonly kept: Rate
  readonly unwatched: Rate
  /** What of it, or why not. */
  readonly ponder: Rate | { readonly reason: string }
}

export type PaymentsBench = Size & {
  readonly nodeFullBlocksPerSecond: number
  readonly traced: Rate
  readonly untraced: Rate
}

export type IndexBench = {
  readonly transfers: readonly TransfersBench[]
  readonly payments: PaymentsBench
  readonly wallets: readonly WalletsCost[]
}

const rateOf = ({ blocks, perBlock }: Size, ms: number): Rate => ({
  eventsPerSecond: (blocks * perBlock * 1_000) / ms,
  blocksPerSecond: (blocks * 1_000) / ms,
})

const medianOf = async (measure: () => Promise<number>): Promise<number> => {
  const all: number[] = []
  for (let run = 0; run < RUNS; run += 1) all.push(await measure())
  return median(all)
}

const benchOurs = async (chain: TestChain, size: Size): Promise<Pick<TransfersBench, 'kept' | 'unwatched'>> => {
  const world = await startIndexWorld(chain.rpcUrl)
  try {
    const unwatched = await medianOf(() => world.indexAll({ kept: 0 }))
    await world.watch(ONE_SIDE_OF_EACH)
    const kept = await medianOf(() => world.indexAll({ kept: size.blocks * size.perBlock }))
    return { kept: rateOf(size, kept), unwatched: rateOf(size, unwatched) }
  } finally {
    await world.close()
  }
}

const benchTransfers = async (
  size: Size,
  input: { readonly ponder: Ponder | { readonly reason: string }; readonly databaseUrl: string },
): Promise<TransfersBench> => {
  const { ponder, databaseUrl } = input
  const chain = await startTokenChain(size)
  try {
    const ours = await benchOurs(chain, size)
    if ('reason' in ponder) return { ...size, ...ours, ponder }
    const { chainId, rpcUrl } = chain
    const lastBlock = await lastFullBlock(chain)
    const transfers = size.blocks * size.perBlock
    try {
      const ms = await runPonder({ ponder, chainId, rpcUrl, lastBlock, transfers, databaseUrl })
      return { ...size, ...ours, ponder: rateOf(size, ms) }
    } catch (error) {
      return { ...size, ...ours, ponder: { reason: error instanceof Error ? error.message : String(error) } }
    }
  } finally {
    await chain.stop()
  }
}

/** A door to a node that traces nothing, as most hosted ones. */
const startUntracedNode = (behind: string) => {
  const headers = { 'content-type': 'application/json' }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (incoming) => {
      const body = await incoming.text()
      if (!/"(trace|debug)_/.test(body)) return fetch(behind, { method: 'POST', headers, body })
      const asked = JSON.parse(body) as { id: number } | { id: number }[]
      const refusal = ({ id }: { id: number }) => ({
        ...{ jsonrpc: '2.0', id },
        error: { code: METHOD_MISSING, message: 'the method does not exist' },
      })
      return Response.json(Array.isArray(asked) ? asked.map(refusal) : refusal(asked))
    },
  })
  return { rpcUrl: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

const benchPayments = async (): Promise<PaymentsBench> => {
  const size = COIN_CHAIN
  const chain = await startCoinChain(size)
  const door = startUntracedNode(chain.rpcUrl)
  const calls = Array.from({ length: size.blocks }, (_, index) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${(index + 1).toString(16)}`, true],
  }))
  const fetchAll = async (): Promise<number> => {
    const begun = performance.now()
    await callInBatches(chain.rpcUrl, { calls, ...FULL_BLOCKS })
    return performance.now() - begun
  }
  const worlds = await Promise.all([chain.rpcUrl, door.rpcUrl].map(startIndexWorld))
  const costs: { readonly node: number[]; readonly ours: readonly number[][] } = {
    node: [],
    ours: worlds.map(() => []),
  }
  try {
    for (const world of worlds) await world.watch([PAYER])
    // In turn, so that a machine that is busy for a while is so for all of them.
    for (let run = 0; run < RUNS; run += 1) {
      costs.node.push(await fetchAll())
      for (const [index, world] of worlds.entries()) {
        costs.ours[index]?.push(await world.indexAll({ kept: size.blocks * size.perBlock }))
      }
    }
    const [traced, untraced] = costs.ours.map((each) => rateOf(size, median(each)))
    if (traced === undefined || untraced === undefined) throw new Error('expected two kinds of node')
    return { ...size, nodeFullBlocksPerSecond: rateOf(size, median(costs.node)).blocksPerSecond, traced, untraced }
  } finally {
    for (const world of worlds) await world.close()
    await door.stop()
    await chain.stop()
  }
}

/** @param input.databaseUrl the server's, as superuser. */
export const benchIndex = async (input: { readonly databaseUrl: string }): Promise<IndexBench> => {
  const ponder = await installPonder()
  try {
    const transfers: TransfersBench[] = []
    for (const size of TOKEN_CHAINS) transfers.push(await benchTransfers(size, { ...input, ponder }))
    return { transfers, payments: await benchPayments(), wallets: await benchWallets() }
  } finally {
    if ('remove' in ponder) await ponder.remove()
  }
}

const whole = (value: number) => Math.round(value).toLocaleString('en')
const percent = (value: number) => `${Math.round(value * 100)}%`
const line = (what: string, rate: Rate, beside = '') =>
  `  ${what.padEnd(44)} ${whole(rate.eventsPerSecond).padStart(10)} ${whole(rate.blocksPerSecond).padStart(10)}   ${beside}`

/** For people. */
export const indexTable = ({ transfers, payments, wallets }: IndexBench): readonly string[] => {
  const lines = ['\nIndexing from the first block to the last          events/s   blocks/s']
  for (const { blocks, perBlock, kept, unwatched, ponder } of transfers) {
    const times = (rate: Rate) =>
      'reason' in ponder ? '' : `${(rate.eventsPerSecond / ponder.eventsPerSecond).toFixed(1)} × Ponder (aim: 10)`
    const size = `${whole(blocks)} blocks of ${whole(perBlock)}`
    lines.push(line(`${size}, all of wallets`, kept, times(kept)))
    lines.push(line(`${size}, none of a wallet`, unwatched, times(unwatched)))
    if ('reason' in ponder) lines.push(`  ${size}, no figures of Ponder ${PONDER_VERSION}: ${ponder.reason}`)
    else lines.push(line(`${size}, Ponder ${PONDER_VERSION}`, ponder))
  }
  const size = `${whole(payments.blocks)} blocks of ${whole(payments.perBlock)} payments`
  const share = ({ blocksPerSecond }: Rate) =>
    `${percent(blocksPerSecond / payments.nodeFullBlocksPerSecond)} of ${whole(payments.nodeFullBlocksPerSecond)} full blocks/s, the node alone (aim: 80%)`
  lines.push(line(`${size}, traced`, payments.traced, share(payments.traced)))
  lines.push(line(`${size}, without traces`, payments.untraced, share(payments.untraced)))
  lines.push('\nOne more block with 40 transfers               p50 ms')
  for (const cost of wallets) {
    const beside = `${percent(cost.ratio)} of the first (aim: at most 120%)`
    lines.push(`  ${`${whole(cost.wallets)} wallets`.padEnd(40)} ${cost.blockMs.toFixed(2).padStart(10)}   ${beside}`)
  }
  return lines
}
