// Fungible tokens, and transfers of the coin: to one recipient, or to several in one transaction.

import type { Intent } from './intent.ts'
import type { PrepareOptions } from './submission.ts'

// NFTs: minting, transfers, collections, and the URIs of their metadata.

export type MintRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly uri: string
  /** The metadata at the URI, if known: some contracts store it themselves. */
  readonly metadata?: { readonly name: string; readonly description: string; readonly image: string } | undefined
  /** Pieces of an ERC-1155 token: of this one, or of a new one if it is null. Absent: one NFT by any standard. */
  readonly pieces?: { readonly tokenId: bigint | null; readonly amount: bigint } | undefined
  /** Intents recorded earlier that are not known to be mined: one of them may take the token id that the mint needs. */
  readonly pending?: PrepareOptions['pending'] | undefined
}

export type BatchMintRequest = {
  readonly contract: string
  readonly from: string
  /** `digest`: the SHA-256 of the metadata in lower-case hex; null: the NFT has no metadata of its own. */
  readonly mints: readonly {
    readonly recipient: string
    readonly uri: string
    readonly digest: string | null
    /** As for a mint. */
    readonly pieces?: MintRequest['pieces']
  }[]
  /** The URI of a digest, which is written between these as 64 hex digits. */
  readonly digestUri: { readonly prefix: string; readonly suffix: string }
  /** As for a mint. */
  readonly pending?: PrepareOptions['pending'] | undefined
}

export type TransferNftRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly tokenId: bigint
  readonly amount: bigint
}

export const COLLECTION_STANDARDS = ['erc721', 'erc1155'] as const

export type CollectionRequest = {
  /** By default ERC-721. */
  readonly standard?: (typeof COLLECTION_STANDARDS)[number]
  readonly name: string
  readonly symbol: string
  readonly baseUri: string
  readonly contractUri: string
  readonly owner: string
  /** What the recipient asks of each sale, in ten-thousandths. */
  readonly royalty?: { readonly recipient: string; readonly basisPoints: number } | null
  /** Whether an NFT stays with the account to which it was minted. */
  readonly isSoulbound?: boolean
  /** As for a mint. */
  readonly pending?: PrepareOptions['pending'] | undefined
}

export type Nfts = {
  /** The metadata URIs of many tokens (tokenURI, uri); null if the contract has none. */
  tokenUris(tokens: readonly { contract: string; tokenId: bigint }[]): Promise<readonly (string | null)[]>
  /** The metadata URI of a collection; null if it has none. */
  contractUri(contract: string): Promise<string | null>
  mintIntent(request: MintRequest): Promise<Intent>
  /** Several mints in one transaction: all of them, or none. null for a network that cannot do this. */
  readonly batchMintIntent: ((request: BatchMintRequest) => Promise<Intent>) | null
  /** Uses the standard that the contract declares. */
  transferNftIntent(request: TransferNftRequest): Promise<Intent>
  /** null for a network whose collections are made outside of this service. */
  readonly collections: Collections | null
}

type Collections = {
  /** Deploys our collection contract, or the network's equivalent. */
  creation(request: CollectionRequest): Promise<Intent>
}

export type TokenRequest = {
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  /** In base units; the owner gets it. */
  readonly initialSupply: bigint
  readonly owner: string
  /** Intents recorded earlier that are not known to be mined: one of them may take the id that the token needs. */
  readonly pending?: PrepareOptions['pending'] | undefined
}

export type MintTokenRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly amount: bigint
}

export type Transfer = { readonly recipient: string; readonly amount: bigint }

export type TransfersRequest = {
  readonly from: string
  /** All or nothing, in this order. */
  readonly transfers: readonly Transfer[]
  /** Whether the sender can do several intents in one transaction. Otherwise the answer is one intent. */
  readonly canBatch: boolean
}

export type Tokens = {
  /** The first amount that is too large for the network's coin and tokens. */
  readonly amountEnd: bigint
  coinTransfers(request: TransfersRequest): Promise<readonly Intent[]>
  /** null for a network whose tokens are not handled by this service. */
  readonly tokens: TokenCalls | null
}

export type TokenCalls = {
  /** The canonical form of a token's contract or id. @throws address_invalid */
  parseToken(text: string, field: string): string
  creation(request: TokenRequest): Promise<Intent>
  /** @throws mint_unauthorized, mint_unsupported */
  mint(request: MintTokenRequest): Promise<Intent>
  /** @throws batch_unsupported, execution_reverted */
  transfers(request: TransfersRequest & { readonly contract: string }): Promise<readonly Intent[]>
}
