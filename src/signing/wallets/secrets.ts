import type { Network } from '../../../db/words.ts'
import type { Principal, Signatory } from '../../identity/auth/caller.ts'
import type { IssuerToken } from '../../identity/issuers/ended-token.ts'
import { changeSecret } from '../../identity/users/secret-changes.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { getWallet } from './get.ts'

/** Exactly one of these is set. */
type ExportedWallet = { readonly mnemonicPhrase: string | null; readonly privateKey: string | null }

/** Makes the text for the JSON answer, and zeroes the bytes. */
const textOf = (bytes: Uint8Array | null): string | null => {
  if (bytes === null) return null
  const text = new TextDecoder().decode(bytes)
  bytes.fill(0)
  return text
}

/** Exports a wallet's phrase or imported key. No cache may store the answer. */
export const exportWallet = async (
  ctx: SigningCtx,
  input: Signatory & { readonly network: Network; readonly address: string },
): Promise<ExportedWallet> => {
  const { actor, address, credentials } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  const { mnemonicPhrase, privateKey } = await ctx.vault.exportKeyring({ wallet, credentials, actor })
  return { mnemonicPhrase: textOf(mnemonicPhrase), privateKey: textOf(privateKey) }
}

/** Puts a wallet under policies, together with all others of its owner that the developer controls with the same keys. */
export const putUnderPolicies = async (
  ctx: SigningCtx,
  input: Signatory & { readonly network: Network; readonly address: string },
): Promise<void> => {
  const { actor, address, credentials } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  await ctx.vault.putUnderPolicies({ wallet, credentials, actor })
}

/**
 * Changes the PIN of a wallet's owner, for all of the owner's user-controlled wallets, with the old PIN or another secret. If the
 * owner is a user, they get a mail and their other sessions end, because somebody logged in there may have seen the old PIN.
 */
export const changeUserPin = async (
  ctx: SigningCtx,
  input: Principal & {
    readonly network: Network
    readonly address: string
    readonly oldPin: string | undefined
    /** Instead of the old PIN. */
    readonly userSecret: string | undefined
    readonly newPin: string
    /** As in `Credentials`. */
    readonly from: string
    /** The calling user's session; null for an API key. */
    readonly sessionId: string | null
    /** The calling user's token, if it is of their issuer. */
    readonly issuerToken?: IssuerToken | undefined
  },
): Promise<void> => {
  const { actor, address, oldPin, userSecret, newPin, from } = input
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  if (wallet.controlMode !== 'user') {
    throw new AppError('invalid_input', 'This wallet is controlled by the developer, so it has no PIN.')
  }
  if ((oldPin === undefined) === (userSecret === undefined)) {
    throw new AppError('invalid_input', 'Exactly one of "old_user_pin" and "user_secret" must be given.')
  }
  // Compared before anything is verified, so the answer says nothing about the current PIN.
  if (oldPin === newPin) throw new AppError('invalid_input', 'Field "new_user_pin" must differ from "old_user_pin".')
  const { projectId, ownerId } = wallet
  const { sessionId: except, issuerToken } = input
  const told = userSecret === undefined ? 'pin_changed' : 'pin_set_anew'
  const of = { projectId, ownerId, secret: 'pin', actor, told, endSessions: { except, issuerToken } } as const
  await changeSecret(ctx, of, () => ctx.vault.changeUserPin({ wallet, oldPin, userSecret, newPin, actor, from }))
}
