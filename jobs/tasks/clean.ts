import type { Task } from 'graphile-worker'
import { dropOldIdempotencyKeys } from '../../db/queries/idempotency-keys.ts'
import { dropExpiredLogins } from '../../db/queries/logins.ts'
import { dropOldMails } from '../../db/queries/mails.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { parsePayload } from './payload.ts'

/** Deletes expired logins and sessions, and old mails. */
export const cleanLoginsTask =
  (ctx: WorkerCtx): Task =>
  async (payload) => {
    parsePayload('clean_logins', payload)
    await dropExpiredLogins(ctx.db)
    await dropOldMails(ctx.db)
  }

/** Deletes expired idempotency keys. Requests ignore them even before that. */
export const dropIdempotencyKeysTask =
  (ctx: WorkerCtx): Task =>
  async (payload) => {
    parsePayload('drop_idempotency_keys', payload)
    await dropOldIdempotencyKeys(ctx.db)
  }
