// After a change of a PIN the user's other sessions end, and the user is told by mail. The vault commits the change in its own transaction, so the API notes the change
// before and deletes the note with the sessions, and in the same transaction queues the mail. A note that is left shows that an API died
// in between, or did not learn what became of the change: then all sessions of the user end, as nobody knows any more which one made it,
// and the mail says that the PIN may have been changed.

import type { Tx } from '../../db/client.ts'
import { deletePinChange, insertPinChange, lockLeftPinChanges } from '../../db/queries/pin-changes.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { endSessions } from './end-sessions.ts'
import { type ChangedWay, mailUser } from './mail-way-changed.ts'

/** Longer than a request. */
const LEFT_AFTER_SECONDS = 90
const LOOK_EVERY_MS = 60_000
const AT_ONCE = 50

type PinCtx = Pick<Ctx, 'db' | 'audit' | 'identity'> & Parameters<typeof mailUser>[0]

type Of = Pick<Parameters<typeof endSessions>[2], 'projectId' | 'userId' | 'except' | 'tokenIssuedAt' | 'actor'> & {
  readonly told: ChangedWay
}

/** The vault refused, so that nothing was changed. Of other errors nobody knows. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && !['unavailable', 'internal'].includes(error.code)

/** Ends the sessions, tells the user, and deletes the note: all of it or nothing. */
const finish = async (ctx: PinCtx, tx: Tx, { id, ...of }: Of & { readonly id: string }): Promise<void> => {
  await endSessions(ctx, tx, { ...of, by: 'pin_changed' })
  await mailUser(ctx, tx, { ...of, change: of.told })
  await deletePinChange(tx, id)
}

/** Changes a PIN, ends the user's other sessions and tells the user, whatever becomes of this process. */
export const endingSessions = async (ctx: PinCtx, of: Of, change: () => Promise<void>): Promise<void> => {
  const id = await insertPinChange(ctx.db, of)
  try {
    await change()
  } catch (error) {
    if (isRefusal(error)) await deletePinChange(ctx.db, id)
    throw error
  }
  await ctx.db.transaction((tx) => finish(ctx, tx, { ...of, id }))
}

/** Ends the sessions that a process has left after a change of a PIN. @returns of how many changes. */
const endLeftSessions = (ctx: PinCtx): Promise<number> =>
  ctx.db.transaction(async (tx) => {
    const left = await lockLeftPinChanges(tx, { ageSeconds: LEFT_AFTER_SECONDS, limit: AT_ONCE })
    for (const change of left) await finish(ctx, tx, { ...change, except: null, told: 'pin_perhaps_changed' })
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
