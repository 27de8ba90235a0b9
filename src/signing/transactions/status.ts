import { findMortalSignature, type MortalSignature } from '../../../db/queries/audit-rows.ts'
import { readWaits, type Waiting } from '../../../db/queries/clocks.ts'
import { listTransactionsOf, type TransactionFilter } from '../../../db/queries/transaction-lists.ts'
import { findTransaction, findTransactionByHash, type TransactionRow } from '../../../db/queries/transactions.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network, TransactionStatus } from '../../../db/words.ts'
import type { Chain, Hex } from '../../chains/chain.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput } from '../schema.ts'
import { onlyNetwork } from '../wallets/signer.ts'

type StatusOfHash = {
  readonly hash: string | null
  readonly status: TransactionStatus
  readonly contractAddress: string | null
}

const unknown = () => new AppError('transaction_not_found', 'No such transaction is known.')

export type Recorded = { readonly row: TransactionRow; readonly waiting: Waiting | null }

/** @throws transaction_not_found, also beyond the caller's reach. */
export const statusById = async (ctx: SigningCtx, input: Reach & { readonly id: string }): Promise<Recorded> => {
  const row = await findTransaction(ctx.db, { ...input, id: input.id.toLowerCase() })
  if (row === null) throw unknown()
  const [recorded] = await withWaiting(ctx, [row])
  return recorded ?? { row, waiting: null }
}

const withWaiting = async (ctx: SigningCtx, rows: readonly TransactionRow[]): Promise<readonly Recorded[]> => {
  const mayWait = rows.filter((row) => row.settledAt === null && row.minedBlockHash === null)
  const reasons = await readWaits(
    ctx.db,
    mayWait.map(({ id }) => id),
  )
  return rows.map((row) => ({ row, waiting: reasons.get(row.id) ?? null }))
}

type StatusQuery = Reach & { readonly network: Network; readonly hash: string }

/**
 * From our record if the hash is of an attempt within reach (then with the mined hash), else from the chain. A mortal
 * extrinsic that was only signed is `pending` as long as a block may take it.
 */
export const statusByHash = async (ctx: SigningCtx, input: StatusQuery): Promise<StatusOfHash> => {
  const chain = ctx.chains.withNode(input.network)
  const hash = input.hash.toLowerCase() as Hex
  const row = await findTransactionByHash(ctx.db, { ...input, hash })
  if (row !== null) return { hash: row.shownHash, status: row.status, contractAddress: row.contractAddress }
  const found = await statusOnChain(chain, hash)
  if (found !== null) return found
  const signed = await signedWithinReach(ctx, { ...input, hash })
  if (signed === null) throw unknown()
  if (await mayBeIncluded(chain, signed)) return pending(hash)
  // It may have been included since the first question.
  const since = await statusOnChain(chain, hash)
  if (since === null) throw unknown()
  return since
}

const pending = (hash: Hex): StatusOfHash => ({ hash, status: 'pending', contractAddress: null })

const statusOnChain = async (chain: Chain, hash: Hex): Promise<StatusOfHash | null> => {
  const status = await chain.status(hash)
  if (status.kind === 'unknown') return null
  if (status.kind === 'pending' || status.confirmations < chain.depth.confirmations) return pending(hash)
  return status.success && !status.failedWithin
    ? { hash, status: 'success', contractAddress: status.contractAddress }
    : { hash, status: 'failed', contractAddress: null }
}

type Signed = Pick<MortalSignature, 'nonce' | 'validUntilBlock'> & { readonly address: string }

/** No caller learns what wallets beyond their reach have signed. */
const signedWithinReach = async ({ db, wallets }: SigningCtx, input: StatusQuery): Promise<Signed | null> => {
  const signature = await findMortalSignature(db, input)
  if (signature === null) return null
  const wallet = await wallets.find({ ...input, by: { id: signature.walletId } })
  return wallet && { ...signature, address: wallet.address }
}

/** As of final blocks. It may still be in a pool: nodes do not list extrinsics that wait for an earlier nonce. */
const mayBeIncluded = async (chain: Chain, { address, nonce, validUntilBlock }: Signed): Promise<boolean> => {
  const { minedCount } = await chain.accountState(address)
  if (minedCount > nonce) return false
  const { latest } = await chain.head()
  return latest.number < validUntilBlock
}

type ListInput = Reach &
  TransactionFilter & {
    readonly walletAddress: string | null
    readonly before: string | null
    readonly limit: number
  }

/** The transactions within reach, newest first. */
export const listTransactions = async (ctx: SigningCtx, input: ListInput): Promise<readonly Recorded[]> => {
  const wallet =
    input.walletAddress === null ? null : await findWalletAt(ctx, { ...input, address: input.walletAddress })
  const before = input.before === null ? null : await findTransaction(ctx.db, { ...input, id: input.before })
  if (input.before !== null && before === null) {
    throw invalidInput('Field "before" must be the transaction_id of an item in this list.')
  }
  const rows = await listTransactionsOf(ctx.db, {
    ...input,
    before,
    walletId: wallet?.id ?? null,
    network: wallet?.network ?? input.network,
  })
  return withWaiting(ctx, rows)
}

const WALLET_FIELD = 'wallet_address'

const findWalletAt = async (
  ctx: SigningCtx,
  input: Reach & { readonly network: Network | null; readonly address: string },
): Promise<{ readonly id: string; readonly network: Network }> => {
  const network = input.network ?? (await onlyNetwork(ctx, { ...input, field: WALLET_FIELD }))
  const address = ctx.chains.of(network).parseAddress(input.address, WALLET_FIELD)
  const wallet = await ctx.wallets.find({ ...input, network, by: { address } })
  if (wallet !== null) return wallet
  throw new AppError('wallet_forbidden', `Field "${WALLET_FIELD}" must be the address of a wallet of this project.`)
}
