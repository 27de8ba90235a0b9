import type { HasDb } from '../../../db/client.ts'
import { listTransactionsOf, type TransactionFilter } from '../../../db/queries/transaction-lists.ts'
import { findTransaction } from '../../../db/queries/transactions.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasWallets } from '../wallets/ours.ts'
import { onlyNetwork } from '../wallets/signer.ts'
import { type Recorded, withWaiting } from './status.ts'

type ListInput = Reach &
  TransactionFilter & {
    readonly walletAddress: string | null
    /** The id of a transaction: only older ones. */
    readonly before: string | null
    readonly limit: number
  }

type ListCtx = HasDb & HasChains & HasWallets

/** The transactions within reach, newest first. */
export const listTransactions = async (ctx: ListCtx, input: ListInput): Promise<readonly Recorded[]> => {
  const wallet = input.walletAddress === null ? null : await walletAt(ctx, { ...input, address: input.walletAddress })
  const before = input.before === null ? null : await findTransaction(ctx.db, { ...input, id: input.before })
  if (input.before !== null && before === null) {
    throw new AppError('invalid_input', 'Field "before" must be the transaction_id of an item in this list.')
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

const walletAt = async (
  ctx: ListCtx,
  input: Reach & { readonly network: Network | null; readonly address: string },
): Promise<{ readonly id: string; readonly network: Network }> => {
  const network = input.network ?? (await onlyNetwork(ctx, { ...input, field: WALLET_FIELD }))
  const address = ctx.chains.of(network).parseAddress(input.address, WALLET_FIELD)
  const wallet = await ctx.wallets.find({ ...input, network, by: { address } })
  if (wallet !== null) return wallet
  throw new AppError('wallet_forbidden', `Field "${WALLET_FIELD}" must be the address of a wallet of this project.`)
}
