import type { HasDb } from '../../../db/client.ts'
import { networksOfAddress, type Reach, type WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, NodelessChain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { ContractWallet, ContractWallets } from '../../chains/contract-wallets.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasWallets } from './get.ts'

/** The most calls in a batch of a contract wallet. The gas of a block usually allows fewer. */
export const BATCH_MAX = 100

export type ReadContractWallet = {
  readonly wallet: ContractWallet
  readonly isDeployed: boolean
  readonly contractWallets: ContractWallets
}

/** The address of a wallet's key, whose nonces and coins are used. Pure. */
export const signerAddressOf = (
  chain: Pick<Chain, 'addressOf'>,
  { type, address, publicKey }: Pick<WalletRow, 'type' | 'address' | 'publicKey'>,
): string => (type === 'contract' ? chain.addressOf(publicKey) : address)

/** Reads a contract wallet and whether it has code; null for an eoa wallet, without asking a node. */
export const readContractWallet = async (
  chain: Pick<Chain, 'contractWallets' | 'addressOf'>,
  row: Pick<WalletRow, 'type' | 'address' | 'publicKey'>,
): Promise<ReadContractWallet | null> => {
  if (row.type !== 'contract') return null
  const { contractWallets } = chain
  if (contractWallets === null) throw new Error('a contract wallet on a network without contract wallets')
  const wallet = { address: row.address, owner: signerAddressOf(chain, row) }
  const state = await contractWallets.state(wallet)
  if (state.kind === 'changed') {
    throw new AppError(
      'contract_wallet_changed',
      `The contract wallet ${wallet.address} no longer obeys its key alone: ${state.how}. Strongroom does not sign for it.`,
    )
  }
  return { wallet, isDeployed: state.kind === 'ready', contractWallets }
}

const SIGNER_FIELD = 'signer_wallet_address'

type SignerQuery = Reach & {
  readonly network?: Network | undefined
  readonly address: string
  /** The name of the address field in the request; `signer_wallet_address` if absent. */
  readonly field?: string
}

export type SignerInput = Signatory & SignerQuery

export const readSigner = (body: { readonly network?: Network; readonly [SIGNER_FIELD]: string }) => ({
  network: body.network,
  address: body[SIGNER_FIELD],
})

type ResolvedSigner<AnyChain extends NodelessChain = Chain> = { readonly chain: AnyChain; readonly address: string }

/** Without a network in the request, it is the only one on which the caller has a wallet with the address. */
export const resolveSigner = async (
  ctx: HasDb & HasChains,
  { field = SIGNER_FIELD, ...input }: SignerQuery,
): Promise<ResolvedSigner> => {
  const chain = ctx.chains.withNode(input.network ?? (await onlyNetwork(ctx, { ...input, field })))
  return { chain, address: chain.parseAddress(input.address, field) }
}

/** Resolves the signer for operations that need no node, so the network may have none. */
export const resolveKeySigner = async (
  ctx: HasDb & HasChains,
  { field = SIGNER_FIELD, ...input }: SignerQuery,
): Promise<ResolvedSigner<NodelessChain>> => {
  const chain = ctx.chains.get(input.network ?? (await onlyNetwork(ctx, { ...input, field })))
  return { chain, address: chain.parseAddress(input.address, field) }
}

export const findSignerWallet = async (
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

/** If no network accepts the text, the error has the right spelling for each network that is likely meant. */
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
