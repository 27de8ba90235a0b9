import { type Static, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { USER_SECRET_KINDS } from '../../../db/words.ts'
import {
  AddressField,
  ClosedObject,
  closed,
  NetworkField,
  OneOf,
  takesCredentials,
  UserCredentialFields,
  UserSecretField,
} from '../../platform/http/schema.ts'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const ofOwner = {
  network: NetworkField,
  address: AddressField("The address of one of the owner's user-controlled wallets."),
}

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
  { ...ofOwner, ...UserCredentialFields },
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
    ...ofOwner,
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
  { ...ofOwner, passkey_id: PasskeyIdField, ...UserCredentialFields },
  { ...takesCredentials('of_user'), examples: [{ ...example, passkey_id: 'KEDetxZcUfinhVi6Za5nZQ' }] },
)

export const UserSecretsQuery = t.Object(ofOwner, closed)

export const UserSecretItem = ClosedObject('UserSecret', {
  kind: OneOf(USER_SECRET_KINDS, { description: 'What it is.', examples: ['passkey'] }),
  passkey_id: Type.Union([Type.String(), Type.Null()], {
    description: 'Of a passkey; null of a recovery code.',
    examples: ['KEDetxZcUfinhVi6Za5nZQ'],
  }),
  created_at: Type.String({
    format: 'date-time',
    description: 'When it was made, or replaced the one before. ISO 8601, UTC.',
    examples: ['2026-01-31T12:00:00.000Z'],
  }),
})
export type UserSecretItem = Static<typeof UserSecretItem>
