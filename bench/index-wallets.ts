// What one more block costs with few and with many wallets: the same blocks of one chain, in a database of each size,
// in turn.

import { indexStep } from '../src/assets/activity/index-blocks.ts'
import { fundedAccount, startChain, type TestChain } from '../test/support/chains.ts'
import type { WorkerCtx } from '../test/support/worker-here.ts'
import { deployCrowd, FIRST_SENDERS, NETWORK } from './index-chain.ts'
import { catchUp, type IndexWorld, startIndexWorld } from './index-world.ts'
import { median } from './load.ts'

const WALLETS = [10, 10_000, 1_000_000] as const
const TRANSFERS = 40
const ROUNDS = 100
const WARM_UP_ROUNDS = 30
const GAS = 400_000n

/** Medians. */
export type WalletsCost = { readonly wallets: number; readonly blockMs: number; readonly ratio: number }

const stepMs = async (ctx: WorkerCtx): Promise<number> => {
  const begun = performance.now()
  const result = await indexStep(ctx, ctx.chains.withNode(NETWORK))
  if (result !== 'advanced') throw new Error(`a step with a new block came to ${result}`)
  return performance.now() - begun
}

/** @returns the cost of each block, by worker. */
const measure = async (chain: TestChain, workers: readonly WorkerCtx[]): Promise<readonly (readonly number[])[]> => {
  const tell = (await deployCrowd(chain))(0, TRANSFERS)
  for (const ctx of workers) await catchUp(ctx)
  const costs = workers.map((): number[] => [])
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    await chain.walletClient.sendTransaction({ ...tell, account: fundedAccount(0), gas: GAS })
    await chain.poolMined()
    // Nobody is always the first to ask for a block.
    const turns = workers.map((_, turn) => (turn + round) % workers.length)
    for (const turn of turns) {
      const ctx = workers[turn]
      const ms = ctx === undefined ? Number.NaN : await stepMs(ctx)
      if (round >= WARM_UP_ROUNDS) costs[turn]?.push(ms)
    }
  }
  return costs
}

/** A block with 40 transfers, ten of them from wallets. */
export const benchWallets = async (): Promise<readonly WalletsCost[]> => {
  const chain = await startChain(NETWORK)
  const worlds: IndexWorld[] = []
  const workers: WorkerCtx[] = []
  try {
    for (const count of WALLETS) {
      const world = await startIndexWorld(chain.rpcUrl)
      worlds.push(world)
      await world.watch(FIRST_SENDERS)
      await world.watchStrangers(count - FIRST_SENDERS.length)
      await world.sql`vacuum analyze`
      workers.push(await world.openWorker())
    }
    const blocksMs = (await measure(chain, workers)).map(median)
    return WALLETS.map((wallets, index) => {
      const blockMs = blocksMs[index] ?? Number.NaN
      return { wallets, blockMs, ratio: blockMs / (blocksMs[0] ?? Number.NaN) }
    })
  } finally {
    for (const ctx of workers) await ctx.close({ timeoutSeconds: 5 })
    for (const world of worlds) await world.close()
    await chain.stop()
  }
}
