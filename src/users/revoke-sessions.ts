import { endCompletedChallenges } from '../../db/queries/session-challenges.ts'
import { endSession, endSessionsOf, type SessionRow, sessionExists } from '../../db/queries/sessions.ts'
import { findUser } from '../../db/queries/users.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

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
    const one = 'sessionId' in which ? await endSession(tx, { session: { id: which.sessionId }, by: 'operator' }) : null
    const ended: readonly SessionRow[] =
      'sessionId' in which ? (one === null ? [] : [one]) : await endSessionsOf(tx, { ...which, by: 'operator' })
    // Whoever had one of the sessions could have let in another device, which would come only now.
    if ('userId' in which) await endCompletedChallenges(tx, which)
    for (const { id, projectId, userId } of ended) {
      const details = { user_id: userId }
      await ctx.audit.record(tx, { projectId, actor, action: 'session_revoked', subject: id, details })
    }
    return ended.length
  })
}
