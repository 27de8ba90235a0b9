import { type CollectionRow, collectionsOfWallet } from '../../db/queries/collections.ts'
import type { Reach } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Ctx } from '../context.ts'
import type { NftCollection } from '../transactions/preview-schema.ts'
import { ownWallet } from '../wallets/own-wallet.ts'

/** A collection as the wire shows it; none where it is not on the chain. Pure. */
export const shownCollection = (row: CollectionRow): readonly NftCollection[] =>
  row.contractAddress === null
    ? []
    : [
        {
          network: row.network,
          contract_address: row.contractAddress,
          name: row.name,
          image_url: row.imageUrl,
          symbol: row.symbol,
        },
      ]

/**
 * The collections that a wallet of the project created here, oldest first.
 * @throws wallet_forbidden, address_invalid, network_mismatch, not_implemented.
 */
export const listCollections = async (
  ctx: Pick<Ctx, 'db' | 'chains'>,
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
