import type { HeldNft } from './list.ts'
import type { Nft } from './list-schema.ts'

/** A held NFT as the wire shows it. Pure. */
export const shownNft = (held: HeldNft): Nft => ({
  owner_wallet_address: held.address,
  contract_address: held.contract,
  token_id: held.tokenId.toString(),
  metadata: held.metadata,
})
