import type { TaskList } from 'graphile-worker'
import type { JobName } from '../../db/jobs.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { backfillWalletTask } from './backfill-wallet.ts'
import { broadcastTransactionTask } from './broadcast-transaction.ts'
import { chainAuditTask } from './chain-audit.ts'
import { cleanLoginsTask, dropIdempotencyKeysTask } from './clean.ts'
import { followBlocksTask } from './follow-blocks.ts'
import { reconcileTask } from './reconcile.ts'
import { sendMailTask } from './send-mail.ts'

export const createTasks = (ctx: WorkerCtx): TaskList =>
  ({
    broadcast_transaction: broadcastTransactionTask(ctx),
    track_blocks: followBlocksTask(ctx, 'track_blocks'),
    index_blocks: followBlocksTask(ctx, 'index_blocks'),
    backfill_wallet: backfillWalletTask(ctx),
    chain_audit: chainAuditTask(ctx),
    reconcile: reconcileTask(ctx),
    clean_logins: cleanLoginsTask(ctx),
    send_mail: sendMailTask(ctx),
    drop_idempotency_keys: dropIdempotencyKeysTask(ctx),
  }) satisfies Record<JobName, unknown>
