import { findWallet, type Reach } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Chain } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'

/**
 * The network and canonical address of one of the project's wallets, for reading what the chain tells of it.
 * @throws wallet_forbidden (the same for an address that nobody has and for another project's), address_invalid,
 * network_mismatch, not_implemented.
 */
export const ownWallet = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
  input: Reach & { readonly network: Network; readonly walletAddress: string },
): Promise<{ readonly chain: Chain; readonly address: string }> => {
  const { network } = input
  const chain = ctx.chains.withNode(network)
  const address = chain.parseAddress(input.walletAddress, 'wallet_address')
  if ((await findWallet(ctx.db, { ...input, by: { address } })) === null) {
    throw new AppError('wallet_forbidden', 'Field "wallet_address" must be the address of a wallet of this project.')
  }
  return { chain, address }
}
