import { type Static, Type } from '@sinclair/typebox'
import { AddressField, ClosedObject, SigningFields, takesCredentials } from '../../platform/http/schema.ts'
import { Quantity, SignerFields } from '../schema.ts'

const SIGNER = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5'
const HASH = { pattern: '^0x[0-9a-fA-F]{64}$', rule: '0x and 64 hex digits' }
const GENESIS = '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f'
const BLOCK = '0x9fc76417374aa880d4449a1f7f31ec597f00b1f6f3dd2d66f4c9c6c445836d8b'
const HEX = { pattern: '^0x[0-9a-fA-F]*$', rule: '0x and an even number of hex digits' }

/** The longest asset is a Location: about a hundred bytes. */
const ASSET_DIGITS_MAX = 2_048

const EXAMPLE = {
  address: SIGNER,
  assetId: null,
  blockHash: BLOCK,
  blockNumber: '0x00a1b2c0',
  era: '0x0500',
  genesisHash: GENESIS,
  metadataHash: null,
  method: '0x0a0300d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d04',
  mode: 0,
  nonce: '0x00000000',
  signedExtensions: ['CheckNonZeroSender', 'CheckSpecVersion', 'CheckTxVersion', 'CheckGenesis', 'CheckMortality'],
  specVersion: '0x000f4240',
  tip: '0x00000000000000000000000000000000',
  transactionVersion: '0x0000000f',
  version: 4,
}

const SignerPayload = ClosedObject(
  'SignerPayload',
  {
    address: AddressField('The account that signs: that of `signer_wallet_address`, with any prefix.'),
    method: Type.String({ ...HEX, description: 'The call in SCALE.', examples: [EXAMPLE.method] }),
    era: Type.String({
      ...HEX,
      maxLength: 6,
      description: 'A mortal era of 2 bytes, or `0x00` for an immortal extrinsic.',
      rule: '0x00, or 0x and 4 hex digits',
      examples: [EXAMPLE.era],
    }),
    blockHash: Type.String({
      ...HASH,
      description: 'The block where the era begins; for an immortal extrinsic the genesis block.',
      examples: [BLOCK],
    }),
    blockNumber: Quantity('The number of that block.', EXAMPLE.blockNumber),
    genesisHash: Type.String({ ...HASH, description: 'The genesis block of the network.', examples: [GENESIS] }),
    nonce: Quantity('Transaction count of the signer.', EXAMPLE.nonce),
    tip: Quantity('The tip, in planck or in base units of the asset that pays the fee.', EXAMPLE.tip),
    assetId: Type.Optional(
      Type.Union([Type.String({ ...HEX, maxLength: ASSET_DIGITS_MAX }), Type.Null()], {
        description: 'The asset that pays the fee, as an Option in SCALE; null: the coin.',
        rule: 'null, or 0x and an even number of hex digits',
        examples: ['0x01c0070000'],
      }),
    ),
    specVersion: Quantity('The version of the runtime.', EXAMPLE.specVersion),
    transactionVersion: Quantity('The version of its transactions.', EXAMPLE.transactionVersion),
    signedExtensions: Type.Array(Type.String({ maxLength: 64, examples: ['CheckNonce'] }), {
      maxItems: 64,
      description: "The runtime's signed extensions, in their order.",
      rule: 'a list of at most 64 names',
    }),
    mode: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1,
        description: '1: the signature covers the hash of the metadata. By default 0.',
        rule: '0 or 1',
        examples: [0],
      }),
    ),
    metadataHash: Type.Optional(
      Type.Union([Type.String(HASH), Type.Null()], {
        description: 'The hash of the metadata (RFC 78), in mode 1.',
        rule: 'null, or 0x and 64 hex digits',
        examples: [`0x${'5e'.repeat(32)}`],
      }),
    ),
    version: Type.Integer({
      minimum: 4,
      maximum: 4,
      description: 'The version of the extrinsic.',
      rule: '4',
      examples: [4],
    }),
    withSignedTransaction: Type.Optional(
      Type.Boolean({ description: 'It is not signed, and changes nothing.', examples: [false] }),
    ),
  },
  { description: '`SignerPayloadJSON` of @polkadot/api.', examples: [EXAMPLE] },
)

export type SignerPayloadField = Static<typeof SignerPayload>

export const SignPayloadBody = ClosedObject(
  'SignPayload',
  {
    ...SignerFields,
    payload: SignerPayload,
    ...SigningFields,
  },
  {
    ...takesCredentials('one'),
    examples: [
      { network: 'Polkadot', signer_wallet_address: SIGNER, payload: EXAMPLE, developer_secret: 'testnet-secret' },
    ],
  },
)

export const SignedPayload = ClosedObject('SignedPayload', {
  signature: Type.String({
    description: 'Hex: the byte that names its type (`01`, sr25519), then the signature, 64 bytes.',
    examples: [`0x01${'5e'.repeat(64)}`],
  }),
})
