import { type Static, Type } from '@sinclair/typebox'
import {
  AddressField,
  cappedPaging,
  closed,
  NetworkField,
  OptionalUuidText,
  UuidField,
} from '../../platform/http/schema.ts'
import { Token } from '../../signing/schema.ts'

export const activityPaging = cappedPaging({ itemsMax: 10_000, from: 'before' })

export const ListActivityQuery = Type.Object(
  {
    network: NetworkField,
    wallet_address: AddressField('A wallet of the project.'),
    before: OptionalUuidText('Only items older than the one with this uuid. Pages are counted from there.'),
    ...activityPaging.fields,
  },
  closed,
)

export const parseBefore = (query: { readonly before?: string }): string | null =>
  query.before === undefined || query.before === '' || query.before === 'null' ? null : query.before

export const WalletActivityItem = Type.Object(
  {
    uuid: UuidField('Of this item.'),
    network: NetworkField,
    type: Type.Union(
      [
        Type.Literal('receive_token'),
        Type.Literal('send_token'),
        Type.Literal('receive_nft'),
        Type.Literal('send_nft'),
      ],
      { description: 'What happened, from the point of view of the wallet.', examples: ['receive_token'] },
    ),
    timestamp: Type.String({
      format: 'date-time',
      description: "The block's time: ISO 8601, UTC.",
      examples: ['2026-01-31T12:00:00.000Z'],
    }),
    wallet_address: AddressField('The wallet that was asked for.'),
    transaction_hash: Type.String({
      description: 'The transaction that did it; on Substrate networks the block if the runtime did it by itself.',
      examples: ['0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b'],
    }),
    from: Type.Optional(
      AddressField(
        'Who had it before; the zero address for a mint. An event of a token can name any address: `initiated_by` says who caused it.',
      ),
    ),
    to: Type.Optional(AddressField('Who has it now; the zero address for a burn.')),
    initiated_by: Type.Optional(
      AddressField(
        'Who sent the transaction, and so caused this; if a contract wallet acts, the account that paid for the gas. Absent if the chain did it by itself, or it is not known.',
      ),
    ),
    metadata: Type.Object(
      {
        amount: Type.String({ description: 'How much moved, without a sign, in whole coins.', examples: ['1.5'] }),
        token_id: Type.Optional(Type.String({ description: 'Which token; of NFTs only.', examples: ['1'] })),
      },
      closed,
    ),
    token: Token,
  },
  { ...closed, title: 'WalletActivityItem', description: '`token` of an NFT is its collection.' },
)
export type WalletActivityItem = Static<typeof WalletActivityItem>
