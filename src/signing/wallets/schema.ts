import { type Static, Type } from '@sinclair/typebox'
import { USER_SECRET_KINDS, WALLET_TYPES } from '../../../db/words.ts'
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
  UserCredentialFields,
  UserPinField,
  UserSecretField,
  UuidField,
} from '../../platform/http/schema.ts'
import { OrNull, TimeField } from '../schema.ts'

export const Wallet = ClosedObject('Wallet', {
  id: UuidField("The wallet's id."),
  created_at: TimeField('ISO 8601, UTC.'),
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

export const CreateWalletBody = ClosedObject('CreateWallet', NewWalletFields, {
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

const ownerFields = {
  network: NetworkField,
  address: AddressField("The address of one of the owner's user-controlled wallets."),
}

export const ChangeUserPinBody = ClosedObject(
  'ChangeUserPin',
  {
    ...ownerFields,
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

const nullable = (description: string) => OrNull(Type.String(), description)

export const ExportedWallet = ClosedObject(
  'ExportedWallet',
  {
    mnemonic_phrase: nullable('The phrase of the key; null for an imported private key.'),
    private_key: nullable('The imported private key, 0x and 64 hex digits; null if there is a phrase.'),
  },
  { examples: [{ mnemonic_phrase: KNOWN_PHRASE, private_key: null }] },
)

export const GetByIdQuery = Type.Object({ network: NetworkField, id: UuidField("The wallet's id.") }, closed)

export const GetByAddressQuery = Type.Object(
  { network: NetworkField, address: AddressField("The wallet's address.") },
  closed,
)

const OwnerId = ShortText("The wallet's owner.", 'user-1')

/** `owner_id` is an alias of `ownerID`. */
export const GetByOwnerIdQuery = Type.Object(
  { network: NetworkField, ownerID: Type.Optional(OwnerId), owner_id: Type.Optional(OwnerId) },
  closed,
)

export const GetByNetworkQuery = Type.Object({ network: NetworkField }, closed)

export const ListWalletsQuery = Type.Object({ network: NetworkField, ...PagingFields }, closed)

/** The most characters of a WebAuthn credential id, which has at most 1,023 bytes. */
const PASSKEY_ID_MAX = 1_364

const PasskeyIdField = Type.String({
  pattern: `^[A-Za-z0-9_-]{1,${PASSKEY_ID_MAX}}$`,
  description: "The passkey's credential id in base64url, as the browser's `id` has it.",
  rule: `base64url of at most ${PASSKEY_ID_MAX} characters`,
  examples: ['KEDetxZcUfinhVi6Za5nZQ'],
})

const example = { network: 'Ethereum', address: ADDRESS, user_pin: '493817' }

export const RecoveryCodeBody = ClosedObject(
  'MakeRecoveryCode',
  { ...ownerFields, ...UserCredentialFields },
  { ...takesCredentials('of_user'), examples: [example] },
)

export const RecoveryCode = ClosedObject('RecoveryCode', {
  recovery_code: Type.String({
    description: 'Show it to the user once, to be kept on paper or in a password manager. It is in no other answer.',
    examples: [UserSecretField.examples[0] ?? ''],
  }),
})

export const PasskeySecretBody = ClosedObject(
  'AddPasskeySecret',
  {
    ...ownerFields,
    passkey_id: PasskeyIdField,
    passkey_secret: Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description:
        'The 32 bytes that the passkey computes with the WebAuthn extension `prf`, in base64url. Never anything that a person chose.',
      rule: '32 bytes in base64url, which are 43 characters',
      examples: ['w1JZcnJ4u9fPUdhGzBSbFRGQxM5s1sH1FSxvZJmE0bI'],
    }),
    ...UserCredentialFields,
  },
  {
    ...takesCredentials('of_user'),
    examples: [
      {
        ...example,
        passkey_id: 'KEDetxZcUfinhVi6Za5nZQ',
        passkey_secret: 'w1JZcnJ4u9fPUdhGzBSbFRGQxM5s1sH1FSxvZJmE0bI',
      },
    ],
  },
)

export const RemovePasskeySecretBody = ClosedObject(
  'RemovePasskeySecret',
  { ...ownerFields, passkey_id: PasskeyIdField, ...UserCredentialFields },
  { ...takesCredentials('of_user'), examples: [{ ...example, passkey_id: 'KEDetxZcUfinhVi6Za5nZQ' }] },
)

export const UserSecretsQuery = Type.Object(ownerFields, closed)

export const UserSecretItem = ClosedObject('UserSecret', {
  kind: OneOf(USER_SECRET_KINDS, { description: 'What it is.', examples: ['passkey'] }),
  passkey_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Of a passkey; null of a recovery code.',
    examples: ['KEDetxZcUfinhVi6Za5nZQ'],
  }),
  created_at: TimeField('When it was made, or replaced the one before. ISO 8601, UTC.'),
})
export type UserSecretItem = Static<typeof UserSecretItem>
