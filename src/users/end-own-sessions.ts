import type { Tx } from '../../db/client.ts'
import { endCompletedChallenges } from '../../db/queries/session-challenges.ts'
import { endSession, findSession } from '../../db/queries/sessions.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { notFound } from '../errors.ts'
import { endSessions } from './end-sessions.ts'

type EndCtx = Pick<Ctx, 'db' | 'audit'>

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
