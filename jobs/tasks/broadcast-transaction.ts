import type { Task } from 'graphile-worker'
import { addJob } from '../../db/jobs.ts'
import type { Shares } from '../../src/platform/queue.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

const FIRST_DELAY_SECONDS = 1
const MAX_DELAY_SECONDS = 30
/** Above this the delay stays the same: a node may refuse for days. */
const MAX_TRIES_COUNTED = 10

/** Sends a transaction, and again after growing delays. If this job is lost, the reconciler sends it again. */
export const broadcastTransactionTask = (ctx: JobsCtx, places: Shares): Task =>
  taskOf('broadcast_transaction', async ({ transactionId, network, tries = 0 }, signal) => {
    const result = await places.run(network, () => broadcastTransaction(ctx, transactionId))
    if (result === 'done' || signal.aborted) return
    const delaySeconds = Math.min(FIRST_DELAY_SECONDS * 2 ** tries, MAX_DELAY_SECONDS)
    const payload = { transactionId, network, tries: Math.min(tries + 1, MAX_TRIES_COUNTED) }
    await addJob(ctx.db, 'broadcast_transaction', payload, { key: `broadcast:${transactionId}`, delaySeconds })
  })
