import { type Static, Type } from '@sinclair/typebox'
import { AddressField, ClosedObject, NetworkField, OneOf } from '../../platform/http/schema.ts'
import { PolicyPreview } from '../policies/schema.ts'
import { AssetChange, EXAMPLE_TOKEN, PreviewResult } from '../transactions/preview-schema.ts'
import { EFFECTS, KINDS } from './meaning.ts'
import { Domain, EXAMPLE_TYPED_DATA, TypedDataField } from './schema.ts'

export const PreviewTypedDataBody = ClosedObject(
  'PreviewTypedData',
  {
    network: Type.Optional(NetworkField),
    signer_wallet_address: AddressField('The signer; any address.'),
    typed_data: TypedDataField,
  },
  {
    examples: [
      {
        network: 'Ethereum',
        signer_wallet_address: EXAMPLE_TYPED_DATA.message.owner,
        typed_data: EXAMPLE_TYPED_DATA,
      },
    ],
  },
)

const { raw_amount, from, to, token, nft } = AssetChange.properties

const Change = ClosedObject('TypedDataChange', {
  effect: OneOf([...EFFECTS, 'calls', 'states'], {
    description:
      '`may_take`: `to` may take up to the amount later. `sends`, `receives`: when the signature is used. These have the fields of an asset change. `calls`: a call of a Safe. `states`: a value of typed data that is not known.',
    examples: ['may_take'],
  }),
  amount: Type.Optional(
    Type.String({ description: 'For people: in whole coins; `unlimited` if it has no limit.', examples: ['2.5'] }),
  ),
  raw_amount: Type.Optional(raw_amount),
  from: Type.Optional(from),
  to: Type.Optional(to),
  token: Type.Optional(token),
  nft: Type.Optional(nft),
  call: Type.Optional(PreviewResult),
  path: Type.Optional(Type.String({ description: 'The place of a value in the message.', examples: ['from.name'] })),
  type: Type.Optional(Type.String({ description: 'The type of a value.', examples: ['string'] })),
  value: Type.Optional(Type.String({ description: 'A value as in the request.', examples: ['Cow'] })),
})
export type Change = Static<typeof Change>

export const TypedDataPreview = ClosedObject(
  'TypedDataPreview',
  {
    kind: OneOf(KINDS, {
      description:
        'By the text of its type: `permit` (ERC-2612, DAI), `permit2_allowance` and `permit2_transfer`, `transfer_authorization` and `authorization_cancelled` (ERC-3009), `safe_transaction`, `safe_message`, `seaport_order`, `seaport_bulk_order`; `unknown` for any other.',
      examples: ['permit'],
    }),
    summary: Type.String({ description: 'What it does, in one sentence. Texts of others are between “ and ”.' }),
    primary_type: Type.String({ description: 'As in the request.', examples: ['Permit'] }),
    domain: Domain,
    changes: Type.Array(Change, {
      description: 'What it moves or lets others take, or the calls of a Safe. Of unknown typed data all values.',
    }),
    warnings: Type.Array(Type.String(), { description: 'What is dangerous or odd about it; empty if nothing is.' }),
    policy: Type.Optional(PolicyPreview),
  },
  {
    examples: [
      {
        kind: 'permit',
        summary:
          'Let 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 take up to 2.5 “USDC” from this wallet; it can be submitted until 2030-01-01T00:00:00.000Z.',
        primary_type: 'Permit',
        domain: EXAMPLE_TYPED_DATA.domain,
        changes: [
          {
            effect: 'may_take',
            amount: '2.5',
            raw_amount: '2500000',
            from: EXAMPLE_TYPED_DATA.message.owner,
            to: EXAMPLE_TYPED_DATA.message.spender,
            token: EXAMPLE_TOKEN,
            nft: null,
          },
        ],
        warnings: [
          'The spender 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 is an account: whoever has its key can take the tokens.',
        ],
      },
    ],
  },
)
export type TypedDataPreview = Static<typeof TypedDataPreview>
