import { lowestWaiting, waitingBelow } from '../../db/queries/clocks.ts'
import type { BlockPoint } from '../../db/queries/cursors.ts'
import { noteAttemptError } from '../../db/queries/transactions.ts'
import { NONCE_USED } from '../../db/words.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { isNonceTakenForGood, reconcileOne } from './reconcile.ts'

/** What has waited for less is asked about by nobody: most of it is mined before. */
const WAITED_SECONDS = 4
/** So many signers are asked about at a block, those that have waited longest; the reconciler asks about all. */
const SIGNERS_MAX = 50

/**
 * After a block was taken in: whether it counts more transactions of a signer than are ours. Then somebody else used the
 * nonce, which is told at once as what it waits for, and as a failure as soon as that is final.
 */
export const tellUsedNonces = async (
  ctx: WorkerCtx,
  { chain, at }: { readonly chain: Chain; readonly at: BlockPoint },
): Promise<void> => {
  const { network } = chain
  const signers = await lowestWaiting(ctx.db, { network, seconds: WAITED_SECONDS, limit: SIGNERS_MAX })
  const tell = async ({ address, nonce }: (typeof signers)[number]): Promise<void> => {
    // As of that block: of one above the tracker knows nothing yet.
    const count = await chain.transactionCountAt({ address, blockNumber: at.number })
    if (count === null || count <= nonce) return
    for (const row of await waitingBelow(ctx.db, { network, address, nonce: count })) {
      await noteAttemptError(ctx.db, { network, hash: row.chosenHash, error: NONCE_USED })
      if (await isNonceTakenForGood(ctx, { chain, row })) await reconcileOne(ctx, { chain, row })
    }
  }
  const results = await Promise.allSettled(signers.map(tell))
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected')
    ctx.log.warn({ err: failed.reason, network }, 'could not ask which nonces are used')
}
