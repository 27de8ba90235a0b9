import { type Static, Type } from '@sinclair/typebox'
import { COLLECTION_STANDARDS } from '../../chains/chain.ts'
import {
  AddressField,
  ClosedObject,
  cappedPaging,
  closed,
  FileField,
  NetworkField,
  NewName,
  OneOf,
  PagingFields,
  SenderField,
  VisibleText,
} from '../../platform/http/schema.ts'
import { Quantity } from '../../signing/schema.ts'
import { MetadataBody, NftMetadata, SubmitBody, UriField } from '../metadata/schema.ts'

const COLLECTION = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const CollectionField = AddressField(
  'The collection: its address; on Substrate networks its id in decimal digits, or its program id where collections are programs.',
)

const PiecesField = (description: string) =>
  Type.String({
    pattern: '^0{0,77}[1-9][0-9]{0,77}$',
    description,
    rule: 'from 1 to 2^256 - 1 in plain decimal digits',
    examples: ['1'],
  })

const PieceFields = {
  token_id: Type.Optional(
    Quantity('An existing ERC-1155 token, to mint more pieces of it; by default a new one.', '1'),
  ),
  amount: Type.Optional(
    PiecesField('How many pieces of an ERC-1155 token; 1 by default. For other tokens it must be absent.'),
  ),
}

export const CreateCollectionBody = SubmitBody(
  'CreateCollection',
  {
    network: NetworkField,
    from: SenderField,
    name: NewName("The collection's name.", 'Doors'),
    standard: Type.Optional(
      OneOf(COLLECTION_STANDARDS, {
        description:
          '`erc721` by default: each NFT is one of its kind. `erc1155`: each has any number of pieces. Only on EVM networks.',
        examples: ['erc721'],
      }),
    ),
    symbol: VisibleText(
      { minLength: 1, maxLength: 32 },
      { description: "The collection's symbol.", examples: ['DOOR'] },
    ),
    image_url: UriField("The URI of the collection's image."),
    base_uri: Type.Optional(
      UriField('The prefix of token URIs for tokens minted without their own URI. Only on EVM networks.'),
    ),
    royalty_basis_points: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: 'The royalty of ERC-2981 in ten-thousandths of each sale; none by default. Only on EVM networks.',
        rule: 'a whole number from 1 to 10000',
        examples: [250],
      }),
    ),
    royalty_recipient: Type.Optional(AddressField('Who gets the royalty; by default the sender.')),
    soulbound: Type.Optional(
      Type.Boolean({
        description: 'Whether an NFT stays with whom it was minted to (ERC-5192); false by default.',
        rule: 'true or false',
        examples: [false],
      }),
    ),
  },
  {
    name: 'Doors',
    symbol: 'DOOR',
    image_url: 'https://example.com/door.png',
  },
)
export type CreateCollectionBody = Static<typeof CreateCollectionBody>

export const UploadBody = Type.Object(
  { file: FileField('A PNG, JPEG, GIF or WebP image. Its first bytes decide, not its name or type. SVG is refused.') },
  { ...closed, title: 'UploadImage' },
)

export const UploadedImage = ClosedObject('UploadedImage', {
  url: Type.String({
    description: 'Its URL at this service, for `image` and `image_url`. It never changes.',
    examples: [
      'https://wallets.example.org/metadata/9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b.png',
    ],
  }),
})

export const MintBody = SubmitBody(
  'MintNft',
  {
    network: Type.Optional(NetworkField),
    from: SenderField,
    contract_address: CollectionField,
    recipient: Type.Optional(AddressField('Who gets the NFT; by default the sender.')),
    metadata: Type.Optional(MetadataBody),
    uri: Type.Optional(UriField('The URI of an existing EIP-721 metadata document; instead of `metadata`.')),
    ...PieceFields,
  },
  {
    contract_address: COLLECTION,
    recipient: RECIPIENT,
    metadata: {
      name: 'Door #1',
      description: 'A red door.',
      image: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
    },
  },
)
export type MintBody = Static<typeof MintBody>

