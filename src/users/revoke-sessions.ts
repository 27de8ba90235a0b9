import { endSession, sessionExists } from '../../db/queries/sessions.ts'
import { findUser } from '../../db/queries/users.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'
import { endSessions } from './end-sessions.ts'

type RevokeCtx = Pick<WorkerCtx, 'db' | 'audit'>

type Which = { readonly sessionId: string } | { readonly projectId: string; readonly userId: string }

const requireThere = async (ctx: RevokeCtx, which: Which): Promise<void> => {
  if ('sessionId' in which) {
    if (await sessionExists(ctx.db, which.sessionId)) return
    throw new AppError('not_found', 'There is no session with this id.')
  }
  if ((await findUser(ctx.db, { projectId: which.projectId, by: { id: which.userId } })) === null) {
    throw new AppError('not_found', 'The project has no user with this id.')
  }
}

/**
 * Ends a session, or all of a user, and then also what their devices let in that has not come yet: their tokens are refused
 * from the next request on, by every process. Idempotent.
 * @returns how many had not ended before. @throws not_found
 */
export const revokeSessions = async (
  ctx: RevokeCtx,
  input: { readonly which: Which; readonly actor: string },
): Promise<number> => {
  const { which, actor } = input
  await requireThere(ctx, which)
  return ctx.db.transaction(async (tx) => {
    if ('userId' in which) return endSessions(ctx, tx, { ...which, except: null, by: 'operator', actor })
    const ended = await endSession(tx, { session: { id: which.sessionId }, by: 'operator' })
    if (ended === null) return 0
    const { id, projectId, userId } = ended
    const details = { user_id: userId }
    await ctx.audit.record(tx, { projectId, actor, action: 'session_revoked', subject: id, details })
    return 1
  })
}
