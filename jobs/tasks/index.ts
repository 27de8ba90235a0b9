import { Value } from '@sinclair/typebox/value'
import type { Task } from 'graphile-worker'
import { addJob, JOB_PAYLOADS, type JobName, type JobPayload } from '../../db/jobs.ts'
import { expireApprovals } from '../../db/queries/approvals.ts'
import { openBackfills } from '../../db/queries/backfills.ts'
import { recordFollowedNetwork } from '../../db/queries/clocks.ts'
import { noteHeads, recordStep } from '../../db/queries/cursors.ts'
import { dropOldEvents } from '../../db/queries/events.ts'
import { dropOldIdempotencyKeys } from '../../db/queries/idempotency-keys.ts'
import { dropExpiredLogins } from '../../db/queries/logins.ts'
import { dropOldMails } from '../../db/queries/mails.ts'
import { unlockJobsOfDeadWorkers } from '../../db/queries/processes.ts'
import { dropOldDeliveries } from '../../db/queries/webhook-deliveries.ts'
import type { CursorPurpose } from '../../db/words.ts'
import { backfillShift } from '../../src/assets/activity/backfill.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import { settleDoubtfulContracts } from '../../src/assets/activity/settle-doubtful-contracts.ts'
import { follow, type StepResult, startRound } from '../../src/blocks/follow.ts'
import type { Chain } from '../../src/chains/chain.ts'
import type { NodeView } from '../../src/chains/nodes.ts'
import { createDeliverers, type Deliverers } from '../../src/events/webhooks/deliverers.ts'
import { sendMail } from '../../src/identity/mail/send.ts'
import { createShares, type Shares } from '../../src/platform/queue.ts'
import { refreshSignerStates } from '../../src/signing/transactions/after-block.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { checkFinalBlocks } from '../../src/signing/transactions/repair.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { backfillJobKey } from '../../src/signing/wallets/create.ts'
import type { JobsCtx } from '../ctx.ts'

/** A task that checks its payload before it runs. The signal is aborted when the worker stops. */
const taskOf =
  <Name extends JobName>(name: Name, run: (payload: JobPayload<Name>, signal: AbortSignal) => Promise<unknown>): Task =>
  async (payload, { abortSignal = new AbortController().signal }) => {
    if (!Value.Check(JOB_PAYLOADS[name], payload)) throw new Error(`the payload of a ${name} job is malformed`)
    await run(payload as JobPayload<Name>, abortSignal)
  }

type FollowerTask = 'track_blocks' | 'index_blocks'

type Following = {
  readonly purpose: CursorPurpose
  readonly step: (ctx: JobsCtx, chain: Chain) => Promise<StepResult>
}

const FOLLOWERS: Record<FollowerTask, Following> = {
  track_blocks: { purpose: 'track', step: trackStep },
  index_blocks: { purpose: 'index', step: indexStep },
}

const NOTE_EVERY_MS = 5_000

const keyOf = (name: FollowerTask, network: string) => `${name}:${network}`

const followBlocksTask = (ctx: JobsCtx, name: FollowerTask): Task =>
  taskOf(name, async ({ network }, signal) => {
    const chain = ctx.chains.withNode(network)
    const { purpose, step } = FOLLOWERS[name]
    let notedAtMs = Number.NEGATIVE_INFINITY
    const { startAgain } = await follow(ctx, {
      what: keyOf(name, network),
      pauseMs: chain.pollIntervalMs,
      nextBlock: chain.nextBlock,
      signal,
      step: async () => {
        const result = await step(ctx, chain)
        if (result !== 'overtaken' && performance.now() - notedAtMs > NOTE_EVERY_MS) {
          await recordStep(ctx.db, { network: chain.network, purpose })
          notedAtMs = performance.now()
        }
        return result
      },
    })
    if (startAgain) await addJob(ctx.db, name, { network }, { key: keyOf(name, network), whenKeyed: 'replace' })
  })

/** Adds missing jobs of the two followers of each network; leaves running and waiting ones alone. */
export const startFollowers = async (ctx: JobsCtx): Promise<void> => {
  for (const { network, depth, patience } of ctx.chains.all) {
    await recordFollowedNetwork(ctx.db, { network, confirmations: depth.confirmations, ...patience })
    await addJob(ctx.db, 'track_blocks', { network }, { key: keyOf('track_blocks', network), whenKeyed: 'keep' })
    await addJob(ctx.db, 'index_blocks', { network }, { key: keyOf('index_blocks', network), whenKeyed: 'keep' })
  }
}

const HALF_A_MINUTE_SECONDS = 30

/** Restarts what stands still because a job was lost: followers, backfills, webhooks and live transactions. */
export const reconcileTask = (ctx: JobsCtx, deliverers: Pick<Deliverers, 'wakeAll'> = createDeliverers(ctx)): Task =>
  taskOf('reconcile', async ({ again }) => {
    const second = { key: 'reconcile:second', delaySeconds: HALF_A_MINUTE_SECONDS }
    if (again) await addJob(ctx.db, 'reconcile', { again: false }, second)
    await unlockJobsOfDeadWorkers(ctx.db)
    await startFollowers(ctx)
    await startBackfills(ctx)
    await deliverers.wakeAll()
    // A node that hangs delays only its own network. Each piece of work has its own round, so that one which does not
    // finish leaves time for the next.
    await Promise.all(
      ctx.chains.all.map(async (chain) => {
        await reconcileTransactions(ctx, startRound(chain))
        await refreshSignerStates(ctx, startRound(chain))
        await checkFinalBlocks(ctx, chain)
        await settleDoubtfulContracts(ctx, startRound(chain))
      }),
    )
  })

