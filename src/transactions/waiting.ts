import type { Tx } from '../../db/client.ts'
import { lockTransaction, type WithAttempts } from '../../db/queries/transactions.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { addBroadcastJob, recordObservation } from './record-observation.ts'

export const noSuchTransaction = (): AppError =>
  new AppError('transaction_not_found', 'There is no transaction with this id.')

/** Locks a transaction of any project that is in no block. */
export const lockWaiting = async (tx: Tx, id: string): Promise<WithAttempts> => {
  const found = await lockTransaction(tx, id)
  if (found === null) throw noSuchTransaction()
  const { status, errorCode, final, minedBlockNumber, minedBlockHash } = found.transaction
  if (final) {
    const how = errorCode === null ? status : `${status} (${errorCode})`
    throw new AppError(
      'transaction_not_waiting',
      `The transaction is final: ${how}. Nothing can be done about it any more.`,
    )
  }
  if (minedBlockHash !== null) {
    throw new AppError(
      'transaction_not_waiting',
      `The transaction is mined in block ${minedBlockNumber}: there is nothing to send.`,
    )
  }
  return found
}

/**
 * Gives up a transaction at once, at any fees: chooses its cancel, and nothing else of it is sent from then on. A rung that a
 * node already has may still be mined, and then counts.
 * @returns false if it was given up before.
 * @throws transaction_not_found, transaction_not_waiting, invalid_input for a mortal extrinsic.
 */
export const cancelTransaction = (
  ctx: Pick<Ctx, 'db' | 'audit' | 'metrics' | 'tracer'>,
  { id, actor }: { readonly id: string; readonly actor: string },
): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const { transaction, attempts } = await lockWaiting(tx, id)
    if (transaction.chosen === transaction.rungs) return false
    if (attempts[transaction.rungs] === undefined) {
      throw new AppError('invalid_input', `It is mortal: it ends by itself after block ${transaction.validUntilBlock}.`)
    }
    await recordObservation(ctx, tx, { transactionId: id, observation: { kind: 'cancel_requested' } })
    const { projectId, network, rungs } = transaction
    const details = { network, transaction: id, hash: attempts[rungs]?.hash ?? '' }
    await ctx.audit.record(tx, { projectId, actor, action: 'transaction_cancelled', subject: id, details })
    return true
  })

/** Adds a job that sends the chosen attempt now. Idempotent. */
export const retryTransaction = (
  ctx: Pick<Ctx, 'db' | 'audit'>,
  { id, actor }: { readonly id: string; readonly actor: string },
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { transaction } = await lockWaiting(tx, id)
    await addBroadcastJob(tx, transaction)
    const { projectId, network, chosen } = transaction
    const details = { network, transaction: id, attempt: String(chosen + 1) }
    await ctx.audit.record(tx, { projectId, actor, action: 'transaction_retried', subject: id, details })
  })
