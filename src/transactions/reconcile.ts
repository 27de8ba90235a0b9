import { addJob } from '../../db/jobs.ts'
import {
  failNonceTaken,
  longUnmined,
  markMined,
  type TransactionRow,
  touchTransaction,
  transactionWithAttempts,
} from '../../db/queries/transactions.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

/** How long a transaction may be live without being seen in a block before the node is asked about it. */
const QUIET_SECONDS = 20
const BATCH = 200

/**
 * Looks after what was left behind, by our tables and not by the queue's: whatever is live and has been quiet is looked
 * up on the chain, and sent again where the chain does not have it.
 */
export const reconcileTransactions = async (ctx: WorkerCtx, chain: Chain): Promise<void> => {
  const rows = await longUnmined(ctx.db, { network: chain.network, seconds: QUIET_SECONDS, limit: BATCH })
  for (const row of rows) {
    try {
      await reconcileOne(ctx, { chain, row })
    } catch (err) {
      ctx.log.warn({ err, network: chain.network, transactionId: row.id }, 'could not reconcile a transaction')
    }
    await touchTransaction(ctx.db, row.id)
  }
}

const reconcileOne = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly row: TransactionRow },
): Promise<void> => {
  const { chain, row } = input
  const found = await transactionWithAttempts(ctx.db, row.id)
  for (const attempt of found?.attempts ?? []) {
    const status = await chain.status(attempt.hash as Hex)
    if (status.kind === 'mined') {
      await markMined(ctx.db, { ...status, network: chain.network, transactionId: row.id, hash: attempt.hash })
      return
    }
    if (status.kind === 'pending') return
  }
  if (await isNonceTakenForGood(chain, row)) {
    await failNonceTaken(ctx.db, row.id)
    return
  }
  await addJob(
    ctx.db,
    'broadcast_transaction',
    { transactionId: row.id },
    { key: `broadcast:${row.id}`, whenKeyed: 'replace' },
  )
}

/** None of our hashes is on the chain, yet the nonce was used in a block that can no longer go away. */
const isNonceTakenForGood = async (chain: Chain, row: TransactionRow): Promise<boolean> =>
  (await chain.finalTransactionCount(row.signerAddress)) > row.nonce
