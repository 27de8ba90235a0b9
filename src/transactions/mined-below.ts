import { longQuiet } from '../../db/queries/transactions.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { type Learnt, learnAll } from './learn.ts'

/** The longest known; what is more than that, or was mined by another attempt than the chosen one, the reconciler finds. */
const ASKED_MAX = 1_000

/**
 * A tracker that begins at a block will come by none below it: what workers sent before, and is mined there already, is asked
 * for by its hash. @throws node_unavailable.
 */
export const learnMinedBelow = async (
  ctx: Pick<WorkerCtx, 'db'>,
  { chain, upToBlock }: { readonly chain: Chain; readonly upToBlock: bigint },
): Promise<void> => {
  const rows = await longQuiet(ctx.db, { network: chain.network, seconds: 0, limit: ASKED_MAX })
  const statuses = await chain.statuses(
    rows.map(({ chosenHash, minedBlockHash }) => ({
      hash: chosenHash as Hex,
      blockHash: minedBlockHash as Hex | null,
    })),
  )
  const mined = rows.flatMap(({ id: transactionId, chosenHash: hash }, index): readonly Learnt[] => {
    const status = statuses[index]
    if (status?.kind !== 'mined' || status.blockNumber > upToBlock) return []
    const { blockNumber, blockHash } = status
    return [{ transactionId, news: { kind: 'included', hash, blockNumber, blockHash } }]
  })
  await ctx.db.transaction((tx) => learnAll(tx, mined))
}
