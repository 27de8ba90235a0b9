import type { HasDb, Tx } from '../../../db/client.ts'
import { deletePasskey, listPasskeys } from '../../../db/queries/passkeys.ts'
import { findIssuerName, lockUser, type UserRow } from '../../../db/queries/users.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import { invalidInput, notFound } from '../../platform/errors.ts'
import type { HasIdentity, HasSealer } from '../../platform/sealing/sealer.ts'
import { requireProject } from '../auth/authenticate.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import { isRpIdInUse } from '../auth/relying-party.ts'
import type { IdentityCtx } from '../ctx.ts'
import { endSessions } from './end-sessions.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { showUser } from './list.ts'
import { mailWayChanged } from './mail-way-changed.ts'
import type { Passkey } from './passkey-schema.ts'
import { readCaller } from './user.ts'

export const listOwnPasskeys = async (ctx: HasDb, caller: UserCaller): Promise<Passkey[]> =>
  (await listPasskeys(ctx.db, caller)).map((row) => ({
    id: row.id,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    rp_id: row.rpId,
    backed_up: row.backedUp,
    transports: row.transports,
  }))

/** Without any passkey. The project may have removed the user's issuer: its tokens count no more. */
const canLogInOtherwise = async (tx: Tx, user: UserRow): Promise<boolean> =>
  user.email !== null ||
  user.signInWallet !== null ||
  (await findIssuerName(tx, { projectId: user.projectId, userId: user.id })) !== null

/**
 * Ends the user's other sessions and mails them, because the passkey may have been stolen.
 * @throws invalid_input if it is the user's only login method.
 */
export const removePasskey = async (
  ctx: IdentityCtx,
  caller: UserCaller,
  input: { readonly id: string },
): Promise<void> => {
  const { projectId, userId } = caller
  const project = await requireProject(ctx, projectId)
  await ctx.db.transaction(async (tx) => {
    await lockUser(tx, caller)
    await requireFreshLogin(ctx, tx, caller)
    const passkeys = await listPasskeys(tx, caller)
    const passkey = passkeys.find(({ id }) => id === input.id)
    if (passkey === undefined) throw notFound('passkey')
    const user = await readCaller(ctx, tx, caller)
    const isLast = !passkeys.some(({ id, rpId }) => id !== passkey.id && isRpIdInUse(ctx, project, rpId))
    if (isLast && !(await canLogInOtherwise(tx, user))) {
      throw invalidInput(
        'Without this passkey the user could not log in: add an e-mail address or another passkey first.',
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
    await mailWayChanged(ctx, tx, { projectId, email: user.email, change: 'passkey_removed' })
  })
}

/**
 * Ends all sessions of the user and mails them. A user without an address or a wallet cannot log in afterwards.
 * @returns how many passkeys it removed.
 */
export const removeAllPasskeys = async (
  ctx: HasDb & HasAudit & HasIdentity & HasConfig & HasSealer & HasClock,
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
