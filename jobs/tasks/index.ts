import type { JobName } from '../../db/jobs.ts'
import { type Couriers, createCouriers } from '../../src/events/webhooks/couriers.ts'
import { createShares } from '../../src/platform/queue.ts'
import type { JobsCtx } from '../ctx.ts'
import { backfillWalletTask } from './backfill-wallet.ts'
import { broadcastTransactionTask } from './broadcast-transaction.ts'
import { cleanLoginsTask, dropEventsTask, dropIdempotencyKeysTask, expireApprovalsTask } from './clean.ts'
import { deliverWebhooksTask } from './deliver-webhooks.ts'
import { foldAttemptsTask } from './fold-attempts.ts'
import { followBlocksTask } from './follow-blocks.ts'
import { noteHeadsTask } from './note-heads.ts'
import { reconcileTask } from './reconcile.ts'
import { sendMailTask } from './send-mail.ts'

/** Jobs of one network take at most a quarter of the places; its followers have theirs besides. */
const PART_OF_PLACES = 4
const SLOW_AFTER_MS = 1_000

export const createTasks = (ctx: JobsCtx, couriers: Couriers = createCouriers(ctx)) => {
  const atOnce = Math.max(1, Math.floor(ctx.config.workerConcurrency / PART_OF_PLACES))
  const places = createShares({ atOnce, slowAfterMs: SLOW_AFTER_MS })
  return {
    broadcast_transaction: broadcastTransactionTask(ctx, places),
    track_blocks: followBlocksTask(ctx, 'track_blocks'),
    index_blocks: followBlocksTask(ctx, 'index_blocks'),
    backfill_wallet: backfillWalletTask(ctx, places),
    reconcile: reconcileTask(ctx, couriers),
    clean_logins: cleanLoginsTask(ctx),
    drop_events: dropEventsTask(ctx),
    expire_approvals: expireApprovalsTask(ctx),
    note_heads: noteHeadsTask(ctx),
    fold_attempts: foldAttemptsTask(ctx),
    send_mail: sendMailTask(ctx),
    deliver_webhooks: deliverWebhooksTask(couriers),
    drop_idempotency_keys: dropIdempotencyKeysTask(ctx),
  } satisfies Record<JobName, unknown>
}
