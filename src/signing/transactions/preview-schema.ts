import { type Static, Type } from '@sinclair/typebox'
import { AddressField, ClosedObject, closed, NetworkField } from '../../platform/http/schema.ts'
import { PolicyPreview } from '../policies/schema.ts'
import { OrNull, Token } from '../schema.ts'
import { UnsignedTransaction } from './schema.ts'

const EXAMPLE = {
  network: 'Ethereum',
  from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  unsigned_transaction: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000' },
}

const From = AddressField('The sender; any address.')

export const PreviewBody = ClosedObject(
  'PreviewTransaction',
  { network: Type.Optional(NetworkField), from: From, unsigned_transaction: UnsignedTransaction },
  { examples: [EXAMPLE] },
)

const MAX_BUNDLE = 50

export const PreviewBundleBody = ClosedObject(
  'PreviewBundle',
  {
    network: Type.Optional(NetworkField),
    from: From,
    unsigned_transactions: Type.Array(UnsignedTransaction, {
      minItems: 1,
      maxItems: MAX_BUNDLE,
      rule: `a list of 1 to ${MAX_BUNDLE} transactions`,
    }),
  },
  {
    examples: [{ network: EXAMPLE.network, from: EXAMPLE.from, unsigned_transactions: [EXAMPLE.unsigned_transaction] }],
  },
)

export const EXAMPLE_TOKEN = {
  uuid: '0f1e2d3c-4b5a-5697-8877-665544332211',
  network: 'Ethereum',
  contract_address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  name: 'USD Coin',
  symbol: 'USDC',
  decimals: 6,
  display_decimals: 2,
  logo_url: '',
}

const EXAMPLE_CONTRACT = {
  network: 'Ethereum',
  address: EXAMPLE_TOKEN.contract_address,
  type: 'token',
  name: EXAMPLE_TOKEN.name,
  logo_url: '',
  token: EXAMPLE_TOKEN,
  nft: null,
}

export const NftCollection = ClosedObject(
  'NftCollection',
  {
    network: NetworkField,
    contract_address: Type.String(),
    name: Type.String(),
    image_url: Type.String(),
    symbol: Type.String(),
  },
  {
    examples: [
      {
        network: 'Ethereum',
        contract_address: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
        name: 'Doors',
        image_url: 'https://example.com/door.png',
        symbol: 'DOOR',
      },
    ],
  },
)
export type NftCollection = Static<typeof NftCollection>

export const PreviewContract = ClosedObject(
  'PreviewContract',
  {
    network: NetworkField,
    address: Type.String(),
    type: Type.Union([Type.Literal('token'), Type.Literal('nft'), Type.Literal('other')]),
    name: Type.String(),
    logo_url: Type.String(),
    token: OrNull(Token),
    nft: OrNull(NftCollection),
  },
  { examples: [EXAMPLE_CONTRACT] },
)
export type PreviewContract = Static<typeof PreviewContract>

const NftMetadata = Type.Object({ name: Type.String(), description: Type.String(), image: Type.String() }, closed)

const ChangedNft = Type.Object(
  {
    owner_wallet_address: Type.String(),
    contract_address: Type.String(),
    token_id: Type.String(),
    metadata: OrNull(NftMetadata),
  },
  closed,
)

export const AssetChange = ClosedObject('AssetChange', {
  amount: Type.String({ description: 'For people: in whole coins.' }),
  raw_amount: Type.String({ description: 'In base units.' }),
  from: Type.String(),
  to: Type.String(),
  token: OrNull(Token),
  nft: OrNull(ChangedNft),
})
export type AssetChange = Static<typeof AssetChange>

export const PreviewResult = ClosedObject(
  'PreviewResult',
  {
    network: NetworkField,
    from: Type.String(),
    to: Type.String({
      description: 'Empty for a contract creation, and for a call of a Substrate runtime in `input`.',
    }),
    contract: OrNull(PreviewContract),
    function_name: OrNull(Type.String()),
    arguments: OrNull(Type.Record(Type.String(), Type.Unknown())),
    simulation: OrNull(
      Type.Object(
        {
          success: Type.Boolean(),
          asset_changes: OrNull(Type.Array(AssetChange)),
          error: OrNull(
            Type.String({
              description:
                'After a revert it begins with `execution reverted: `. With `not simulated: `, which is possible after a success too, it says what the network could not run in advance.',
            }),
          ),
          fee: Type.Optional(
            Type.Object(
              {
                amount: Type.String({ description: 'For people: in whole coins.' }),
                raw_amount: Type.String({ description: 'In base units.' }),
                token: Token,
              },
              {
                ...closed,
                description: 'Only with `asset_id`: the most that the fee may be in that asset. Less may be taken.',
              },
            ),
          ),
        },
        closed,
      ),
    ),
    policy: Type.Optional(PolicyPreview),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description: 'What is odd about it, in sentences. Absent if nothing is.',
        examples: [['It sends tokens to their own contract, where they are lost.']],
      }),
    ),
  },
  {
    examples: [
      {
        network: 'Ethereum',
        from: EXAMPLE.from,
        to: EXAMPLE_TOKEN.contract_address,
        contract: EXAMPLE_CONTRACT,
        function_name: 'transfer',
        arguments: { to: EXAMPLE.unsigned_transaction.to, value: '2500000' },
        simulation: {
          success: true,
          asset_changes: [
            {
              amount: '2.5',
              raw_amount: '2500000',
              from: EXAMPLE.from,
              to: EXAMPLE.unsigned_transaction.to,
              token: EXAMPLE_TOKEN,
              nft: null,
            },
          ],
          error: null,
        },
      },
    ],
  },
)
export type PreviewResult = Static<typeof PreviewResult>
