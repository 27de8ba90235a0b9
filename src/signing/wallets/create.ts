import { randomUUID } from 'node:crypto'
import { insertWallet, type WalletRow } from '../../../db/queries/wallets.ts'
import { violatedConstraint } from '../../../db/trouble.ts'
import type { ControlMode, Network, WalletType } from '../../../db/words.ts'
import type { NodelessChain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { walletMac } from '../../identity/auth/row-macs.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import type { HasClock } from '../../platform/clock.ts'
import { AppError } from '../../platform/errors.ts'
import type { ImportedText } from '../../vault/contract/vault.ts'
import type { SigningCtx } from '../ctx.ts'
import { requestBackfill } from './request-backfill.ts'

type CreateWalletInput = Pick<Signatory, 'projectId' | 'actor' | 'credentials'> & {
  readonly network: Network
  readonly name: string
  readonly ownerId: string
  readonly controlMode: ControlMode
  readonly type: WalletType
  /** The imported key or phrase, instead of the owner's seed. */
  readonly imported?: ImportedText
  /** The wallet's id; absent: a random one. */
  readonly newId?: string
  readonly remember?: Remember<WalletRow> | undefined
}

const exists = (input: CreateWalletInput): AppError =>
  new AppError('wallet_exists', `The owner already has a wallet on ${input.network}.`)

/** Another request made one meanwhile. It says nothing about other projects, which may have the same address. */
const addressTaken = (network: Network): AppError =>
  new AppError('wallet_exists', `This project already has a wallet with this address on ${network}.`)

/** What the vault's journal keeps of a wallet, beside what the vault knows. */
export type AboutWallet = Pick<WalletRow, 'name' | 'type'>

/** Returns a function from a public key to the wallet's address. */
export const addressesOf = (chain: NodelessChain, type: WalletType): ((publicKey: Uint8Array) => string) => {
  if (type === 'eoa') return chain.addressOf
  const { contractWallets } = chain
  if (contractWallets === null) {
    throw new AppError('invalid_input', `Field "type" must be "eoa": ${chain.network} has no contract wallets.`)
  }
  return (publicKey) => contractWallets.of(chain.addressOf(publicKey)).address
}

type KeyUsedSince = 'now' | Date | 'ever'

/** Without a node nobody indexes what a new key does; the time is kept for the day when there is a node. */
const usedUnseenSince = (
  ctx: HasChains & HasClock,
  input: { readonly network: Network; readonly keyUsedSince: KeyUsedSince },
): KeyUsedSince => {
  const isFollowed = ctx.chains.all.some(({ network }) => network === input.network)
  return input.keyUsedSince === 'now' && !isFollowed ? ctx.now() : input.keyUsedSince
}

/**
 * Creates a wallet, and the owner's seed if it is their first.
 * @throws wallet_exists and invalid_input (before any PIN is checked).
 */
export const createWallet = async (ctx: SigningCtx, input: CreateWalletInput): Promise<WalletRow> => {
  const { projectId, network, ownerId, name, controlMode, type, imported, credentials, actor } = input
  const chain = ctx.chains.get(network)
  const addressOf = addressesOf(chain, type)
  const id = input.newId ?? randomUUID()
  const known = await ctx.wallets.find({ projectId, ownedBy: null, network, by: { ownerId } })
  // The request is repeated: its answer was lost with the database, and the vault's journal brought the wallet back.
  if (known?.id === id) return known
  if (known !== null) throw exists(input)
  const of = { walletId: id, projectId, ownerId, network, controlMode, type, family: chain.family }
  const about = JSON.stringify({ name, type } satisfies AboutWallet)
  const made = await ctx.vault.newWallet({ ...of, imported, credentials, actor, about })
  const { keyringId, publicKey, address } = made
  // Never return an address for which the vault would not sign.
  if (address !== addressOf(publicKey)) throw new Error('the vault derived another address from this public key')
  try {
    return await ctx.db.transaction(async (tx) => {
      const facts = { id, projectId, network, ownerId, controlMode, type, keyringId, publicKey, address }
      const row = await insertWallet(tx, { ...facts, name, mac: walletMac(ctx.identity).of(facts) })
      const keyUsedSince = usedUnseenSince(ctx, { network, keyUsedSince: made.keyUsedSince })
      if (keyUsedSince !== 'now') {
        await requestBackfill(tx, { network, address, keyMadeAt: keyUsedSince === 'ever' ? null : keyUsedSince })
      }
      await input.remember?.(tx, row)
      return row
    })
  } catch (error) {
    const constraint = violatedConstraint(error)
    if (constraint === 'wallets_one_a_network') throw exists(input)
    if (constraint === 'wallets_address') throw addressTaken(network)
    throw error
  }
}

type ImportWalletInput = Omit<CreateWalletInput, 'imported'> & {
  readonly privateKey?: string | undefined
  readonly mnemonicPhrase?: string | undefined
}

const importedOf = ({ privateKey, mnemonicPhrase }: ImportWalletInput): ImportedText => {
  if (privateKey !== undefined && mnemonicPhrase === undefined) return { privateKey }
  if (mnemonicPhrase !== undefined && privateKey === undefined) return { mnemonicPhrase }
  throw new AppError('invalid_input', 'Exactly one of "private_key" and "mnemonic_phrase" must be given.')
}

/** Imports a wallet from a key or a phrase. */
export const importWallet = async (ctx: SigningCtx, input: ImportWalletInput): Promise<WalletRow> => {
  const { privateKey: _key, mnemonicPhrase: _phrase, ...rest } = input
  return createWallet(ctx, { ...rest, imported: importedOf(input) })
}
