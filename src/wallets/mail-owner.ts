import type { Ctx } from '../context.ts'
import { UUID } from '../http/text.ts'
import { type ChangedWay, mailUser } from '../users/mail-way-changed.ts'

/** A user's wallets have the user's id, in lower case, as owner id; other owner ids are any text. */
export const isUserId = (ownerId: string): boolean => UUID.test(ownerId) && ownerId === ownerId.toLowerCase()

/**
 * Tells the owner of a wallet by mail what was changed about it. Does nothing if the owner is no user, or has no address. Custody
 * commits the change before: if this process dies in between, nobody gets a mail.
 */
export const mailOwner = async (
  ctx: Ctx,
  input: { readonly wallet: { readonly projectId: string; readonly ownerId: string }; readonly change: ChangedWay },
): Promise<void> => {
  const { wallet, change } = input
  const { projectId, ownerId: userId } = wallet
  if (!isUserId(userId)) return
  await ctx.db.transaction((tx) => mailUser(ctx, tx, { projectId, userId, change }))
}
