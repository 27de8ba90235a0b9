import { type Static, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { AddressField, closed, NetworkField, UuidField } from '../http/schema.ts'

export const Token = Type.Object(
  {
    uuid: UuidField('Of the network and the contract: the same wherever the token is shown.'),
    network: NetworkField,
    contract_address: Type.String({
      description:
        "The token's contract; of an asset on Polkadot its id, as `asset:1984`, `pool:7` or `foreign:0x0201090704` (an XCM Location in SCALE); of a network's own coin its word: `ETH`, `MATIC`, `AVAX`, `DOT` or `VARA`.",
      examples: ['ETH'],
    }),
    name: Type.String({ description: 'As the contract says it; may be empty.', examples: ['Ether'] }),
    symbol: Type.String({ description: 'As the contract says it; may be empty.', examples: ['ETH'] }),
    decimals: Type.Integer({ minimum: 0, maximum: 255, description: 'Of its base unit; 0 for NFTs.', examples: [18] }),
    display_decimals: Type.Integer({
      minimum: 0,
      maximum: 255,
      description: 'How many decimals to show to people.',
      examples: [6],
    }),
    logo_url: Type.String({ description: 'Empty where none is known.', examples: [''] }),
  },
  { ...closed, title: 'Token' },
)
export type Token = Static<typeof Token>

export const BalancesQuery = t.Object(
  { network: NetworkField, wallet_address: AddressField('A wallet of the project.') },
  closed,
)

export const TokenBalance = Type.Object(
  {
    ...Token.properties,
    raw_balance: Type.String({ description: 'In base units.', examples: ['1500000000000000000'] }),
    display_balance: Type.String({ description: 'In whole coins, exact.', examples: ['1.5'] }),
  },
  { ...closed, title: 'TokenBalance' },
)
export type TokenBalance = Static<typeof TokenBalance>
