import { readCursor } from '../../db/queries/cursors.ts'
import {
  longQuiet,
  type TransactionRow,
  touchTransaction,
  transactionWithAttempts,
} from '../../db/queries/transactions.ts'
import { finalNumberOf } from '../blocks/fork.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { learn, type News } from './learn.ts'

/** How long nothing may be learnt of a live transaction before the node is asked about it. */
const QUIET_SECONDS = 20
const BATCH = 200

/**
 * Looks after what was left behind, by our tables and not by the queue's: whatever is live and has been quiet is looked
 * up on the chain, and sent again where the chain does not have it.
 */
export const reconcileTransactions = async (ctx: WorkerCtx, chain: Chain): Promise<void> => {
  const rows = await longQuiet(ctx.db, { network: chain.network, seconds: QUIET_SECONDS, limit: BATCH })
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
  const news = await newsOf(ctx, input)
  if (news === null) return
  await ctx.db.transaction((tx) => learn(tx, { transactionId: input.row.id, news }))
}

/** What the node says of a transaction that was quiet; null where it says nothing new. */
const newsOf = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly row: TransactionRow },
): Promise<News | null> => {
  const { chain, row } = input
  const found = await transactionWithAttempts(ctx.db, row.id)
  if (found === null) return null
  const excluded: News | null = row.minedBlockHash === null ? null : { kind: 'excluded', blockHash: row.minedBlockHash }
  const { chosen } = found.transaction
  // The chosen one first: where that waits as it should, no other needs to be asked about.
  const inTurn = [...found.attempts.entries()].sort(
    ([one], [other]) => Number(other === chosen) - Number(one === chosen),
  )
  const pending = new Set<number>()
  for (const [attempt, { hash }] of inTurn) {
    const status = await chain.status(hash as Hex)
    if (status.kind === 'mined') {
      return { kind: 'included', hash, blockNumber: status.blockNumber, blockHash: status.blockHash }
    }
    if (status.kind === 'pending') pending.add(attempt)
    if (excluded === null && pending.has(chosen)) return null
  }
  if (excluded !== null) return excluded
  // Another one alone may never be mined, and the job that was to replace it may be lost.
  if (pending.size > 0) return { kind: 'forgotten' }
  return { kind: (await isNonceTakenForGood(ctx, input)) ? 'usurped' : 'forgotten' }
}

/**
 * The nonce was used in a block that can no longer go away, and the tracker, which has taken in every block up to there,
 * met none of our hashes: a node that lags behind or has forgotten them proves nothing.
 */
const isNonceTakenForGood = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly chain: Chain; readonly row: TransactionRow },
): Promise<boolean> => {
  const { chain, row } = input
  if ((await chain.finalTransactionCount(row.signerAddress)) <= row.nonce) return false
  const head = await chain.head()
  const cursor = await readCursor(ctx.db, { network: chain.network, purpose: 'track' })
  return cursor !== null && cursor.number >= finalNumberOf(chain, head)
}
