import type { TransactionRow } from '../../db/queries/transactions.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** A transaction's row before and after a change. */
export type Change = { readonly before: TransactionRow; readonly after: TransactionRow }

/** Counts a change of a transaction in the metrics. `mined` minus `putBack` is the number that are in a block. */
export const countOutcome = (
  { transactions: counters }: Pick<Metrics, 'transactions'>,
  { before, after }: Change,
): void => {
  const { network } = after
  if (before.broadcastAt === null && after.broadcastAt !== null) counters.broadcast.inc({ network })
  if (before.minedBlockHash !== after.minedBlockHash) {
    if (before.minedBlockHash !== null) counters.putBack.inc({ network })
    if (after.minedBlockHash !== null) counters.mined.inc({ network })
  }
  if (after.chosen > before.chosen) {
    counters.ladderSteps.inc({ network, step: after.chosen < after.rungs ? 'rung' : 'cancel' })
  }
  if (!after.final || before.final) return
  if (after.status === 'success') counters.succeeded.inc({ network })
  else counters.failed.inc({ network, code: after.errorCode ?? '' })
}
