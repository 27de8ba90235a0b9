import { randomUUID } from 'node:crypto'
import { findWallet, insertWallet, type WalletRow } from '../../db/queries/wallets.ts'
import { violatedConstraint } from '../../db/violated-constraint.ts'
import type { ControlMode, Network, WalletType } from '../../db/words.ts'
import { requestBackfill } from '../activity/request-backfill.ts'
import type { Signatory } from '../auth/caller.ts'
import type { NodelessChain } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { type ImportedText, ProjectKeyRotated } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'

type CreateWalletInput = Pick<Signatory, 'projectId' | 'actor' | 'credentials'> & {
  readonly network: Network
  readonly name: string
  readonly ownerId: string
  readonly controlMode: ControlMode
  readonly type: WalletType
  /** The imported key or phrase, instead of the owner's seed. */
  readonly imported?: ImportedText
  readonly remember?: Remember<WalletRow> | undefined
}

/** If two first wallets of an owner are created at once, the loser of the race tries again with the winner's seed. */
const MAX_TRIES = 4
const RACED = new Set([
  'keyrings_one_seed',
  'owner_locks_one_a_mode',
  'user_keys_project_id_owner_id_pk',
  'pin_guesses_project_id_owner_id_pk',
])

const exists = (input: CreateWalletInput): AppError =>
  new AppError('wallet_exists', `The owner already has a wallet on ${input.network}.`)

/** Says nothing about other projects, which may have the same address. */
const addressTaken = (network: Network): AppError =>
  new AppError('wallet_exists', `This project already has a wallet with this address on ${network}.`)

/** Returns a function from a public key to the wallet's address. */
const addressesOf = (chain: NodelessChain, type: WalletType): ((publicKey: Uint8Array) => string) => {
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
  ctx: Pick<Ctx, 'chains' | 'now'>,
  input: { readonly network: Network; readonly keyUsedSince: KeyUsedSince },
): KeyUsedSince => {
  const isFollowed = ctx.chains.all.some(({ network }) => network === input.network)
  return input.keyUsedSince === 'now' && !isFollowed ? ctx.now() : input.keyUsedSince
}

/**
 * Creates a wallet, and the owner's seed if it is their first.
 * @throws wallet_exists and invalid_input (before any PIN is checked).
 */
export const createWallet = async (ctx: Ctx, input: CreateWalletInput): Promise<WalletRow> => {
  const chain = ctx.chains.get(input.network)
  const addressOf = addressesOf(chain, input.type)
  const { projectId, network, ownerId } = input
  if ((await findWallet(ctx.db, { projectId, ownedBy: null, network, by: { ownerId } })) !== null) throw exists(input)
  for (let tries = 1; ; tries += 1) {
    const walletId = randomUUID()
    const made = await ctx.vault.newWallet({ ...input, walletId, family: chain.family })
    try {
      return await ctx.db.transaction(async (tx) => {
        let row: WalletRow | undefined
        await made.write(tx, async () => {
          row = await insertWallet(tx, {
            id: walletId,
            projectId,
            network,
            ownerId,
            name: input.name,
            address: addressOf(made.publicKey),
            controlMode: input.controlMode,
            type: input.type,
            keyringId: made.keyringId,
            publicKey: made.publicKey,
          })
        })
        if (row === undefined) throw new Error('the vault wrote a wallet but returned no row')
        const keyUsedSince = usedUnseenSince(ctx, { network, keyUsedSince: made.keyUsedSince })
        if (keyUsedSince !== 'now') {
          const keyMadeAt = keyUsedSince === 'ever' ? null : keyUsedSince
          await requestBackfill(tx, { network, address: row.address, keyMadeAt })
        }
        await input.remember?.(tx, row)
        return row
      })
    } catch (error) {
      const constraint = violatedConstraint(error)
      if (constraint === 'wallets_one_a_network') throw exists(input)
      if (constraint === 'wallets_address') throw addressTaken(network)
      const raced = error instanceof ProjectKeyRotated || (constraint !== null && RACED.has(constraint))
      if (!raced || tries >= MAX_TRIES) throw error
    }
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
