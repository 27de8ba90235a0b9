import { type Static, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { WALLET_TYPES } from '../../../db/words.ts'
import {
  AddressField,
  ClosedObject,
  ControlModeField,
  CredentialFields,
  closed,
  DeveloperSecretField,
  NetworkField,
  NewName,
  OneOf,
  PagingFields,
  ShortText,
  takesCredentials,
  UserPinField,
  UserSecretField,
  UuidField,
} from '../../platform/http/schema.ts'

export const Wallet = ClosedObject('Wallet', {
  id: UuidField("The wallet's id."),
  created_at: Type.String({
    format: 'date-time',
    description: 'ISO 8601, UTC.',
    examples: ['2026-01-31T12:00:00.000Z'],
  }),
  network: NetworkField,
  name: ShortText('The name given at creation.', 'Main wallet'),
  owner_id: ShortText('Your id of the user that owns the wallet.', 'user-1'),
  address: AddressField("The wallet's address on the network."),
})
export type Wallet = Static<typeof Wallet>

const NewWalletFields = {
  network: NetworkField,
  name: NewName("The wallet's name.", 'Main wallet'),
  owner_id: Type.Optional(
    NewName('Your id of the owner. An owner has one seed phrase for all networks. By default a new UUID.', 'user-1'),
  ),
  control_mode: ControlModeField,
  type: Type.Optional(
    OneOf(WALLET_TYPES, {
      description:
        '`eoa`, the default: the address of the key itself. `contract`, on EVM networks: a Safe that the key controls. Its first transaction deploys it, and the address of the key pays the gas.',
    }),
  ),
  ...CredentialFields,
}

export const CreateWalletBody = Type.Object(NewWalletFields, {
  ...closed,
  title: 'CreateWallet',
  ...takesCredentials('one_or_both'),
  examples: [
    {
      network: 'Ethereum',
      name: 'Main wallet',
      owner_id: 'user-1',
      control_mode: 'developer',
      developer_secret: 'testnet-secret',
    },
  ],
})
export type CreateWalletBody = Static<typeof CreateWalletBody>

/** The development phrase of the Substrate tools, which is public and protects nothing. */
const KNOWN_PHRASE = 'bottom drive obey lake curtain smoke basket hold race lonely fit walk'

/** The vault validates the key or phrase, and answers `invalid_key`. */
export const ImportWalletBody = ClosedObject(
  'ImportWallet',
  {
    ...NewWalletFields,
    private_key: Type.Optional(
      Type.String({
        description:
          '32 bytes in hex, with or without 0x: a private key on EVM networks, an sr25519 mini-secret on Substrate networks.',
        examples: ['0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'],
      }),
    ),
    mnemonic_phrase: Type.Optional(
      Type.String({
        description:
          '12, 15, 18, 21 or 24 English words (BIP-39). If the owner has no seed phrase yet, it becomes theirs for all networks.',
        examples: [KNOWN_PHRASE],
      }),
    ),
  },
  {
    ...takesCredentials('one_or_both'),
    description: 'The fields of a new wallet, and exactly one of `private_key` and `mnemonic_phrase`.',
    examples: [
      {
        network: 'Polkadot',
        name: 'Imported wallet',
        owner_id: 'user-2',
        control_mode: 'user',
        user_pin: '493817',
        mnemonic_phrase: KNOWN_PHRASE,
      },
    ],
  },
)

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

export const ChangeUserPinBody = ClosedObject(
  'ChangeUserPin',
  {
    network: NetworkField,
    address: AddressField("The address of one of the owner's user-controlled wallets."),
    old_user_pin: Type.Optional(UserPinField),
    user_secret: Type.Optional(UserSecretField),
    new_user_pin: UserPinField,
  },
  {
    ...takesCredentials('old_of_user'),
    examples: [{ network: 'Ethereum', address: ADDRESS, old_user_pin: '493817', new_user_pin: '604913' }],
  },
)

export const ExportWalletBody = ClosedObject(
  'ExportWallet',
  { network: NetworkField, address: AddressField('A wallet of the project.'), ...CredentialFields },
  {
    ...takesCredentials('one_or_both'),
    examples: [{ network: 'Ethereum', address: ADDRESS, user_pin: '493817' }],
  },
)

export const PutUnderPoliciesBody = ClosedObject(
  'PutUnderPolicies',
  {
    network: NetworkField,
    address: AddressField('A developer-controlled wallet of the project.'),
    developer_secret: DeveloperSecretField,
  },
  { examples: [{ network: 'Ethereum', address: ADDRESS, developer_secret: 'testnet-secret' }] },
)

const nullable = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

export const ExportedWallet = ClosedObject(
  'ExportedWallet',
  {
    mnemonic_phrase: nullable('The phrase of the key; null for an imported private key.'),
    private_key: nullable('The imported private key, 0x and 64 hex digits; null if there is a phrase.'),
  },
  { examples: [{ mnemonic_phrase: KNOWN_PHRASE, private_key: null }] },
)

export const GetByIdQuery = t.Object({ network: NetworkField, id: UuidField("The wallet's id.") }, closed)

export const GetByAddressQuery = t.Object(
  { network: NetworkField, address: AddressField("The wallet's address.") },
  closed,
)

const OwnerId = ShortText("The wallet's owner.", 'user-1')

/** `owner_id` is an alias of `ownerID`. */
export const GetByOwnerIdQuery = t.Object(
  { network: NetworkField, ownerID: t.Optional(OwnerId), owner_id: t.Optional(OwnerId) },
  closed,
)

export const GetByNetworkQuery = t.Object({ network: NetworkField }, closed)

export const ListWalletsQuery = t.Object({ network: NetworkField, ...PagingFields }, closed)
