// After a change of a PIN the user's other sessions end. The vault commits the change in its own transaction, so the API notes the change
// before and deletes the note with the sessions. A note that is left shows that an API died in between, or did not learn what became of
// the change: then all sessions of the user end, as nobody knows any more which one made it.

import { deletePinChange, insertPinChange, lockLeftPinChanges } from '../../db/queries/pin-changes.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { endSessions } from './end-sessions.ts'

/** Longer than a request. */
const LEFT_AFTER_SECONDS = 90
const LOOK_EVERY_MS = 60_000
const AT_ONCE = 50

type PinCtx = Pick<Ctx, 'db' | 'audit' | 'identity'>

type Of = Pick<Parameters<typeof endSessions>[2], 'projectId' | 'userId' | 'except' | 'tokenIssuedAt' | 'actor'>

/** The vault refused, so that nothing was changed. Of other errors nobody knows. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && !['unavailable', 'internal'].includes(error.code)

/** Changes a PIN, and ends the user's other sessions whatever becomes of this process. */
export const endingSessions = async (ctx: PinCtx, of: Of, change: () => Promise<void>): Promise<void> => {
  const id = await insertPinChange(ctx.db, of)
  try {
    await change()
  } catch (error) {
    if (isRefusal(error)) await deletePinChange(ctx.db, id)
    throw error
  }
  await ctx.db.transaction(async (tx) => {
    await endSessions(ctx, tx, { ...of, by: 'pin_changed' })
    await deletePinChange(tx, id)
  })
}

/** Ends the sessions that a process has left after a change of a PIN. @returns of how many changes. */
const endLeftSessions = (ctx: PinCtx): Promise<number> =>
  ctx.db.transaction(async (tx) => {
    const left = await lockLeftPinChanges(tx, { ageSeconds: LEFT_AFTER_SECONDS, limit: AT_ONCE })
    for (const { id, ...of } of left) {
      await endSessions(ctx, tx, { ...of, except: null, by: 'pin_changed' })
      await deletePinChange(tx, id)
    }
    return left.length
  })

/** Looks at once and every minute. @returns what stops it. */
export const startEndingLeftSessions = (ctx: PinCtx & Pick<Ctx, 'log'>): (() => Promise<void>) => {
  let look = Promise.resolve()
  const start = (): void => {
    look = endLeftSessions(ctx).then(
      () => {},
      (err: unknown) => ctx.log.warn({ err }, 'could not end the sessions that were left after a change of a PIN'),
    )
  }
  start()
  const timer = setInterval(start, LOOK_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await look
  }
}
