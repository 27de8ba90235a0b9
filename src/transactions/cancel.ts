import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'
import { learn } from './learn.ts'
import { lockWaiting } from './waiting.ts'

/**
 * Gives a transaction up before its time, whatever blocks ask for: its cancelling attempt is chosen, and nothing else of it is sent from then on. A
 * rung that a node has already may be mined all the same, and then counts. It need not be its signer's lowest: the cancel
 * uses up its own nonce.
 * @returns whether it was not given up before.
 * @throws transaction_not_found, transaction_not_waiting where it is mined or final.
 */
export const cancelTransaction = (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly id: string; readonly actor: string },
): Promise<boolean> =>
  ctx.db.transaction(async (tx) => {
    const { transaction, attempts } = await lockWaiting(tx, input.id)
    if (transaction.chosen === transaction.rungs) return false
    if (attempts[transaction.rungs] === undefined) {
      throw new AppError('invalid_input', `It is mortal: it ends by itself after block ${transaction.validUntilBlock}.`)
    }
    await learn(tx, { transactionId: input.id, news: { kind: 'cancel_asked' } })
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
