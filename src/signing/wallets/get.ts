import type { Reach, WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasWallets } from './ours.ts'

type Key = { readonly id: string } | { readonly address: string } | { readonly ownerId: string }

/** Finds one wallet that the caller can see. */
export const getWallet = async (
  ctx: HasWallets & HasChains,
  input: Reach & { readonly network: Network; readonly by: Key },
): Promise<WalletRow> => {
  const chain = ctx.chains.get(input.network)
  const by = 'address' in input.by ? { address: chain.parseAddress(input.by.address, 'address') } : input.by
  const wallet = await ctx.wallets.find({ ...input, by })
  if (wallet === null) throw notFound('wallet')
  return wallet
}

/**
 * The network and canonical address of one of the project's wallets, for reading from the chain.
 * @throws wallet_forbidden for an unknown address and for one of another project.
 */
export const ownWallet = async (
  ctx: HasWallets & HasChains,
  input: Reach & { readonly network: Network; readonly walletAddress: string },
): Promise<{ readonly chain: Chain; readonly address: string }> => {
  const { network } = input
  const chain = ctx.chains.withNode(network)
  const address = chain.parseAddress(input.walletAddress, 'wallet_address')
  if ((await ctx.wallets.find({ ...input, by: { address } })) === null) {
    throw new AppError('wallet_forbidden', 'Field "wallet_address" must be the address of a wallet of this project.')
  }
  return { chain, address }
}
