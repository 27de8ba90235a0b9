// Checks the indexer: in each block a wallet's balance must change by its movements and fees. A difference means that
// the activity lacks movements or has wrong ones: it is logged, counted, and alerted (docs/operations.md).
//
// The check never delays the indexer. It runs in the background, one at a time for each network, on a few of the blocks
// that were just indexed; while it runs, other blocks are not checked. A failure of the check is only logged.

import type { HasDb } from '../../../db/client.ts'
import { watchedAddresses, watchedAddressesFrom } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { BalanceCheck } from '../../chains/blocks.ts'
import type { BlockMovements, Chain } from '../../chains/chain.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasLog } from '../../platform/process/log.ts'

type CheckCtx = HasConfig & HasDb & HasLog & HasMetrics

const BLOCKS_MAX = 4
const OTHER_WALLETS_MAX = 20

type CheckedChain = Pick<Chain, 'network' | 'knownTokens' | 'checkedPercent' | 'randomAddress' | 'checkBalances'>

/** Blocks in which wallets moved something come first. */
const chooseBlocks = (
  ctx: Pick<CheckCtx, 'config'>,
  { chain, blocks, moved }: { chain: CheckedChain; blocks: readonly BlockMovements[]; moved: ReadonlySet<bigint> },
): readonly BlockMovements[] => {
  const { balanceCheckPercent, devnet } = ctx.config
  // On a devnet, balances are set by hand.
  const percent = balanceCheckPercent ?? (devnet ? 0 : chain.checkedPercent)
  const drawn = blocks.filter(() => Math.random() * 100 < percent)
  const isMoved = ({ number }: BlockMovements) => moved.has(number)
  return [...drawn.filter(isMoved), ...drawn.filter((block) => !isMoved(block)).toReversed()].slice(0, BLOCKS_MAX)
}

const report = (ctx: CheckCtx, network: Network, { block, check }: { block: BlockMovements; check: BalanceCheck }) => {
  const { balanceChecks, balanceDifferences } = ctx.metrics.chains
  balanceChecks.inc({ network }, check.checked)
  for (const { address, contract, changed, expected } of check.differences) {
    balanceDifferences.inc({ network, asset: contract === null ? 'coin' : 'token' })
    const place = { network, block: block.number.toString(), blockHash: block.hash, address, contract }
    const found = { changed: changed.toString(), expected: expected.toString() }
    ctx.log.error({ ...place, ...found }, 'a balance change differs from the activity')
  }
}

/** Checks blocks one after the other. Never rejects. */
const checkBlocks = async (
  ctx: CheckCtx,
  { chain, blocks }: { readonly chain: CheckedChain; readonly blocks: readonly BlockMovements[] },
): Promise<void> => {
  const { network, knownTokens } = chain
  const scope = {
    choose: async (addresses: readonly string[]) => {
      const moved = await watchedAddresses(ctx.db, { network, addresses })
      // Of wallets without known movements only the balances show a movement that the indexer missed.
      const from = chain.randomAddress()
      return new Set([...moved, ...(await watchedAddressesFrom(ctx.db, { network, from, limit: OTHER_WALLETS_MAX }))])
    },
    // Only contracts whose balances change by transfers alone: an unknown contract may answer anything.
    reliable: (contracts: readonly string[]) => new Set(contracts.filter((contract) => knownTokens.has(contract))),
  }
  for (const block of blocks) {
    try {
      const check = await chain.checkBalances(block, scope)
      if (check !== null) report(ctx, network, { block, check })
    } catch (err) {
      ctx.log.warn({ err, network, block: block.number.toString() }, 'could not check the balances of a block')
      return
    }
  }
}

const running = new WeakMap<object, Promise<void>>()

/** Starts a check of some of these blocks, unless one of the network is running. Returns at once. */
export const startBalanceCheck = (
  ctx: CheckCtx,
  input: {
    readonly chain: CheckedChain
    readonly blocks: readonly BlockMovements[]
    readonly moved: ReadonlySet<bigint>
  },
): void => {
  const { chain } = input
  if (running.has(chain)) return
  const blocks = chooseBlocks(ctx, input)
  if (blocks.length === 0) return
  running.set(
    chain,
    checkBlocks(ctx, { chain, blocks }).finally(() => running.delete(chain)),
  )
}

export const balanceChecksEnded = (chain: object): Promise<void> => running.get(chain) ?? Promise.resolve()
