import type { HasDb } from '../../../db/client.ts'
import { networksOfAddress, type Reach, type WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, NodelessChain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasWallets } from './ours.ts'

type SignerQuery = Reach & {
  readonly network?: Network | undefined
  readonly address: string
  /** The name of the address field in the request. */
  readonly field: string
}

type ResolvedSigner<AnyChain extends NodelessChain = Chain> = { readonly chain: AnyChain; readonly address: string }

/**
 * Finds the network and canonical address of a signer. Without a network in the request, it is the only one on which the
 * caller has a wallet with the address.
 */
export const resolveSigner = async (ctx: HasDb & HasChains, input: SignerQuery): Promise<ResolvedSigner> => {
  const chain = ctx.chains.withNode(input.network ?? (await onlyNetwork(ctx, input)))
  return { chain, address: chain.parseAddress(input.address, input.field) }
}

/** Resolves the signer for operations that need no node, so the network may have none. */
export const resolveKeySigner = async (
  ctx: HasDb & HasChains,
  input: SignerQuery,
): Promise<ResolvedSigner<NodelessChain>> => {
  const chain = ctx.chains.get(input.network ?? (await onlyNetwork(ctx, input)))
  return { chain, address: chain.parseAddress(input.address, input.field) }
}

/** Finds the caller's wallet at an address. */
export const walletOf = async (
  ctx: HasWallets,
  input: Reach & { readonly signer: ResolvedSigner<NodelessChain> },
): Promise<WalletRow> => {
  const { chain, address } = input.signer
  const wallet = await ctx.wallets.at({ projectId: input.projectId, network: chain.network, address })
  if (wallet === null || (input.ownedBy ?? wallet.ownerId) !== wallet.ownerId) throw notFound('wallet')
  return wallet
}

/** The network of the only wallet with this address that the caller can see. */
export const onlyNetwork = async (
  ctx: HasDb & HasChains,
  input: Reach & { readonly address: string; readonly field: string },
): Promise<Network> => {
  const networks = await networksOfAddress(ctx.db, { ...input, address: canonicalSomewhere(ctx, input) })
  const [network] = networks
  if (network !== undefined && networks.length === 1) return network
  throw new AppError('network_required', `Field "network" is required: "${input.field}" alone does not determine it.`)
}

/**
 * The canonical address on the first network that accepts the text. If none does, the error gives the right spelling for
 * each network that the account could be meant for.
 */
const canonicalSomewhere = (ctx: HasChains, input: { readonly address: string; readonly field: string }): string => {
  const refusals: AppError[] = []
  /** Errors of networks for which the text could be an address. */
  const likely: AppError[] = []
  for (const chain of ctx.chains.served) {
    try {
      return chain.parseAddress(input.address, input.field)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      refusals.push(error)
      if (chain.isPrefixedAddress(input.address)) likely.push(error)
    }
  }
  const [first] = likely
  if (first?.code !== 'network_mismatch') throw first ?? refusals[0]
  throw new AppError('network_mismatch', likely.map(({ message }) => message).join(' '))
}
