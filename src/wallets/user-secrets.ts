// What opens the user-controlled wallets of an owner beside the PIN: a recovery code, and the secrets of passkeys. An owner who is a
// user is told of each change by mail.

import type { Network, UserSecretKind } from '../../db/words.ts'
import type { Principal, Signatory } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { getWallet } from './get.ts'
import { mailOwner } from './mail-owner.ts'

type OfWallet = { readonly network: Network; readonly address: string }

const userWallet = async (ctx: Ctx, input: Principal & OfWallet) => {
  const wallet = await getWallet(ctx, { ...input, by: { address: input.address } })
  if (wallet.controlMode === 'user') return wallet
  throw new AppError('invalid_input', 'This wallet is controlled by the developer, so no secret of a user opens it.')
}

/** Makes a recovery code, in place of an earlier one. No cache may store the answer. */
export const makeRecoveryCode = async (ctx: Ctx, input: Signatory & OfWallet): Promise<string> => {
  const { actor, credentials } = input
  const wallet = await userWallet(ctx, input)
  const { recoveryCode } = await ctx.vault.newRecoveryCode({ wallet, credentials, actor })
  const text = new TextDecoder().decode(recoveryCode)
  recoveryCode.fill(0)
  await mailOwner(ctx, { wallet, change: 'recovery_code_made' })
  return text
}

/** Lets what a passkey computes open the owner's wallets, in place of an earlier secret of the same passkey. */
export const addPasskeySecret = async (
  ctx: Ctx,
  input: Signatory & OfWallet & { readonly passkeyId: string; readonly passkeySecret: string },
): Promise<void> => {
  const { actor, credentials, passkeyId, passkeySecret } = input
  const wallet = await userWallet(ctx, input)
  await ctx.vault.addPasskeySecret({ wallet, passkeyId, passkeySecret, credentials, actor })
  await mailOwner(ctx, { wallet, change: 'passkey_opens_wallets' })
}

/** Removes a recovery code or the secret of a passkey. It takes another credential of the owner. */
export const removeUserSecret = async (
  ctx: Ctx,
  input: Signatory & OfWallet & { readonly kind: UserSecretKind; readonly passkeyId: string },
): Promise<void> => {
  const { actor, credentials, kind, passkeyId } = input
  const wallet = await userWallet(ctx, input)
  await ctx.vault.removeUserSecret({ wallet, kind, passkeyId, credentials, actor })
  const change = kind === 'passkey' ? 'passkey_opens_no_wallets' : 'recovery_code_removed'
  await mailOwner(ctx, { wallet, change })
}

export const listUserSecrets = async (ctx: Ctx, input: Principal & OfWallet) => {
  const { projectId, ownerId } = await userWallet(ctx, input)
  return ctx.vault.userSecrets({ projectId, ownerId })
}
