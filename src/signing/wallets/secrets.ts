// The secrets of an owner: exports, and changes of what opens the owner's user-controlled wallets, which are the PIN, a
// recovery code and the secrets of passkeys. An owner who is a user gets a mail about each change.

import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network, UserSecretKind } from '../../../db/words.ts'
import type { Principal, Signatory } from '../../identity/auth/caller.ts'
import type { IssuerToken } from '../../identity/issuers/verify-token.ts'
import { changeSecret, type SecretChange } from '../../identity/users/secret-changes.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput } from '../schema.ts'
import { getWallet } from './get.ts'

type OfWallet = { readonly network: Network; readonly address: string }

const userWallet = async (ctx: SigningCtx, input: Principal & OfWallet) => {
  const wallet = await getWallet(ctx, { ...input, by: { address: input.address } })
  if (wallet.controlMode === 'user') return wallet
  throw invalidInput('This wallet is controlled by the developer, so no secret of a user opens it.')
}

const describeChange = (
  { projectId, ownerId }: Pick<WalletRow, 'projectId' | 'ownerId'>,
  change: Pick<SecretChange, 'actor' | 'secret' | 'way'>,
): SecretChange => ({ projectId, ownerId, ...change, endSessions: null })

/** The code replaces an earlier one. No cache may store the answer. */
export const makeRecoveryCode = async (ctx: SigningCtx, input: Signatory & OfWallet): Promise<string> => {
  const { actor, credentials } = input
  const wallet = await userWallet(ctx, input)
  const change = describeChange(wallet, { actor, secret: 'recovery_code', way: 'recovery_code_made' })
  const make = () => ctx.vault.newRecoveryCode({ wallet, credentials, actor })
  return takeText((await changeSecret(ctx, change, make)).recoveryCode)
}

/** The secret replaces an earlier one of the same passkey. */
export const addPasskeySecret = async (
  ctx: SigningCtx,
  input: Signatory & OfWallet & { readonly passkeyId: string; readonly passkeySecret: string },
): Promise<void> => {
  const { actor, credentials, passkeyId, passkeySecret } = input
  const wallet = await userWallet(ctx, input)
  const change = describeChange(wallet, { actor, secret: 'passkey', way: 'passkey_opens_wallets' })
  const request = { wallet, passkeyId, passkeySecret, credentials, actor }
  await changeSecret(ctx, change, () => ctx.vault.addPasskeySecret(request))
}

/** The vault requires another credential of the owner. */
export const removeUserSecret = async (
  ctx: SigningCtx,
  input: Signatory & OfWallet & { readonly kind: UserSecretKind; readonly passkeyId: string },
): Promise<void> => {
  const { actor, credentials, kind, passkeyId } = input
  const wallet = await userWallet(ctx, input)
  const way = kind === 'passkey' ? 'passkey_opens_no_wallets' : 'recovery_code_removed'
  const change = describeChange(wallet, { actor, secret: kind, way })
  await changeSecret(ctx, change, () => ctx.vault.removeUserSecret({ wallet, kind, passkeyId, credentials, actor }))
}

export const listUserSecrets = async (ctx: SigningCtx, input: Principal & OfWallet) => {
  const { projectId, ownerId } = await userWallet(ctx, input)
  return ctx.vault.userSecrets({ projectId, ownerId })
}

/** Makes the text for the JSON answer, and zeroes the bytes. */
const takeText = (bytes: Uint8Array): string => {
  const text = new TextDecoder().decode(bytes)
  bytes.fill(0)
  return text
}

/** Exactly one of the two texts is set. No cache may store the answer. */
export const exportWallet = async (ctx: SigningCtx, input: Signatory & OfWallet) => {
  const { actor, address, credentials } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  const { mnemonicPhrase, privateKey } = await ctx.vault.exportKeyring({ wallet, credentials, actor })
  return { mnemonicPhrase: mnemonicPhrase && takeText(mnemonicPhrase), privateKey: privateKey && takeText(privateKey) }
}

/** It also puts under policies the owner's other wallets that the developer controls with the same keys. */
export const putUnderPolicies = async (ctx: SigningCtx, input: Signatory & OfWallet): Promise<void> => {
  const { actor, address, credentials } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  await ctx.vault.putUnderPolicies({ wallet, credentials, actor })
}

/**
 * For all user-controlled wallets of the owner, with the old PIN or another secret. An owner who is a user gets a mail,
 * and their other sessions end, because an intruder there may have seen the old PIN.
 */
export const changeUserPin = async (
  ctx: SigningCtx,
  input: Principal &
    OfWallet & {
      readonly oldPin: string | undefined
      readonly userSecret: string | undefined
      readonly newPin: string
      /** As in `Credentials`. */
      readonly from: string
      /** The calling user's session; null for an API key. */
      readonly sessionId: string | null
      readonly issuerToken?: IssuerToken | undefined
    },
): Promise<void> => {
  const { actor, address, oldPin, userSecret, newPin, from } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  if (wallet.controlMode !== 'user') {
    throw invalidInput('This wallet is controlled by the developer, so it has no PIN.')
  }
  if ((oldPin === undefined) === (userSecret === undefined)) {
    throw invalidInput('Exactly one of "old_user_pin" and "user_secret" must be given.')
  }
  // Compared before anything is verified, so the answer says nothing about the current PIN.
  if (oldPin === newPin) throw invalidInput('Field "new_user_pin" must differ from "old_user_pin".')
  const { projectId, ownerId } = wallet
  const { sessionId: except, issuerToken } = input
  const way = userSecret === undefined ? 'pin_changed' : 'pin_set_anew'
  const change = { projectId, ownerId, secret: 'pin', actor, way, endSessions: { except, issuerToken } } as const
  await changeSecret(ctx, change, () => ctx.vault.changeUserPin({ wallet, oldPin, userSecret, newPin, actor, from }))
}