const MINTS_MAX = 200

export const BatchMintBody = SubmitBody(
  'BatchMintNfts',
  {
    network: Type.Optional(NetworkField),
    from: SenderField,
    contract_address: CollectionField,
    mints: Type.Array(
      Type.Object(
        {
          recipient: Type.Optional(AddressField('Who gets the NFT; by default the sender.')),
          metadata: Type.Optional(MetadataBody),
          ...PieceFields,
        },
        { ...closed, title: 'NftToMint', examples: [{ recipient: RECIPIENT }] },
      ),
      { minItems: 1, maxItems: MINTS_MAX, rule: `a list of 1 to ${MINTS_MAX} NFTs` },
    ),
  },
  {
    contract_address: COLLECTION,
    mints: [{ recipient: RECIPIENT }, { recipient: WALLET }],
  },
)
export type BatchMintBody = Static<typeof BatchMintBody>

export const TransferBody = SubmitBody(
  'TransferNft',
  {
    network: Type.Optional(NetworkField),
    from: AddressField('The wallet that holds the NFT.'),
    contract_address: CollectionField,
    recipient: AddressField('Who gets the NFT.'),
    token_id: Quantity('The token.', '1'),
    amount: Type.Optional(
      PiecesField('How many pieces of an ERC-1155 token; 1 by default, and always 1 for other tokens.'),
    ),
  },
  {
    from: WALLET,
    contract_address: COLLECTION,
    recipient: RECIPIENT,
    token_id: '1',
  },
)
export type TransferBody = Static<typeof TransferBody>

/** Fewer than for activity: every NFT before the page is summed. */
export const nftPaging = cappedPaging({ itemsMax: 2_000, from: 'after' })

export const ListNftsQuery = Type.Object(
  {
    network: NetworkField,
    wallet_address: Type.Optional(
      AddressField('A wallet of the project, whose NFTs to list. Either this or `contract_address`.'),
    ),
    contract_address: Type.Optional(
      AddressField("A collection, whose NFTs in the project's wallets to list. Either this or `wallet_address`."),
    ),
    after: Type.Optional(
      Type.String({
        pattern: '^(?:|null|[0-9A-Za-z]{1,66}:[0-9]{1,78}:[0-9A-Za-z]{1,66})$',
        description:
          'Only NFTs that are listed after this one: its `contract_address:token_id:owner_wallet_address`. Pages are counted from there.',
        rule: '"contract_address:token_id:owner_wallet_address" of an NFT',
        examples: [`${COLLECTION}:1:${WALLET}`],
      }),
    ),
    ...nftPaging.fields,
  },
  closed,
)

/** What `after` names; null if it is absent. The addresses are not checked yet. */
export const afterOf = ({ after }: { readonly after?: string }) => {
  const [contractAddress, tokenId, ownerAddress] = after?.split(':') ?? []
  if (contractAddress === undefined || tokenId === undefined || ownerAddress === undefined) return null
  return { contractAddress, tokenId: BigInt(tokenId), ownerAddress }
}

export const Nft = Type.Object(
  {
    owner_wallet_address: AddressField('The wallet that holds it.'),
    contract_address: AddressField('Its collection.'),
    token_id: Type.String({ description: 'The token id within the collection, in decimal digits.', examples: ['1'] }),
    metadata: Type.Union([NftMetadata, Type.Null()], {
      description: 'null unless the metadata is hosted here or contained in the token URI; nothing else is fetched.',
    }),
  },
  { ...closed, title: 'Nft' },
)
export type Nft = Static<typeof Nft>

export const ListCollectionsQuery = Type.Object(
  { network: NetworkField, wallet_address: AddressField('A wallet of the project.'), ...PagingFields },
  closed,
)

export const CollectionByAddressQuery = Type.Object(
  { contract_address: AddressField('The collection.'), network: Type.Optional(NetworkField) },
  closed,
)
