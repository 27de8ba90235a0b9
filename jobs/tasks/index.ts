import type { Task } from 'graphile-worker'
import { addJob, type JobName } from '../../db/jobs.ts'
import { expireApprovals } from '../../db/queries/approvals.ts'
import { FOLDED_AFTER_DAYS, foldAttempts } from '../../db/queries/attempts.ts'
import { noteHeads } from '../../db/queries/cursors.ts'
import { dropOldEvents } from '../../db/queries/events.ts'
import { dropOldIdempotencyKeys } from '../../db/queries/idempotency-keys.ts'
import { dropExpiredLogins } from '../../db/queries/logins.ts'
import { dropOldMails } from '../../db/queries/mails.ts'
import { unlockJobsOfDeadWorkers } from '../../db/queries/processes.ts'
import { dropOldDeliveries } from '../../db/queries/webhook-deliveries.ts'
import { settleDoubtfulContracts } from '../../src/assets/activity/settle-doubtful-contracts.ts'
import { startRound } from '../../src/blocks/follow.ts'
import type { NodeView } from '../../src/chains/nodes.ts'
import { type Couriers, createCouriers } from '../../src/events/webhooks/couriers.ts'
import { sendMail } from '../../src/identity/mail/send.ts'
import { createShares, type Shares } from '../../src/platform/queue.ts'
import { refreshSignerStates } from '../../src/signing/transactions/after-block.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { checkFinalBlocks } from '../../src/signing/transactions/repair.ts'
import type { JobsCtx } from '../ctx.ts'
import { backfillWalletTask, startBackfills } from './backfill-wallet.ts'
import { followBlocksTask, startFollowers } from './follow-blocks.ts'
import { taskOf } from './task.ts'

const HALF_A_MINUTE_SECONDS = 30

/** Restarts what is stuck because a job was lost: jobs of dead workers, followers, backfills, webhooks and live transactions. */
export const reconcileTask = (ctx: JobsCtx, couriers: Pick<Couriers, 'wakeAll'> = createCouriers(ctx)): Task =>
  taskOf('reconcile', async ({ again }) => {
    const second = { key: 'reconcile:second', delaySeconds: HALF_A_MINUTE_SECONDS }
    if (again) await addJob(ctx.db, 'reconcile', { again: false }, second)
    await unlockJobsOfDeadWorkers(ctx.db)
    await startFollowers(ctx)
    await startBackfills(ctx)
    await couriers.wakeAll()
    // A node that hangs delays only its own network. Each piece of work has its own round, so that one which does not finish leaves
    // time for the next.
    await Promise.all(
      ctx.chains.all.map(async (chain) => {
        await reconcileTransactions(ctx, startRound(chain))
        await refreshSignerStates(ctx, startRound(chain))
        await checkFinalBlocks(ctx, chain)
        await settleDoubtfulContracts(ctx, startRound(chain))
      }),
    )
  })

/** Deletes expired logins and sessions, old mails, and deliveries that have ended. */
export const cleanLoginsTask = (ctx: JobsCtx): Task =>
  taskOf('clean_logins', async () => {
    await dropExpiredLogins(ctx.db)
    await dropOldMails(ctx.db)
    await dropOldDeliveries(ctx.db)
  })

/** Deletes events whose time is over. */
const dropEventsTask = (ctx: JobsCtx): Task =>
  taskOf('drop_events', () => dropOldEvents(ctx.db, { keptDays: ctx.config.eventDays }))

/** Notes which approvals have expired. Nobody can use them even before that. */
const expireApprovalsTask = (ctx: JobsCtx): Task => taskOf('expire_approvals', () => expireApprovals(ctx.db))

/** Deletes expired idempotency keys. Requests ignore them even before that. */
export const dropIdempotencyKeysTask = (ctx: JobsCtx): Task =>
  taskOf('drop_idempotency_keys', () => dropOldIdempotencyKeys(ctx.db))

/** The newest block of a node that answers, of the right chain. */
const headAmong = (views: readonly NodeView[]): bigint | null =>
  views.reduce<bigint | null>((highest, { state, height }) => {
    if (height === null || state === 'down' || state === 'failing' || state === 'wrong_chain') return highest
    return highest === null || height > highest ? height : highest
  }, null)

/** Notes how far each network's followers are behind. It is a job of its own, so that it also says so when they stand still. */
const noteHeadsTask = (ctx: JobsCtx): Task =>
  taskOf('note_heads', async () => {
    const looks = ctx.chains.all.map(async ({ network, lookAtNodes }) => ({
      network,
      head: headAmong(await lookAtNodes()),
    }))
    await noteHeads(ctx.db, await Promise.all(looks))
  })

const FIRST_DELAY_SECONDS = 1
const MAX_DELAY_SECONDS = 30
/** Above this the delay stays the same: a node may refuse for days. */
const MAX_TRIES_COUNTED = 10

/** Sends a transaction, and again after growing delays. If this job is lost, the reconciler sends it again. */
const broadcastTransactionTask = (ctx: JobsCtx, places: Shares): Task =>
  taskOf('broadcast_transaction', async ({ transactionId, network, tries = 0 }, signal) => {
    const result = await places.run(network, () => broadcastTransaction(ctx, transactionId))
    if (result === 'done' || signal.aborted) return
    const delaySeconds = Math.min(FIRST_DELAY_SECONDS * 2 ** tries, MAX_DELAY_SECONDS)
    const payload = { transactionId, network, tries: Math.min(tries + 1, MAX_TRIES_COUNTED) }
    await addJob(ctx.db, 'broadcast_transaction', payload, { key: `broadcast:${transactionId}`, delaySeconds })
  })

/** A batch takes some 20 ms, so a stopping worker soon ends, and nobody waits long for a lock of it. */
const BATCH = 200
/** The rest is folded by the next job, in ten minutes. Two million transactions take a day at most. */
const BATCHES_MAX = 100

/**
 * Folds the attempts of transactions that have been final for a week to their hashes. What it has committed stays, if it is killed.
 */
const foldAttemptsTask = (ctx: JobsCtx): Task =>
  taskOf('fold_attempts', async (_, signal) => {
    for (let batches = 0; batches < BATCHES_MAX && !signal.aborted; batches += 1) {
      const folded = await foldAttempts(ctx.db, { limit: BATCH, afterDays: FOLDED_AFTER_DAYS })
      if (folded < BATCH) return
    }
  })

/** Sends a mail, and again after growing delays until the server takes it or the mail has expired. */
const sendMailTask = (ctx: JobsCtx): Task =>
  taskOf('send_mail', async ({ mailId }) => {
    const result = await sendMail(ctx, mailId)
    if (result.state === 'done') return
    const { delaySeconds } = result
    await addJob(ctx.db, 'send_mail', { mailId }, { key: `mail:${mailId}`, delaySeconds })
  })

/** Has an endpoint's deliveries sent. Ends at once, while they are under way. */
const deliverWebhooksTask = (couriers: Couriers): Task =>
  taskOf('deliver_webhooks', async ({ endpointId }) => couriers.wake(endpointId))

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
