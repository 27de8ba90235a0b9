// What opens the user-controlled wallets of an owner beside the PIN: a recovery code, and the secrets of passkeys. An owner who is a
// user is told of each change by mail.

import type { Network, UserSecretKind } from '../../../db/words.ts'
import type { Principal, Signatory } from '../../identity/auth/caller.ts'
import { changeSecret, type SecretChange } from '../../identity/users/secret-changes.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { getWallet } from './get.ts'

type OfWallet = { readonly network: Network; readonly address: string }

const userWallet = async (ctx: SigningCtx, input: Principal & OfWallet) => {
  const wallet = await getWallet(ctx, { ...input, by: { address: input.address } })
  if (wallet.controlMode === 'user') return wallet
  throw new AppError('invalid_input', 'This wallet is controlled by the developer, so no secret of a user opens it.')
}

const changeOf = (
  { projectId, ownerId }: { readonly projectId: string; readonly ownerId: string },
  change: Pick<SecretChange, 'actor' | 'secret' | 'told'>,
): SecretChange => ({ projectId, ownerId, ...change, endSessions: null })

/** Makes a recovery code, in place of an earlier one. No cache may store the answer. */
export const makeRecoveryCode = async (ctx: SigningCtx, input: Signatory & OfWallet): Promise<string> => {
  const { actor, credentials } = input
  const wallet = await userWallet(ctx, input)
  const of = changeOf(wallet, { actor, secret: 'recovery_code', told: 'recovery_code_made' })
  const { recoveryCode } = await changeSecret(ctx, of, () => ctx.vault.newRecoveryCode({ wallet, credentials, actor }))
  const text = new TextDecoder().decode(recoveryCode)
  recoveryCode.fill(0)
  return text
}

/** Lets what a passkey computes open the owner's wallets, in place of an earlier secret of the same passkey. */
export const addPasskeySecret = async (
  ctx: SigningCtx,
  input: Signatory & OfWallet & { readonly passkeyId: string; readonly passkeySecret: string },
): Promise<void> => {
  const { actor, credentials, passkeyId, passkeySecret } = input
  const wallet = await userWallet(ctx, input)
  const of = changeOf(wallet, { actor, secret: 'passkey', told: 'passkey_opens_wallets' })
  const request = { wallet, passkeyId, passkeySecret, credentials, actor }
  await changeSecret(ctx, of, () => ctx.vault.addPasskeySecret(request))
}

/** Removes a recovery code or the secret of a passkey. It takes another credential of the owner. */
export const removeUserSecret = async (
  ctx: SigningCtx,
  input: Signatory & OfWallet & { readonly kind: UserSecretKind; readonly passkeyId: string },
): Promise<void> => {
  const { actor, credentials, kind, passkeyId } = input
  const wallet = await userWallet(ctx, input)
  const told = kind === 'passkey' ? 'passkey_opens_no_wallets' : 'recovery_code_removed'
  const of = changeOf(wallet, { actor, secret: kind, told })
  await changeSecret(ctx, of, () => ctx.vault.removeUserSecret({ wallet, kind, passkeyId, credentials, actor }))
}

export const listUserSecrets = async (ctx: SigningCtx, input: Principal & OfWallet) => {
  const { projectId, ownerId } = await userWallet(ctx, input)
  return ctx.vault.userSecrets({ projectId, ownerId })
}
