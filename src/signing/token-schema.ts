import { type Static, Type } from '@sinclair/typebox'
import { closed, NetworkField, UuidField } from '../platform/http/schema.ts'
import { COIN_WORDS } from '../platform/networks.ts'

export const Token = Type.Object(
  {
    uuid: UuidField('Derived from the network and the contract, so the same in every answer.'),
    network: NetworkField,
    contract_address: Type.String({
      description:
        "The token's contract. For an asset of a Substrate runtime its id: `asset:1984`, `pool:7` or `foreign:0x0201090704` (an XCM Location in SCALE). For a network's own coin a word: " +
        `${COIN_WORDS.map((word) => `\`${word}\``).join(', ')}.`,
      examples: ['ETH'],
    }),
    name: Type.String({ description: "The contract's name for itself; may be empty.", examples: ['Ether'] }),
    symbol: Type.String({ description: "The contract's symbol; may be empty.", examples: ['ETH'] }),
    decimals: Type.Integer({
      minimum: 0,
      maximum: 255,
      description: 'Decimals of the base unit; 0 for NFTs.',
      examples: [18],
    }),
    decimals_unknown: Type.Optional(
      Type.Boolean({
        description:
          'true if the contract does not say its decimals. Then `decimals` is 0, and amounts of the token are in base units. Absent otherwise.',
        examples: [true],
      }),
    ),
    display_decimals: Type.Integer({
      minimum: 0,
      maximum: 255,
      description: 'How many decimals to display.',
      examples: [6],
    }),
    logo_url: Type.String({ description: 'Empty if unknown.', examples: [''] }),
  },
  { ...closed, title: 'Token' },
)
export type Token = Static<typeof Token>
