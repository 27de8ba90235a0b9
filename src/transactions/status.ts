import { waitsFor } from '../../db/queries/clocks.ts'
import { findTransaction, findTransactionByHash, type TransactionRow } from '../../db/queries/transactions.ts'
import type { Reach } from '../../db/queries/wallets.ts'
import type { Network, TransactionStatus, WaitsFor } from '../../db/words.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'

type StatusCtx = Pick<Ctx, 'db' | 'chains'>

export type StatusOfHash = {
  readonly hash: string | null
  readonly status: TransactionStatus
  readonly contractAddress: string | null
}

const unknown = () => new AppError('transaction_not_found', 'No such transaction is known.')

/** Our record of an intent, and what it waits for. @throws transaction_not_found, also for others'. */
export const statusById = async (
  ctx: StatusCtx,
  input: Reach & { readonly id: string },
): Promise<{ readonly row: TransactionRow; readonly waiting: WaitsFor | null }> => {
  const row = await findTransaction(ctx.db, { ...input, id: input.id.toLowerCase() })
  if (row === null) throw unknown()
  const mayWait = row.settledAt === null && row.minedBlockHash === null
  return { row, waiting: mayWait ? await waitsFor(ctx.db, row) : null }
}

/**
 * The status of any hash: our own record where the hash is of an attempt within reach (then the hash that is shown is
 * the mined one), else what the chain says. @throws transaction_not_found, node_unavailable, not_implemented.
 */
export const statusByHash = async (
  ctx: StatusCtx,
  input: Reach & { readonly network: Network; readonly hash: string },
): Promise<StatusOfHash> => {
  const chain = ctx.chains.withNode(input.network)
  const hash = input.hash.toLowerCase() as Hex
  const row = await findTransactionByHash(ctx.db, { ...input, hash })
  if (row !== null) return { hash: row.shownHash, status: row.status, contractAddress: row.contractAddress }
  return statusOnChain(chain, hash)
}

const statusOnChain = async (chain: Chain, hash: Hex): Promise<StatusOfHash> => {
  const status = await chain.status(hash)
  if (status.kind === 'unknown') throw unknown()
  if (status.kind === 'pending' || status.confirmations < chain.depth.confirmations) {
    return { hash, status: 'pending', contractAddress: null }
  }
  return status.success && !status.failedWithin
    ? { hash, status: 'success', contractAddress: status.contractAddress }
    : { hash, status: 'failed', contractAddress: null }
}
