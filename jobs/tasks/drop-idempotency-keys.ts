import type { Task } from 'graphile-worker'
import { dropOldIdempotencyKeys } from '../../db/queries/idempotency-keys.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { parsePayload } from './payload.ts'

/** Housekeeping: a key that is over is not looked at any more, whether or not its row is still there. */
export const dropIdempotencyKeysTask =
  (ctx: WorkerCtx): Task =>
  async (payload) => {
    parsePayload('drop_idempotency_keys', payload)
    await dropOldIdempotencyKeys(ctx.db)
  }
