import type { Tx } from '../../db/client.ts'
import { lockTransaction, type WithAttempts } from '../../db/queries/transactions.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'
import { addSending, learn } from './learn.ts'

export const noSuchTransaction = (): AppError =>
  new AppError('transaction_not_found', 'There is no transaction with this id.')

/**
 * A transaction of any project that is in no block, and stays as it is until the database transaction
 * ends. @throws transaction_not_found, transaction_not_waiting for one that nothing can be done about any more.
 */
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
      `The transaction is mined in block ${minedBlockNumber}: nothing of it is to be sent.`,
    )
  }
  return found
}

/**
 * Gives a transaction up before its time, whatever blocks ask for: its cancelling attempt is chosen, and nothing else of it is sent from then on. A
 * rung that a node has already may be mined all the same, and then counts. It need not be its signer's lowest: the cancel
 * uses up its own nonce.
 * @returns whether it was not given up before.
 * @throws transaction_not_found, transaction_not_waiting where it is mined or final.
 */
export const cancelTransaction = (
  ctx: Pick<WorkerCtx, 'db' | 'audit' | 'metrics'>,
  input: { readonly id: string; readonly actor: string },
): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const { transaction, attempts } = await lockWaiting(tx, input.id)
    if (transaction.chosen === transaction.rungs) return false
    if (attempts[transaction.rungs] === undefined) {
      throw new AppError('invalid_input', `It is mortal: it ends by itself after block ${transaction.validUntilBlock}.`)
    }
    await learn(ctx, tx, { transactionId: input.id, news: { kind: 'cancel_asked' } })
    const { projectId, network, rungs } = transaction
    const details = { network, hash: attempts[rungs]?.hash ?? '' }
    await ctx.audit.record(tx, {
      projectId,
      actor: input.actor,
      action: 'transaction_cancelled',
      subject: input.id,
      details,
    })
    return true
  })

/**
 * Has the chosen attempt sent now, whatever became of its job. Sending is idempotent, so it may be asked for again.
 * @throws transaction_not_found, transaction_not_waiting where it is mined or final.
 */
export const retryTransaction = (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly id: string; readonly actor: string },
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { transaction } = await lockWaiting(tx, input.id)
    await addSending(tx, transaction)
    const { projectId, network, chosen } = transaction
    const details = { network, attempt: String(chosen + 1) }
    await ctx.audit.record(tx, {
      projectId,
      actor: input.actor,
      action: 'transaction_retried',
      subject: input.id,
      details,
    })
  })
