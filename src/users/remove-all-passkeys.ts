import { deletePasskey, listPasskeys } from '../../db/queries/passkeys.ts'
import { lockUser } from '../../db/queries/users.ts'
import type { WorkerCtx } from '../context.ts'
import { endSessions } from './end-sessions.ts'
import { mailWayChanged } from './mail-way-changed.ts'
import { showUser } from './show-user.ts'

/**
 * Removes every passkey of a user, as one may be a thief's, ends all their sessions and tells them by mail. For operators; a
 * user without an e-mail address or a wallet has no way in afterwards.
 * @returns how many there were. @throws not_found
 */
export const removeAllPasskeys = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit' | 'config' | 'sealer' | 'now'>,
  input: { readonly projectId: string; readonly userId: string; readonly actor: string },
): Promise<number> => {
  const { projectId, userId, actor } = input
  const { email } = await showUser(ctx, input)
  return ctx.db.transaction(async (tx) => {
    await lockUser(tx, { projectId, userId })
    const passkeys = await listPasskeys(tx, { projectId, userId })
    for (const { id, rpId } of passkeys) {
      await deletePasskey(tx, { projectId, userId, id })
      const details = { user_id: userId, rp_id: rpId }
      await ctx.audit.record(tx, { projectId, actor, action: 'passkey_removed', subject: id, details })
    }
    await endSessions(ctx, tx, { projectId, userId, except: null, by: 'operator', actor })
    if (passkeys.length > 0) await mailWayChanged(ctx, tx, { projectId, email, change: 'passkeys_removed' })
    return passkeys.length
  })
}
