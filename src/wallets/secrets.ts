import type { Tx } from '../../db/client.ts'
import type { Network } from '../../db/words.ts'
import type { Principal, Signatory } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import type { ExportedKeyring } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import { UUID } from '../http/text.ts'
import { endSessions } from '../users/end-sessions.ts'
import { getWallet } from './get.ts'

/**
 * The phrase that a wallet's key comes from, or its imported key. The answer must be stored by nobody on its way.
 * @throws not_found, and what the vault throws for credentials.
 */
export const exportWallet = async (
  ctx: Ctx,
  input: Signatory & { readonly network: Network; readonly address: string },
): Promise<ExportedKeyring> => {
  const { actor, address, credentials } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  return ctx.vault.exportKeyring({ wallet, credentials, actor })
}

/** The owner id of a user's wallets is the user's id, in this one spelling; that of others is any text. */
const isUserId = (ownerId: string): boolean => UUID.test(ownerId) && ownerId === ownerId.toLowerCase()

/**
 * Changes the PIN of a wallet's owner; all user-controlled wallets of the owner have that one PIN. Where the owner is a user,
 * their sessions end, but for the one that asks: whoever was logged in as them may have seen the old PIN.
 * @throws not_found, invalid_input (the developer's wallet, or the PIN that it has), and what the vault throws for PINs.
 */
export const changeUserPin = async (
  ctx: Ctx,
  input: Principal & {
    readonly network: Network
    readonly address: string
    readonly oldPin: string
    readonly newPin: string
    /** As in `Credentials`. */
    readonly from: string
    /** The session of the user that asks; null for an API key. */
    readonly sessionId: string | null
  },
): Promise<void> => {
  const { actor, address, oldPin, newPin, from } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  if (wallet.controlMode !== 'user') {
    throw new AppError('invalid_input', 'This wallet is controlled by the developer: it has no PIN.')
  }
  // Before anything is verified: it says nothing of the PIN that the owner has.
  if (oldPin === newPin)
    throw new AppError('invalid_input', 'Field "new_user_pin" must be another than "old_user_pin".')
  const { projectId, ownerId } = wallet
  const also = async (tx: Tx): Promise<void> => {
    if (!isUserId(ownerId)) return
    await endSessions(ctx, tx, { projectId, userId: ownerId, except: input.sessionId, by: 'pin_changed', actor })
  }
  await ctx.vault.changeUserPin({ wallet, oldPin, newPin, actor, from, also })
}
