import { Type } from '@sinclair/typebox'
import { AddressField, CredentialFields, closed, NetworkField, OneOf } from '../http/schema.ts'

const SIGNER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const MESSAGE_TYPES = ['string', 'bytes'] as const

export const SignMessageBody = Type.Object(
  {
    network: Type.Optional(NetworkField),
    signer_wallet_address: AddressField('A wallet of the project.'),
    message: Type.String({
      description: 'A text, or `0x` hex of whole bytes; it may be empty (`""`, or `0x` for bytes).',
      examples: ['Strongroom says hello.'],
    }),
    message_type: Type.Optional(
      OneOf(MESSAGE_TYPES, {
        description:
          '`string`, the default: the message is the text in UTF-8, even if it looks like hex; `bytes`: the bytes of the hex.',
      }),
    ),
    ...CredentialFields,
  },
  {
    ...closed,
    title: 'SignMessage',
    examples: [
      {
        network: 'Ethereum',
        signer_wallet_address: SIGNER,
        message: 'Strongroom says hello.',
        developer_secret: 'testnet-secret',
      },
      {
        network: 'Ethereum',
        signer_wallet_address: SIGNER,
        message: '0xdeadbeef',
        message_type: 'bytes',
        user_pin: '493817',
      },
    ],
  },
)

export const SignedMessage = Type.Object(
  {
    signature: Type.String({
      description:
        'Hex. For a wallet of type `eoa` by EIP-191, 65 bytes; for type `contract` by ERC-1271, wrapped as in ERC-6492 until it is deployed. On Polkadot and Vara sr25519, 64 bytes, over the message between `<Bytes>` and `</Bytes>`.',
      examples: [`0x${'5e'.repeat(64)}1b`],
    }),
  },
  { ...closed, title: 'SignedMessage' },
)
