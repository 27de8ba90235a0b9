// The ladder of a transaction that is sped up.

import { and, eq, gte, sql } from 'drizzle-orm'
import type { Tx } from '../client.ts'
import { attempts, transactions } from '../schema.ts'
import type { TransactionRow } from './transactions.ts'

/**
 * Deletes rungs that were never sent, and the cancel if it was not sent either; otherwise it stays as a former cancel, because
 * the tracker must recognise it in a block.
 */
export const eraseUnsent = async (
  tx: Tx,
  input: { readonly transactionId: string; readonly fromRung: number; readonly isCancelUnsent: boolean },
): Promise<void> => {
  const { transactionId, fromRung, isCancelUnsent } = input
  const ofIt = eq(attempts.transactionId, transactionId)
  await tx.delete(attempts).where(and(ofIt, eq(attempts.kind, 'rung'), gte(attempts.rung, fromRung)))
  if (isCancelUnsent) {
    await tx.delete(attempts).where(and(ofIt, eq(attempts.kind, 'cancel')))
    return
  }
  await tx
    .update(attempts)
    .set({
      kind: 'former_cancel',
      rung: sql`(
        select count(*) from public.attempts former
        where former.transaction_id = ${transactionId} and former.kind = 'former_cancel')`,
    })
    .where(and(ofIt, eq(attempts.kind, 'cancel')))
}

/** Stores the new ladder's size and clears the give-up; `recordObservation` then chooses the rung. */
export const extendLadder = async (
  tx: Tx,
  ladder: Pick<TransactionRow, 'id' | 'rungs' | 'hasFixedFees' | 'isCutByFunds' | 'worstCost'>,
): Promise<void> => {
  const { id, ...columns } = ladder
  await tx
    .update(transactions)
    .set({ ...columns, givenUp: null })
    .where(eq(transactions.id, id))
}
