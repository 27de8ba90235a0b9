import type { WorkerCtx } from '../context.ts'
import { addSending } from './learn.ts'
import { lockWaiting } from './waiting.ts'

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
