import { type Static, Type } from '@sinclair/typebox'
import { ClosedObject, closed, SigningFields, takesCredentials } from '../../platform/http/schema.ts'

import { EXAMPLE_SIGNER, SignerFields, signedExample } from '../schema.ts'

const TOKEN = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

/** An ERC-2612 Permit. */
export const EXAMPLE_TYPED_DATA = {
  domain: { name: 'USD Coin', version: '2', chainId: 11_155_111, verifyingContract: TOKEN },
  types: {
    Permit: [
      { name: 'owner', type: 'address' },
      { name: 'spender', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'deadline', type: 'uint256' },
    ],
  },
  primaryType: 'Permit',
  message: {
    owner: EXAMPLE_SIGNER,
    spender: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    value: '2500000',
    nonce: 0,
    deadline: '1893456000',
  },
}

const Hex = (description: string) => Type.String({ description, examples: [TOKEN] })

export const Domain = ClosedObject(
  'TypedDataDomain',
  {
    name: Type.Optional(Type.String({ description: 'The name of the app or the token.', examples: ['USD Coin'] })),
    version: Type.Optional(Type.String({ description: 'Its version.', examples: ['2'] })),
    chainId: Type.Optional(
      Type.Union([Type.Integer(), Type.String()], {
        description: 'The chain id of the network. Without it the signature is valid on every chain.',
        rule: 'an integer, or a text in plain decimal digits or 0x hex',
        examples: [11_155_111],
      }),
    ),
    verifyingContract: Type.Optional(Hex('The contract that checks the signature.')),
    salt: Type.Optional(
      Type.String({ description: '32 bytes in 0x hex; rarely used.', examples: [`0x${'00'.repeat(32)}`] }),
    ),
  },
  { description: 'All members are optional.', examples: [EXAMPLE_TYPED_DATA.domain] },
)

const Member = Type.Object(
  {
    name: Type.String({ description: 'The name of the member.', examples: ['spender'] }),
    type: Type.String({ description: 'A type of EIP-712, or another struct; perhaps a list.', examples: ['address'] }),
  },
  { ...closed, title: 'TypedDataMember' },
)

export const TypedDataField = ClosedObject(
  'TypedData',
  {
    domain: Domain,
    types: Type.Record(Type.String(), Type.Array(Member), {
      ...closed,
      description: 'The structs by name. `EIP712Domain` may be left out: it follows from the domain.',
      examples: [EXAMPLE_TYPED_DATA.types],
    }),
    primaryType: Type.String({ description: 'The struct of the message.', examples: ['Permit'] }),
    message: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Integers as JSON numbers below 2^53, or as texts in plain decimal digits or 0x hex; bytes and addresses as 0x hex.',
      examples: [EXAMPLE_TYPED_DATA.message],
    }),
  },
  { description: 'As `eth_signTypedData_v4` takes it (EIP-712).', examples: [EXAMPLE_TYPED_DATA] },
)
export type TypedDataField = Static<typeof TypedDataField>

export const SignTypedDataBody = ClosedObject(
  'SignTypedData',
  {
    ...SignerFields,
    typed_data: TypedDataField,
    ...SigningFields,
  },
  {
    ...takesCredentials('one_or_both'),
    examples: [signedExample({ typed_data: EXAMPLE_TYPED_DATA })],
  },
)

export const SignedTypedData = ClosedObject('SignedTypedData', {
  signature: Type.String({
    description:
      'Hex. For a wallet of type `eoa` 65 bytes, r, s, v; for type `contract` by ERC-1271, wrapped as in ERC-6492 until it is deployed.',
    examples: [`0x${'5e'.repeat(64)}1b`],
  }),
})
