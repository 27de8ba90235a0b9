import {
  type AttemptRow,
  markBroadcast,
  noteAttemptError,
  type TransactionRow,
  transactionWithAttempts,
} from '../../db/queries/transactions.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { unreachable } from '../errors.ts'

/** Whether the job is done, or should be tried again after a while because nothing certain is known. */
export type BroadcastResult = 'done' | 'try_again'

const isRaw = (text: string | null): text is Hex => text?.startsWith('0x') === true

/**
 * Sends a transaction's recorded bytes. Sending is idempotent, so no lock is held; an ambiguous answer leaves everything
 * as it is, and neither frees a nonce nor fails an intent.
 */
export const broadcastTransaction = async (ctx: WorkerCtx, transactionId: string): Promise<BroadcastResult> => {
  const found = await transactionWithAttempts(ctx.db, transactionId)
  if (found === null || found.transaction.minedBlockHash !== null || found.transaction.settledAt !== null) return 'done'
  const attempt = found.attempts.find((each) => each.kind === 'rung' && each.raw !== null)
  if (attempt === undefined || !isRaw(attempt.raw)) return 'done'
  const chain = ctx.chains.get(found.transaction.network)
  return heed(ctx, { chain, transaction: found.transaction, attempt, outcome: await chain.broadcast(attempt.raw) })
}

type Heard = {
  readonly chain: Chain
  readonly transaction: TransactionRow
  readonly attempt: AttemptRow
  readonly outcome: Awaited<ReturnType<Chain['broadcast']>>
}

const heed = async (ctx: WorkerCtx, heard: Heard): Promise<BroadcastResult> => {
  const { transaction, attempt, outcome } = heard
  const { network } = transaction
  switch (outcome.kind) {
    case 'accepted':
      await markBroadcast(ctx.db, { network, transactionId: transaction.id, hash: attempt.hash })
      return 'done'
    case 'nonce_too_low':
      return heedUsedNonce(ctx, heard)
    case 'nonce_too_high':
      await noteAttemptError(ctx.db, { network, hash: attempt.hash, error: 'waits for a lower nonce' })
      return 'try_again'
    case 'underpriced':
    case 'insufficient_funds':
    case 'rejected':
    case 'unknown':
      ctx.log.warn(
        { network, transactionId: transaction.id, outcome: outcome.kind },
        'the node did not take a transaction',
      )
      await noteAttemptError(ctx.db, { network, hash: attempt.hash, error: `${outcome.kind}: ${outcome.reason}` })
      return 'try_again'
    default:
      return unreachable(outcome)
  }
}

/** The nonce is mined: by our own bytes (the tracker tells), or by a stranger's (the reconciler decides when that is final). */
const heedUsedNonce = async (ctx: WorkerCtx, heard: Heard): Promise<BroadcastResult> => {
  const { chain, transaction, attempt } = heard
  const { network } = transaction
  const status = await chain.status(attempt.hash as Hex)
  if (status.kind === 'unknown') {
    await noteAttemptError(ctx.db, { network, hash: attempt.hash, error: 'the nonce is used on the chain' })
    return 'done'
  }
  await markBroadcast(ctx.db, { network, transactionId: transaction.id, hash: attempt.hash })
  return 'done'
}