export const cleanLoginsTask = (ctx: JobsCtx): Task =>
  taskOf('clean_logins', async () => {
    await dropExpiredLogins(ctx.db)
    await dropOldMails(ctx.db)
    await dropOldDeliveries(ctx.db)
  })

/** Deletes expired idempotency keys. Requests ignore them even before that. */
export const dropIdempotencyKeysTask = (ctx: JobsCtx): Task =>
  taskOf('drop_idempotency_keys', () => dropOldIdempotencyKeys(ctx.db))

const headAmong = (views: readonly NodeView[]): bigint | null =>
  views.reduce<bigint | null>((highest, { state, height }) => {
    if (height === null || state === 'down' || state === 'failing' || state === 'wrong_chain') return highest
    return highest === null || height > highest ? height : highest
  }, null)

/** A job of its own records how far each network's followers are behind, also while they stand still. */
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
  taskOf('broadcast_transaction', async ({ transactionId, network, tries = 0 }) => {
    const result = await places.run(network, () => broadcastTransaction(ctx, transactionId))
    if (result === 'done') return
    const delaySeconds = Math.min(FIRST_DELAY_SECONDS * 2 ** tries, MAX_DELAY_SECONDS)
    const payload = { transactionId, network, tries: Math.min(tries + 1, MAX_TRIES_COUNTED) }
    await addJob(ctx.db, 'broadcast_transaction', payload, { key: `broadcast:${transactionId}`, delaySeconds })
  })

/** Sends a mail, and again after growing delays until the server takes it or the mail has expired. */
const sendMailTask = (ctx: JobsCtx): Task =>
  taskOf('send_mail', async ({ mailId }) => {
    const result = await sendMail(ctx, mailId)
    if (result.state === 'done') return
    const { delaySeconds } = result
    await addJob(ctx.db, 'send_mail', { mailId }, { key: `mail:${mailId}`, delaySeconds })
  })

/** Jobs of one network take at most a quarter of the places; its followers have theirs besides. */
const PART_OF_PLACES = 4
const SLOW_AFTER_MS = 1_000

export const createTasks = (ctx: JobsCtx, deliverers: Deliverers = createDeliverers(ctx)) => {
  const atOnce = Math.max(1, Math.floor(ctx.config.workerConcurrency / PART_OF_PLACES))
  const places = createShares({ atOnce, slowAfterMs: SLOW_AFTER_MS })
  return {
    broadcast_transaction: broadcastTransactionTask(ctx, places),
    track_blocks: followBlocksTask(ctx, 'track_blocks'),
    index_blocks: followBlocksTask(ctx, 'index_blocks'),
    backfill_wallet: backfillWalletTask(ctx, places),
    reconcile: reconcileTask(ctx, deliverers),
    clean_logins: cleanLoginsTask(ctx),
    drop_events: taskOf('drop_events', () => dropOldEvents(ctx.db, { keptDays: ctx.config.eventDays })),
    // Notes which approvals have expired. No caller can use them even before that.
    expire_approvals: taskOf('expire_approvals', () => expireApprovals(ctx.db)),
    note_heads: noteHeadsTask(ctx),
    send_mail: sendMailTask(ctx),
    // Has an endpoint's deliveries sent. Ends at once, while they are under way.
    deliver_webhooks: taskOf('deliver_webhooks', async ({ endpointId }) => deliverers.wake(endpointId)),
    drop_idempotency_keys: dropIdempotencyKeysTask(ctx),
  } satisfies Record<JobName, unknown>
}

const TAKEN_UP_AT_ONCE = 1_000
const CROWDED_DELAY_SECONDS = 5

const backfillWalletTask = (ctx: JobsCtx, places: Shares): Task =>
  taskOf('backfill_wallet', async ({ network, address }, signal) => {
    const chain = ctx.chains.all.find((each) => each.network === network)
    // Its row waits until the network has a node (startBackfills).
    if (chain === undefined) return
    const result = await places.run(network, () => backfillShift(ctx, { chain, address, signal }))
    if (result === null) return
    const delaySeconds = result === 'crowded' ? CROWDED_DELAY_SECONDS : result
    const key = backfillJobKey({ network, address })
    await addJob(ctx.db, 'backfill_wallet', { network, address }, { key, whenKeyed: 'replace', delaySeconds })
  })

/** Adds missing jobs of backfills that are not done; leaves running and waiting ones alone. */
export const startBackfills = async (ctx: JobsCtx): Promise<void> => {
  const networks = ctx.chains.all.map(({ network }) => network)
  for (const { network, address } of await openBackfills(ctx.db, { networks, limit: TAKEN_UP_AT_ONCE })) {
    const key = backfillJobKey({ network, address })
    await addJob(ctx.db, 'backfill_wallet', { network, address }, { key, whenKeyed: 'keep' })
  }
}
