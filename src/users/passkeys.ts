import { deletePasskey, listPasskeys } from '../../db/queries/passkeys.ts'
import { findUser, lockUser } from '../../db/queries/users.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Ctx, WorkerCtx } from '../context.ts'
import { AppError, notFound } from '../errors.ts'
import { endSessions } from './end-sessions.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { showUser } from './list.ts'
import { mailWayChanged } from './mail-way-changed.ts'
import type { Passkey } from './passkey-schema.ts'

/** A user's own, oldest first. */
export const listOwnPasskeys = async (ctx: Pick<Ctx, 'db'>, caller: UserCaller): Promise<Passkey[]> =>
  (await listPasskeys(ctx.db, caller)).map((row) => ({
    id: row.id,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    rp_id: row.rpId,
    backed_up: row.backedUp,
    transports: row.transports,
  }))

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
