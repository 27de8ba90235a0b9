import { findWallet, type Reach, type WalletRow } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Ctx } from '../context.ts'
import { notFound } from '../errors.ts'

type Key = { readonly id: string } | { readonly address: string } | { readonly ownerId: string }

/**
 * One wallet within reach.
 * @throws not_found (the same for one that does not exist and one that others have), address_invalid, not_implemented.
 */
export const getWallet = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
  input: Reach & { readonly network: Network; readonly by: Key },
): Promise<WalletRow> => {
  const chain = ctx.chains.get(input.network)
  const by = 'address' in input.by ? { address: chain.parseAddress(input.by.address, 'address') } : input.by
  const wallet = await findWallet(ctx.db, { ...input, by })
  if (wallet === null) throw notFound('wallet')
  return wallet
}
