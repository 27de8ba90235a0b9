// NFTs: minting, transferring, collections, and where their metadata is.

import type { Intent } from './intent.ts'
import type { PrepareOptions } from './submission.ts'

export type MintRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly uri: string
  /** What stands at the URI, where that is known: some contracts keep it themselves. */
  readonly metadata?: { readonly name: string; readonly description: string; readonly image: string } | undefined
  /** What was recorded before and is not known to be mined: it may take a number that must be free. */
  readonly behind?: PrepareOptions['behind'] | undefined
}

export type TransferNftRequest = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  readonly tokenId: bigint
  readonly amount: bigint
}

export type CollectionRequest = {
  readonly name: string
  readonly symbol: string
  readonly baseUri: string
  readonly contractUri: string
  readonly owner: string
  /** As for a mint. */
  readonly behind?: PrepareOptions['behind'] | undefined
}

export type Nfts = {
  /** tokenURI / uri of many tokens; null where the contract has none. @throws node_unavailable. */
  tokenUris(tokens: readonly { contract: string; tokenId: bigint }[]): Promise<readonly (string | null)[]>
  /** Where the metadata of a collection itself is; null where it has none. @throws node_unavailable. */
  contractUri(contract: string): Promise<string | null>
  /** @throws mint_unauthorized, mint_requires_value, mint_unsupported, node_unavailable. */
  mintIntent(request: MintRequest): Promise<Intent>
  /** ERC-721 or ERC-1155 by the contract's own word. @throws invalid_input (no NFT contract), node_unavailable. */
  transferNftIntent(request: TransferNftRequest): Promise<Intent>
  /** Our own collection contract, or what the network has in its place. @throws invalid_input, not_implemented, node_unavailable. */
  collectionIntent(request: CollectionRequest): Promise<Intent>
}
