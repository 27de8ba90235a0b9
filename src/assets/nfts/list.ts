import type { HasDb } from '../../../db/client.ts'
import { type CollectionRow, collectionsAt, collectionsOfWallet } from '../../../db/queries/collections.ts'
import { type HoldingRow, holdingsOfAddress, holdingsOfContract } from '../../../db/queries/movements.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { contractOf, tokenDisplays } from '../../signing/token.ts'
import type { NftCollection } from '../../signing/transactions/preview-schema.ts'
import { type HasWallets, ownWallet } from '../../signing/wallets/get.ts'
import { readMetadata, readTokenMetadata } from '../metadata/of-tokens.ts'
import type { NftMetadata } from '../metadata/schema.ts'
import type { Nft } from './schema.ts'

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
 * One collection, as the project created it. Otherwise, if the network is given, as its contract describes it; the
 * metadata at its own URI (ERC-7572) is used if it is hosted here or contained in the URI.
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
  const [about] = await readMetadata(ctx, [await chain.contractUri(contractAddress)])
  return { ...nft, name: nft.name || (about?.name ?? ''), image_url: nft.image_url || (about?.image ?? '') }
}

type ListNftsInput = Reach & {
  readonly network: Network
  readonly walletAddress?: string | undefined
  readonly contractAddress?: string | undefined
  /** Lists only what comes after this NFT. */
  readonly after: { readonly contractAddress: string; readonly tokenId: bigint; readonly ownerAddress: string } | null
  readonly limit: number
  readonly offset: number
}

type HeldNft = HoldingRow & { readonly metadata: NftMetadata | null }

type ListCtx = HasDb & HasChains & HasWallets & HasConfig & HasLog

/** The NFTs of one wallet, or those of one collection in all wallets within reach, by contract and token id. */
export const listNfts = async (ctx: ListCtx, input: ListNftsInput): Promise<readonly HeldNft[]> => {
  const chain = ctx.chains.withNode(input.network)
  const holdings = await holdingsOf(ctx, input)
  const metadata = await readTokenMetadata(ctx, { chain, tokens: holdings })
  return holdings.map((holding, index) => ({ ...holding, metadata: metadata[index] ?? null }))
}

const holdingsOf = async (ctx: ListCtx, input: ListNftsInput): Promise<readonly HoldingRow[]> => {
  const { projectId, ownedBy, network, walletAddress, contractAddress, limit, offset } = input
  const chain = ctx.chains.withNode(network)
  const after =
    input.after === null
      ? null
      : {
          contract: chain.parseContract(input.after.contractAddress, 'after'),
          tokenId: input.after.tokenId,
          address: chain.parseAddress(input.after.ownerAddress, 'after'),
        }
  if (walletAddress !== undefined && contractAddress === undefined) {
    const { address } = await ownWallet(ctx, { ...input, walletAddress })
    return holdingsOfAddress(ctx.db, { network, address, after, limit, offset })
  }
  if (contractAddress !== undefined && walletAddress === undefined) {
    const contract = chain.parseContract(contractAddress, 'contract_address')
    return holdingsOfContract(ctx.db, { projectId, ownedBy, network, contract, after, limit, offset })
  }
  throw new AppError('invalid_input', 'Exactly one of "wallet_address" and "contract_address" must be given.')
}

export const shownNft = (held: HeldNft): Nft => ({
  owner_wallet_address: held.address,
  contract_address: held.contract,
  token_id: held.tokenId.toString(),
  metadata: held.metadata,
})
