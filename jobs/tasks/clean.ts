import type { Task } from 'graphile-worker'
import { expireApprovals } from '../../db/queries/approvals.ts'
import { dropOldEvents } from '../../db/queries/events.ts'
import { dropOldIdempotencyKeys } from '../../db/queries/idempotency-keys.ts'
import { dropExpiredLogins } from '../../db/queries/logins.ts'
import { dropOldMails } from '../../db/queries/mails.ts'
import { dropOldDeliveries } from '../../db/queries/webhook-deliveries.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

/** Deletes expired logins and sessions, old mails, and deliveries that have ended. */
export const cleanLoginsTask = (ctx: JobsCtx): Task =>
  taskOf('clean_logins', async () => {
    await dropExpiredLogins(ctx.db)
    await dropOldMails(ctx.db)
    await dropOldDeliveries(ctx.db)
  })

/** Deletes events whose time is over. */
export const dropEventsTask = (ctx: JobsCtx): Task =>
  taskOf('drop_events', () => dropOldEvents(ctx.db, { keptDays: ctx.config.eventDays }))

/** Notes which approvals have expired. Nobody can use them even before that. */
export const expireApprovalsTask = (ctx: JobsCtx): Task => taskOf('expire_approvals', () => expireApprovals(ctx.db))

/** Deletes expired idempotency keys. Requests ignore them even before that. */
export const dropIdempotencyKeysTask = (ctx: JobsCtx): Task =>
  taskOf('drop_idempotency_keys', () => dropOldIdempotencyKeys(ctx.db))
