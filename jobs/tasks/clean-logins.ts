import type { Task } from 'graphile-worker'
import { dropExpiredLogins } from '../../db/queries/expired-logins.ts'
import { dropOldMails } from '../../db/queries/mails.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { parsePayload } from './payload.ts'

/** Housekeeping of logins, sessions and mails. */
export const cleanLoginsTask =
  (ctx: WorkerCtx): Task =>
  async (payload) => {
    parsePayload('clean_logins', payload)
    await dropExpiredLogins(ctx.db)
    await dropOldMails(ctx.db)
  }
