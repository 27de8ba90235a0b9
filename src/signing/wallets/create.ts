import { randomUUID } from 'node:crypto'
import type { Queryable } from '../../../db/client.ts'
import { addJob } from '../../../db/jobs.ts'
import { type BackfillPlace, insertBackfill } from '../../../db/queries/backfills.ts'
import { insertWallet, type WalletRow } from '../../../db/queries/wallets.ts'
import { violatedConstraint } from '../../../db/trouble.ts'
import type { ControlMode, Network, WalletType } from '../../../db/words.ts'
import type { NodelessChain } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { walletMac } from '../../identity/auth/row-macs.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { Credentials } from '../../vault/contract/required-credentials.ts'
import type { ImportedText } from '../../vault/contract/vault.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput } from '../schema.ts'

type CreateWalletInput = Pick<Signatory, 'projectId' | 'actor' | 'credentials'> & {
  readonly network: Network
  readonly name: string
  readonly ownerId: string
  readonly controlMode: ControlMode
  readonly type: WalletType
  /** The imported key or phrase, instead of the owner's seed. */
  readonly imported?: ImportedText
  readonly newId?: string
  readonly remember?: Remember<WalletRow> | undefined
}

const exists = (sentence: string): AppError => new AppError('wallet_exists', sentence)

/** What the vault's journal keeps of a wallet, beside what the vault knows. */
export type AboutWallet = Pick<WalletRow, 'name' | 'type'>

/** Returns a function from a public key to the wallet's address. */
export const addressDeriver = (chain: NodelessChain, type: WalletType): ((publicKey: Uint8Array) => string) => {
  if (type === 'eoa') return chain.addressOf
  const { contractWallets } = chain
  if (contractWallets === null) {
    throw invalidInput(`Field "type" must be "eoa": ${chain.network} has no contract wallets.`)
  }
  return (publicKey) => contractWallets.of(chain.addressOf(publicKey)).address
}

/** Creates the owner's seed, too, if it is their first wallet. @throws wallet_exists, invalid_input before the PIN */
export const createWallet = async (ctx: SigningCtx, input: CreateWalletInput): Promise<WalletRow> => {
  const { projectId, network, ownerId, name, controlMode, type, imported, credentials, actor } = input
  const chain = ctx.chains.get(network)
  const addressOf = addressDeriver(chain, type)
  const id = input.newId ?? randomUUID()
  const known = await ctx.wallets.find({ projectId, ownedBy: null, network, by: { ownerId } })
  // The request is repeated: its answer was lost with the database, and the vault's journal brought the wallet back.
  if (known?.id === id) return known
  const ownerHasOne = `The owner already has a wallet on ${network}.`
  if (known !== null) throw exists(ownerHasOne)
  const wallet = { walletId: id, projectId, ownerId, network, controlMode, type, family: chain.family }
  const about = JSON.stringify({ name, type } satisfies AboutWallet)
  const made = await ctx.vault.newWallet({ ...wallet, imported, credentials, actor, about })
  const { keyringId, publicKey, address } = made
  // Never return an address for which the vault would not sign.
  if (address !== addressOf(publicKey)) throw new Error('the vault derived another address from this public key')
  try {
    return await ctx.db.transaction(async (tx) => {
      const facts = { id, projectId, network, ownerId, controlMode, type, keyringId, publicKey, address }
      const row = await insertWallet(tx, { ...facts, name, mac: walletMac(ctx.identity).of(facts) })
      // Without a node the worker indexes nothing that a new key does: the backfill begins at this time once there is a
      // node.
      const isFollowed = ctx.chains.all.some((each) => each.network === network)
      const usedSince = made.keyUsedSince === 'now' && !isFollowed ? ctx.now() : made.keyUsedSince
      if (usedSince !== 'now') {
        await requestBackfill(tx, { network, address, keyMadeAt: usedSince === 'ever' ? null : usedSince })
      }
      await input.remember?.(tx, row)
      return row
    })
  } catch (error) {
    const constraint = violatedConstraint(error)
    if (constraint === 'wallets_one_a_network') throw exists(ownerHasOne)
    // Another project may have a wallet with the same address: the sentence says nothing about that.
    if (constraint === 'wallets_address')
      throw exists(`This project already has a wallet with this address on ${network}.`)
    throw error
  }
}

type ImportWalletInput = Omit<CreateWalletInput, 'imported'> & {
  readonly privateKey?: string | undefined
  readonly mnemonicPhrase?: string | undefined
}

const parseImported = ({ privateKey, mnemonicPhrase }: ImportWalletInput): ImportedText => {
  if (privateKey !== undefined && mnemonicPhrase === undefined) return { privateKey }
  if (mnemonicPhrase !== undefined && privateKey === undefined) return { mnemonicPhrase }
  throw invalidInput('Exactly one of "private_key" and "mnemonic_phrase" must be given.')
}

export const importWallet = async (ctx: SigningCtx, input: ImportWalletInput): Promise<WalletRow> => {
  const { privateKey: _key, mnemonicPhrase: _phrase, ...rest } = input
  return createWallet(ctx, { ...rest, imported: parseImported(input) })
}

type ProjectWalletInput = Pick<CreateWalletInput, 'projectId' | 'network' | 'actor'> &
  Pick<Credentials, 'developerSecret'>

/** Mints and deploys unless the caller names another wallet. The first request with the secret creates it. */
export const projectWallet = async (ctx: SigningCtx, input: ProjectWalletInput): Promise<WalletRow> => {
  const { projectId, network, actor, developerSecret } = input
  const find = () => ctx.wallets.find({ projectId, ownedBy: null, network, by: { ownerId: projectId } })
  const found = await find()
  if (found !== null) return found
  try {
    return await createWallet(ctx, {
      projectId,
      actor,
      network,
      name: 'Project wallet',
      ownerId: projectId,
      // The project is the owner, so the developer controls the wallet.
      controlMode: 'developer',
      type: 'eoa',
      credentials: { developerSecret },
    })
  } catch (error) {
    const raced = error instanceof AppError && error.code === 'wallet_exists' ? await find() : null
    if (raced === null) throw error
    return raced
  }
}

/** At most one job waits for each address. */
export const backfillJobKey = ({ network, address }: BackfillPlace): string => `backfill:${network}:${address}`

export const requestBackfill = async (
  db: Queryable,
  input: BackfillPlace & { readonly keyMadeAt: Date | null },
): Promise<void> => {
  const { network, address } = input
  await insertBackfill(db, input)
  await addJob(db, 'backfill_wallet', { network, address }, { key: backfillJobKey(input), whenKeyed: 'replace' })
}
