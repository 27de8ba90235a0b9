import type { Tx } from '../../db/client.ts'
import { endCompletedChallenges } from '../../db/queries/session-challenges.ts'
import { endSession, endSessionsOf, findSession, sessionExists } from '../../db/queries/sessions.ts'
import { findUser, lockUser } from '../../db/queries/users.ts'
import type { SessionEnd } from '../../db/words.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError, notFound } from '../errors.ts'

/**
 * Ends all sessions of a user, or all but one, and also what their devices let in that has not come yet: whoever had one of
 * the sessions could have let in another device. Their tokens are refused from the next request on, by every process.
 * @returns how many had not ended before.
 */
export const endSessions = async (
  ctx: Pick<WorkerCtx, 'audit'>,
  tx: Tx,
  input: {
    readonly projectId: string
    readonly userId: string
    /** The session that goes on; null: none does. */
    readonly except: string | null
    readonly by: SessionEnd
    readonly actor: string
  },
): Promise<number> => {
  const { projectId, userId, actor } = input
  await lockUser(tx, input)
  const ended = await endSessionsOf(tx, input)
  await endCompletedChallenges(tx, input)
  for (const { id } of ended) {
    const details = { user_id: userId }
    await ctx.audit.record(tx, { projectId, actor, action: 'session_revoked', subject: id, details })
  }
  return ended.length
}

type EndCtx = Pick<WorkerCtx, 'db' | 'audit'>

const endOne = async (ctx: EndCtx, tx: Tx, caller: UserCaller, id: string): Promise<number> => {
  const { projectId, userId } = caller
  const session = { id, projectId, userId }
  if ((await findSession(tx, session)) === null) throw notFound('session')
  const row = await endSession(tx, { session, by: id === caller.sessionId ? 'logout' : 'user' })
  // It is not known which of its sessions completed one.
  await endCompletedChallenges(tx, caller)
  if (row === null) return 0
  const [actor, details] = [actorOf(caller), { user_id: userId }]
  await ctx.audit.record(tx, { projectId, actor, action: 'session_revoked', subject: id, details })
  return 1
}

/**
 * Ends one of a user's own sessions, or all but the one that asks, at once and on every process. It takes no fresh login:
 * whoever fears for their account must not be held up. Idempotent.
 * @returns how many had not ended before.
 * @throws not_found, the same for a session that nobody has and one of another user.
 */
export const endOwnSessions = (
  ctx: EndCtx,
  caller: UserCaller,
  input: { readonly sessionId: string | null },
): Promise<number> =>
  ctx.db.transaction((tx) =>
    input.sessionId === null
      ? endSessions(ctx, tx, { ...caller, except: caller.sessionId, by: 'user', actor: actorOf(caller) })
      : endOne(ctx, tx, caller, input.sessionId),
  )

type Which = { readonly sessionId: string } | { readonly projectId: string; readonly userId: string }

const requireThere = async (ctx: EndCtx, which: Which): Promise<void> => {
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
  ctx: EndCtx,
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
