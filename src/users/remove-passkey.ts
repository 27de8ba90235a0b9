import { deletePasskey, listPasskeys, lockUser } from '../../db/queries/passkeys.ts'
import { findUser } from '../../db/queries/users.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { AppError, notFound } from '../errors.ts'
import { requireFreshLogin } from './fresh-login.ts'

/**
 * Removes a passkey; sessions that it began go on. The last one stays where its user could not log in without it: there
 * is nobody who could let them in again.
 * @throws fresh_login_required, not_found, invalid_input.
 */
export const removePasskey = async (
  ctx: Pick<Ctx, 'db' | 'audit'>,
  caller: UserCaller,
  input: { readonly id: string },
): Promise<void> => {
  const { projectId, userId } = caller
  await ctx.db.transaction(async (tx) => {
    await requireFreshLogin(tx, caller)
    await lockUser(tx, caller)
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
    const details = { user_id: userId, rp_id: passkey.rpId }
    await ctx.audit.record(tx, {
      projectId,
      actor: actorOf(caller),
      action: 'passkey_removed',
      subject: passkey.id,
      details,
    })
  })
}
