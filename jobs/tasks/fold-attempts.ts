import type { Task } from 'graphile-worker'
import { FOLDED_AFTER_DAYS, foldAttempts } from '../../db/queries/folded.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

/** A batch takes some 20 ms, so a stopping worker soon ends, and nobody waits long for a lock of it. */
const BATCH = 200
/** The rest is folded by the next job, in ten minutes. Two million transactions take a day at most. */
const BATCHES_MAX = 100

/**
 * Folds the attempts of transactions that have been final for a week to their hashes. What it has committed stays, if it is killed.
 */
export const foldAttemptsTask = (ctx: JobsCtx): Task =>
  taskOf('fold_attempts', async (_, signal) => {
    for (let batches = 0; batches < BATCHES_MAX && !signal.aborted; batches += 1) {
      const folded = await foldAttempts(ctx.db, { limit: BATCH, afterDays: FOLDED_AFTER_DAYS })
      if (folded < BATCH) return
    }
  })
