import { type Static, Type } from '@sinclair/typebox'
import { AddressField, closed, NetworkField, SenderField, VisibleText } from '../../platform/http/schema.ts'
import { Token } from '../../signing/schema.ts'
import { SubmitBody, UriField } from '../metadata/schema.ts'
import { DISPLAY_AMOUNT } from './asset.ts'

export const BalancesQuery = Type.Object(
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

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** The length of the coin's word or of the longest id of a foreign asset. */
const TOKEN_LENGTH_MAX = 2_048
const TRANSFERS_MAX = 50

const AmountField = (description: string) =>
  Type.String({
    pattern: DISPLAY_AMOUNT,
    description: `${description} Exact: at most as many decimal places as the token has.`,
    rule: 'an amount in whole tokens in plain decimal digits, such as "1.5": no sign, exponent or space',
    examples: ['1.5'],
  })

const TokenField = Type.String({
  minLength: 1,
  maxLength: TOKEN_LENGTH_MAX,
  description:
    "The token's `contract_address`: a contract, on Substrate networks the id of an asset (`asset:1984`), or the word of the network's coin.",
  rule: "a token's contract address or id, or the word of the network's coin",
  examples: ['ETH'],
})

const ContractField = Type.String({
  minLength: 1,
  maxLength: TOKEN_LENGTH_MAX,
  description: "The token's contract; on Substrate networks the id of an asset (`asset:1984`).",
  rule: "a token's contract address or id",
  examples: [TOKEN],
})

export const TokenQuery = Type.Object({ network: NetworkField, token: TokenField }, closed)

export const CreateTokenBody = SubmitBody(
  'CreateToken',
  {
    network: NetworkField,
    from: SenderField,
    name: VisibleText({ minLength: 1, maxLength: 64 }, { description: "The token's name.", examples: ['Points'] }),
    symbol: VisibleText({ minLength: 1, maxLength: 32 }, { description: "The token's symbol.", examples: ['PNT'] }),
    decimals: Type.String({
      pattern: '^(?:[0-9]|[12][0-9]|3[0-6])$',
      description: 'The decimals of the base unit. They never change.',
      rule: 'a whole number from 0 to 36 in plain digits, as a text',
      examples: ['18'],
    }),
    logo_url: Type.Optional(UriField("The URI of the token's logo. Only this project sees it.")),
    initial_supply: Type.Optional(AmountField('What the sender gets at first; nothing by default.')),
  },
  {
    name: 'Points',
    symbol: 'PNT',
    decimals: '18',
    logo_url: 'https://example.com/points.png',
    initial_supply: '1000',
  },
)
export type CreateTokenBody = Static<typeof CreateTokenBody>

export const MintTokenBody = SubmitBody(
  'MintToken',
  {
    network: Type.Optional(NetworkField),
    from: SenderField,
    contract_address: ContractField,
    recipient: Type.Optional(AddressField('Who gets the tokens; by default the sender.')),
    amount: AmountField('How much to mint.'),
  },
  {
    contract_address: TOKEN,
    recipient: RECIPIENT,
    amount: '1.5',
  },
)
export type MintTokenBody = Static<typeof MintTokenBody>

const TransferFields = {
  network: Type.Optional(NetworkField),
  from: AddressField('The wallet that has the tokens.'),
  token: TokenField,
}

export const TransferTokenBody = SubmitBody(
  'TransferToken',
  {
    ...TransferFields,
    recipient: AddressField('Who gets the tokens.'),
    amount: AmountField('How much to transfer.'),
  },
  {
    from: WALLET,
    token: TOKEN,
    recipient: RECIPIENT,
    amount: '1.5',
  },
)
export type TransferTokenBody = Static<typeof TransferTokenBody>

export const BatchTransferTokenBody = SubmitBody(
  'BatchTransferToken',
  {
    ...TransferFields,
    transfers: Type.Array(
      Type.Object(
        { recipient: AddressField('Who gets the tokens.'), amount: AmountField('How much to transfer.') },
        { ...closed, title: 'TokenTransfer', examples: [{ recipient: RECIPIENT, amount: '1.5' }] },
      ),
      { minItems: 1, maxItems: TRANSFERS_MAX, rule: `a list of 1 to ${TRANSFERS_MAX} transfers` },
    ),
  },
  {
    from: WALLET,
    token: TOKEN,
    transfers: [
      { recipient: RECIPIENT, amount: '1.5' },
      { recipient: WALLET, amount: '2' },
    ],
  },
)
export type BatchTransferTokenBody = Static<typeof BatchTransferTokenBody>
