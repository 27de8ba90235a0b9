import { compactCounts } from '../../db/queries/counts.ts'
import type { WorkerCtx } from '../context.ts'

const ROWS_AT_ONCE = 50_000
/** More than a worker that was away for a night leaves behind; what is over waits for the next run. */
const ROUNDS_MAX = 200

/** Adds up what was counted, so that a scrape reads few rows. Safe to run twice at once, and to be killed at any point. */
export const compact = async (ctx: Pick<WorkerCtx, 'db'>): Promise<void> => {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if ((await compactCounts(ctx.db, { limit: ROWS_AT_ONCE })) < ROWS_AT_ONCE) return
  }
}
