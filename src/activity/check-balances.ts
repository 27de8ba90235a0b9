// An invariant beside the indexer: what a wallet holds must change by what was told of a block, and by fees. A difference means
// that movements are missing in the activity, or wrong: it is logged, counted, and alerted (docs/operations.md).
//
// It never holds the indexer up: one check of a network runs at a time, in the background, of a few blocks of those that were
// taken in just now; while it runs, other blocks pass by unchecked. Its own failures are logged, and end nothing.

import { watchedAddresses, watchedAddressesFrom } from '../../db/queries/wallets.ts'
import type { BalanceCheck } from '../chains/balance-check.ts'
import type { BlockMovements, Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { DEFAULT_LOOKS } from '../tokens/default-list.ts'

type CheckCtx = Pick<WorkerCtx, 'config' | 'db' | 'log' | 'metrics'>

/** Of one range that the indexer takes in. */
const BLOCKS_MAX = 4
/** Wallets that are looked at in each block, whether it touched them or not; others each time. */
const OTHERS_MAX = 20

/** Those that wallets moved something in come first. */
const chosenOf = (
  ctx: Pick<CheckCtx, 'config'>,
  { chain, blocks, moved }: { chain: Chain; blocks: readonly BlockMovements[]; moved: ReadonlySet<bigint> },
): readonly BlockMovements[] => {
  const { balanceCheckPercent, devnet } = ctx.config
  // Whoever rules a devnet sets balances by hand.
  const percent = balanceCheckPercent ?? (devnet ? 0 : chain.checkedPercent)
  const drawn = blocks.filter(() => Math.random() * 100 < percent)
  const isMoved = ({ number }: BlockMovements) => moved.has(number)
  return [...drawn.filter(isMoved), ...drawn.filter((block) => !isMoved(block)).toReversed()].slice(0, BLOCKS_MAX)
}

/** Beside those that a block is known to have touched: what nothing tells of shows in the balances of others alone. */
const someWatched = (ctx: Pick<CheckCtx, 'db'>, chain: Chain): Promise<readonly string[]> =>
  watchedAddressesFrom(ctx.db, { network: chain.network, from: chain.randomAddress(), limit: OTHERS_MAX })

const tell = (ctx: CheckCtx, { chain, block, check }: { chain: Chain; block: BlockMovements; check: BalanceCheck }) => {
  const { network } = chain
  const { balanceChecks, balanceDifferences } = ctx.metrics.chains
  balanceChecks.inc({ network }, check.checked)
  for (const { address, contract, changed, told } of check.differences) {
    balanceDifferences.inc({ network, asset: contract === null ? 'coin' : 'token' })
    const facts = { network, block: block.number.toString(), blockHash: block.hash, address, contract }
    ctx.log.error(
      { ...facts, changed: changed.toString(), told: told.toString() },
      'a balance changed otherwise than the activity tells',
    )
  }
}

/** Holds some blocks against balances, one after the other. Never rejects. */
const checkBlocks = async (
  ctx: CheckCtx,
  { chain, blocks }: { readonly chain: Chain; readonly blocks: readonly BlockMovements[] },
): Promise<void> => {
  const { network, chainId } = chain
  const scope = {
    choose: async (addresses: readonly string[]) =>
      new Set([...(await watchedAddresses(ctx.db, { network, addresses })), ...(await someWatched(ctx, chain))]),
    // Anybody's contract may answer anything; these are known to change balances by transfers alone.
    reliable: (contracts: readonly string[]) =>
      new Set(contracts.filter((contract) => DEFAULT_LOOKS.get(chainId)?.has(contract))),
  }
  for (const block of blocks) {
    try {
      const check = await chain.checkBalances(block, scope)
      if (check !== null) tell(ctx, { chain, block, check })
    } catch (err) {
      ctx.log.warn({ err, network, block: block.number.toString() }, 'a block could not be held against balances')
      return
    }
  }
}

const running = new WeakMap<Chain, Promise<void>>()

/** Begins to hold some of these blocks against balances, unless a check of the network runs already. Returns at once. */
export const beginCheck = (
  ctx: CheckCtx,
  input: {
    readonly chain: Chain
    readonly blocks: readonly BlockMovements[]
    /** The numbers of those in which a wallet moved something. */
    readonly moved: ReadonlySet<bigint>
  },
): void => {
  const { chain } = input
  if (running.has(chain)) return
  const blocks = chosenOf(ctx, input)
  if (blocks.length === 0) return
  running.set(
    chain,
    checkBlocks(ctx, { chain, blocks }).finally(() => running.delete(chain)),
  )
}

/** Resolves when no check of a network runs. */
export const checksEnded = (chain: Chain): Promise<void> => running.get(chain) ?? Promise.resolve()
