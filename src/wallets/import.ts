import { findWallet, type WalletRow } from '../../db/queries/wallets.ts'
import type { Ctx } from '../context.ts'
import type { ImportedText } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import { addressesOf, addressTaken, type CreateWalletInput, createWallet } from './create.ts'

export type ImportWalletInput = Omit<CreateWalletInput, 'imported'> & {
  readonly privateKey?: string | undefined
  readonly mnemonicPhrase?: string | undefined
}

const importedOf = ({ privateKey, mnemonicPhrase }: ImportWalletInput): ImportedText => {
  if (privateKey !== undefined && mnemonicPhrase === undefined) return { privateKey }
  if (mnemonicPhrase !== undefined && privateKey === undefined) return { mnemonicPhrase }
  throw new AppError('invalid_input', 'Exactly one of "private_key" and "mnemonic_phrase" must be given.')
}

/**
 * Makes a wallet of a key or a phrase that the caller brings.
 * @throws invalid_input, invalid_key, wallet_exists (for its owner and for its address, before any credential is looked
 * at), and what createWallet throws.
 */
export const importWallet = async (ctx: Ctx, input: ImportWalletInput): Promise<WalletRow> => {
  const { privateKey: _key, mnemonicPhrase: _phrase, ...rest } = input
  const imported = importedOf(input)
  const { projectId, network } = input
  const chain = ctx.chains.get(network)
  const address = addressesOf(chain, input.type)(ctx.vault.publicKeyOf({ family: chain.family, imported }))
  if ((await findWallet(ctx.db, { projectId, ownedBy: null, network, by: { address } })) !== null)
    throw addressTaken(network)
  return createWallet(ctx, { ...rest, imported })
}
