import type { Reach } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { getWallet } from './get.ts'

/**
 * Changes the PIN of a wallet's owner; all user-controlled wallets of the owner have that one PIN.
 * @throws not_found, invalid_input (the developer's wallet, or the PIN that it has), and what the vault throws for PINs.
 */
export const changeUserPin = async (
  ctx: Ctx,
  input: Reach & {
    readonly actor: string
    readonly network: Network
    readonly address: string
    readonly oldPin: string
    readonly newPin: string
    /** As in `Credentials`. */
    readonly from: string
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
  await ctx.vault.changeUserPin({ wallet, oldPin, newPin, actor, from })
}
