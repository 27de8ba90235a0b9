import { deletePasskey, listPasskeys } from '../../db/queries/passkeys.ts'
import { findUser, lockUser } from '../../db/queries/users.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { AppError, notFound } from '../errors.ts'
import { endSessions } from './end-sessions.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { mailWayChanged } from './mail-way-changed.ts'

/**
 * Removes a passkey, as it was lost or is somebody else's: so the user's other sessions end, and the user is told by mail. The
 * last one stays where its user could not log in without it: there is nobody who could let them in again.
 * @throws fresh_login_required, not_found, invalid_input.
 */
export const removePasskey = async (
  ctx: Pick<Ctx, 'db' | 'audit' | 'config' | 'sealer' | 'now'>,
  caller: UserCaller,
  input: { readonly id: string },
): Promise<void> => {
  const { projectId, userId } = caller
  await ctx.db.transaction(async (tx) => {
    await lockUser(tx, caller)
    await requireFreshLogin(tx, caller)
    const passkeys = await listPasskeys(tx, caller)
    const passkey = passkeys.find(({ id }) => id === input.id)
    if (passkey === undefined) throw notFound('passkey')
    const user = await findUser(tx, { projectId, by: { id: userId } })
    if (passkeys.length === 1 && user?.email === null && user.signInWallet === null) {
      throw new AppError(
        'invalid_input',
        'This passkey is the only way in for its user: add an e-mail address or another passkey first.',
      )
    }
    await deletePasskey(tx, { projectId, userId, id: passkey.id })
    const actor = actorOf(caller)
    const details = { user_id: userId, rp_id: passkey.rpId }
    await ctx.audit.record(tx, {
      projectId,
      actor,
      action: 'passkey_removed',
      subject: passkey.id,
      details,
    })
    await endSessions(ctx, tx, { ...caller, except: caller.sessionId, by: 'passkey_removed', actor })
    await mailWayChanged(ctx, tx, { projectId, email: user?.email ?? null, change: 'passkey_removed' })
  })
}
