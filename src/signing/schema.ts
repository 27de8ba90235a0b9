// Fields of several requests and answers. Numbers are texts, because a JSON number would lose digits.

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { AppError } from '../platform/errors.ts'
import { AddressField, closed, NetworkField, UuidField } from '../platform/http/schema.ts'
import { COIN_WORDS } from '../platform/networks.ts'

export const UINT256_END = 1n << 256n
export const UINT64_END = 1n << 64n
/** Above this a number is not exact. */
export const NONCE_END = 1n << 53n

const PATTERN = '^(?:0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$'
const FORM = new RegExp(PATTERN)

/** The pattern cannot check "below 2^256" for decimals: parseQuantity does. */
export const Amount = (description: string, example: string) =>
  Type.String({
    pattern: PATTERN,
    description,
    rule: 'a quantity below 2^256 in 0x hex or plain decimal digits',
    examples: [example],
  })

export const Quantity = (description: string, example: string) =>
  Amount(`${description} 0x hex or plain decimal digits.`, example)

export const invalidInput = (sentence: string): AppError => new AppError('invalid_input', sentence)

export const invalidField = (field: string, sentence: string): AppError => invalidInput(`Field "${field}" ${sentence}`)

export const TimeField = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T12:00:00.000Z'] })

/** A number in JSON. @param range the least and the most. @param note an end of the rule, in brackets. */
export const WholeNumber = (
  description: string,
  {
    range: [minimum, maximum],
    example,
    note = '',
  }: { range: readonly [number, number]; example: number; note?: string },
) =>
  Type.Integer({
    minimum,
    maximum,
    description,
    rule: `a whole number from ${minimum} to ${maximum}${note}`,
    examples: [example],
  })

export const OrNull = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

/** A value of a query string, in which an empty value and `null` mean absent. */
export const givenText = (text: string | undefined): string | null =>
  text === undefined || text === '' || text === 'null' ? null : text

/** @param end the first number that is too large. */
export const parseQuantity = (text: string, field: string, end: bigint): bigint => {
  const value = FORM.test(text) ? BigInt(text) : -1n
  if (value >= 0n && value < end) return value
  const bound = end === UINT256_END ? '2^256' : end === UINT64_END ? '2^64' : '2^53'
  throw invalidInput(`Field "${field}" must be a quantity below ${bound} in 0x hex or plain decimal digits.`)
}

/** An amount in base units: plain decimal digits, at least 1. */
export const parseAmount = (text: string, field: string): bigint => {
  const amount = /^[0-9]{1,78}$/.test(text) ? BigInt(text) : 0n
  if (amount > 0n && amount < UINT256_END) return amount
  throw invalidInput(`Field "${field}" must be from 1 to 2^256 - 1 in plain decimal digits.`)
}

/** The fields of a request that name its signer. */
export const SignerFields = {
  network: Type.Optional(NetworkField),
  signer_wallet_address: AddressField('A wallet of the project.'),
}

export const EXAMPLE_SIGNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** An example of a request with `SignerFields` and the developer's secret. */
export const signedExample = (fields: object, signer = EXAMPLE_SIGNER) => ({
  network: 'Ethereum',
  signer_wallet_address: signer,
  ...fields,
  developer_secret: 'testnet-secret',
})

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
