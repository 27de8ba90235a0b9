import { Type } from '@sinclair/typebox'
import { closed, UuidField } from '../http/schema.ts'

export const SignInWalletBody = Type.Object(
  {
    sign_in_wallet: Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        'The address that will sign: of an EVM network, or SS58 with any prefix. A contract wallet is named with its chain, as `eip155:CHAIN_ID:ADDRESS` (CAIP-10).',
      rule: 'an address with a valid checksum; of an EVM network lower case too',
      examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    }),
  },
  {
    ...closed,
    title: 'SignInWallet',
    examples: [{ sign_in_wallet: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }],
  },
)

export const WalletChallenge = Type.Object(
  {
    user_id: UuidField('Whose session the signature begins.'),
    nonce: Type.String({
      description: 'For the message that is signed: of this wallet, once, and within five minutes.',
      examples: ['9f2c4b1e7a6d5038c1b2a3948576e0fd'],
    }),
  },
  { ...closed, title: 'WalletChallenge' },
)
