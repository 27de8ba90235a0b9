import type { TaskList } from 'graphile-worker'
import type { JobName } from '../../db/jobs.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { broadcastTransactionTask } from './broadcast-transaction.ts'
import { followBlocksTask } from './follow-blocks.ts'
import { reconcileTask } from './reconcile.ts'

/** Every task by its name. */
export const createTasks = (ctx: WorkerCtx): TaskList =>
  ({
    broadcast_transaction: broadcastTransactionTask(ctx),
    track_blocks: followBlocksTask(ctx, 'track_blocks'),
    index_blocks: followBlocksTask(ctx, 'index_blocks'),
    reconcile: reconcileTask(ctx),
  }) satisfies Record<JobName, unknown>
