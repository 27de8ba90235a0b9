import type { HasDb } from '../../../db/client.ts'
import { type CollectionRow, collectionsAt, collectionsOfWallet } from '../../../db/queries/collections.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { contractOf, tokenDisplays } from '../../signing/token.ts'
import type { NftCollection } from '../../signing/transactions/preview-schema.ts'
import { ownWallet } from '../../signing/wallets/get.ts'
import type { HasWallets } from '../../signing/wallets/ours.ts'
import { metadataOfUris } from '../metadata/of-tokens.ts'

/** A collection as API answers show it; empty if it is not on the chain yet. Pure. */
const shownCollection = ({
  network,
  contractAddress,
  name,
  imageUrl,
  symbol,
}: CollectionRow): readonly NftCollection[] =>
  contractAddress === null ? [] : [{ network, contract_address: contractAddress, name, image_url: imageUrl, symbol }]

/** The collections that a wallet of the project created through this service, oldest first. */
export const listCollections = async (
  ctx: HasDb & HasChains & HasWallets,
  input: Reach & {
    readonly network: Network
    readonly walletAddress: string
    readonly limit: number
    readonly offset: number
  },
): Promise<NftCollection[]> => {
  const { address } = await ownWallet(ctx, input)
  return (await collectionsOfWallet(ctx.db, { ...input, ownerAddress: address })).flatMap(shownCollection)
}

/** Without a network, the form of the text decides the family. @throws the refusal of the first network. */
const parseAnywhere = ({ chains }: HasChains, text: string, field: string): string => {
  const refusals: unknown[] = []
  for (const chain of chains.known) {
    try {
      return chain.parseContract(text, field)
    } catch (error) {
      refusals.push(error)
    }
  }
  throw refusals[0]
}

/**
 * One collection, as the project created it. Otherwise, if the network is given, as its contract describes it; the metadata
 * at its own URI (ERC-7572) is used if it is hosted here or contained in the URI.
 */
export const collectionByAddress = async (
  ctx: HasDb & HasChains & HasConfig & HasIdentity,
  input: Reach & { readonly network?: Network | undefined; readonly contractAddress: string },
): Promise<NftCollection> => {
  const { network } = input
  const chain = network === undefined ? null : ctx.chains.withNode(network)
  const field = 'contract_address'
  const contractAddress =
    chain === null
      ? parseAnywhere(ctx, input.contractAddress, field)
      : chain.parseContract(input.contractAddress, field)
  const rows = await collectionsAt(ctx.db, { ...input, contractAddress })
  const [own, another] = rows.flatMap(shownCollection)
  if (another !== undefined) {
    throw new AppError(
      'network_required',
      'Field "network" is required: several networks have a collection at this address.',
    )
  }
  if (own !== undefined) return own
  if (chain === null) throw notFound('collection')
  const facts = (await chain.facts([contractAddress])).get(contractAddress)
  const display = (await tokenDisplays(ctx, { chain, addresses: [contractAddress] })).get(contractAddress)
  const shown = facts && contractOf({ chain, address: contractAddress, facts, display })
  if (!shown?.nft) throw notFound('collection')
  const { nft } = shown
  if (nft.name !== '' && nft.image_url !== '') return nft
  const [about] = await metadataOfUris(ctx, [await chain.contractUri(contractAddress)])
  return { ...nft, name: nft.name || (about?.name ?? ''), image_url: nft.image_url || (about?.image ?? '') }
}
