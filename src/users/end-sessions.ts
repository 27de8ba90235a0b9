import type { Tx } from '../../db/client.ts'
import { endCompletedChallenges } from '../../db/queries/session-challenges.ts'
import { endSessionsOf } from '../../db/queries/sessions.ts'
import { lockUser } from '../../db/queries/users.ts'
import type { SessionEnd } from '../../db/words.ts'
import type { WorkerCtx } from '../context.ts'

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
