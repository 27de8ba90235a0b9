import { type Static, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { AddressField, closed, NetworkField, PagingFields } from '../http/schema.ts'
import { NftMetadata } from '../metadata/schema.ts'
import { NftCollection } from '../transactions/preview-schema.ts'

export const ListNftsQuery = t.Object(
  {
    network: NetworkField,
    wallet_address: t.Optional(AddressField('A wallet of the project: what it holds. This or `contract_address`.')),
    contract_address: t.Optional(
      AddressField("A collection: what the project's wallets hold of it. This or `wallet_address`."),
    ),
    ...PagingFields,
  },
  closed,
)

export const Nft = Type.Object(
  {
    owner_wallet_address: AddressField('Who holds it.'),
    contract_address: AddressField('Its collection.'),
    token_id: Type.String({ description: 'Which token of the collection, in decimal digits.', examples: ['1'] }),
    metadata: Type.Union([NftMetadata, Type.Null()], {
      description: 'null where it is neither hosted here nor carried in the token URI itself: nothing else is fetched.',
    }),
  },
  { ...closed, title: 'Nft' },
)
export type Nft = Static<typeof Nft>

export const ListCollectionsQuery = t.Object(
  { network: NetworkField, wallet_address: AddressField('A wallet of the project.'), ...PagingFields },
  closed,
)

export const CollectionByAddressQuery = t.Object(
  { contract_address: AddressField('The collection.'), network: t.Optional(NetworkField) },
  closed,
)

export { NftCollection }
