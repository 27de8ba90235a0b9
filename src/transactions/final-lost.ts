// A reorganisation that goes below what was final: transactions that were told for good may be on no chain any more, and
// their nonces free. Nothing of that is put right without an operator: `cli tx repair` shows what it would do, and does it.

import type { Tx } from '../../db/client.ts'
import { addCounts } from '../../db/queries/counts.ts'
import { type BlockPoint, oldestSeen } from '../../db/queries/cursors.ts'
import { countedTooFew } from '../../db/queries/lost.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

/** In the database transaction in which the tracker goes back. */
export const tellFinalLost = async (
  ctx: Pick<WorkerCtx, 'audit'>,
  tx: Tx,
  { chain, fork }: { readonly chain: Pick<Chain, 'network'>; readonly fork: BlockPoint },
): Promise<void> => {
  const { network } = chain
  await addCounts(tx, [{ name: 'deep_reorganisations_total', labels: { network }, amount: 1 }])
  await ctx.audit.record(tx, {
    projectId: null,
    actor: 'system',
    action: 'final_blocks_lost',
    subject: network,
    details: { network, above: String(fork.number) },
  })
}

/**
 * What the tracker cannot see by itself: that the node's newest block is below one that was final, or that the chain counts
 * fewer transactions of a signer than are final. A node that lags behind looks the same, so it is only said in the log.
 */
export const watchFinal = async (ctx: Pick<WorkerCtx, 'db' | 'log'>, chain: Chain): Promise<void> => {
  const { network } = chain
  const final = await oldestSeen(ctx.db, { network, purpose: 'track' })
  if (final === null) return
  try {
    const { latest } = await chain.head()
    if (latest.number < final.number) {
      const blocks = { newest: String(latest.number), final: String(final.number) }
      ctx.log.error({ network, ...blocks }, "the node's newest block is below one that was final: see tx repair")
    }
  } catch (err) {
    ctx.log.warn({ err, network }, 'could not ask whether what is final is still there')
  }
  for (const signer of await countedTooFew(ctx.db, { network })) {
    ctx.log.error(
      { network, ...signer },
      'the chain counts fewer transactions of a signer than are final: see tx repair',
    )
  }
}
