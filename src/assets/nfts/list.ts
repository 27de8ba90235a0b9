import type { HasDb } from '../../../db/client.ts'
import { type HoldingRow, holdingsOfAddress, holdingsOfContract } from '../../../db/queries/movements.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasLog } from '../../platform/process/log.ts'
import { ownWallet } from '../../signing/wallets/get.ts'
import type { HasWallets } from '../../signing/wallets/ours.ts'
import { metadataOfTokens } from '../metadata/of-tokens.ts'
import type { NftMetadata } from '../metadata/schema.ts'
import type { Nft } from './schema.ts'

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

/**
 * The NFTs of one wallet that the caller can see, or those of one collection in all such wallets, by contract and token id.
 */
export const listNfts = async (ctx: ListCtx, input: ListNftsInput): Promise<readonly HeldNft[]> => {
  const chain = ctx.chains.withNode(input.network)
  const holdings = await holdingsOf(ctx, input)
  const metadata = await metadataOfTokens(ctx, { chain, tokens: holdings })
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

/** A held NFT as API answers show it. Pure. */
export const shownNft = (held: HeldNft): Nft => ({
  owner_wallet_address: held.address,
  contract_address: held.contract,
  token_id: held.tokenId.toString(),
  metadata: held.metadata,
})
