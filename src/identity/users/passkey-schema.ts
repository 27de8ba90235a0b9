import { type Static, Type } from '@sinclair/typebox'
import { ClosedObject, closed, UuidField } from '../../platform/http/schema.ts'

/** WebAuthn JSON. Newer browsers may send more fields, which we ignore. */
const open = { additionalProperties: true } as const

const Bytes = (length: { readonly minLength: number; readonly maxLength: number }, description: string) =>
  Type.String({
    ...length,
    pattern: '^[A-Za-z0-9_-]*$',
    description,
    rule: `base64url without padding, ${length.minLength} to ${length.maxLength} characters`,
  })

/** At most 1,023 bytes (§4, "Credential ID"). */
const CredentialId = Bytes({ minLength: 1, maxLength: 1_364 }, "The credential's id.")
const CREDENTIAL = 'cGFzc2tleSBvZiBBbGljZQ'
const ClientData = Bytes({ minLength: 1, maxLength: 4_096 }, 'The client data that the passkey signed.')
const PublicKeyType = Type.Literal('public-key', { description: 'The only type.', rule: '"public-key"' })

export const PasskeyRegistration = Type.Object(
  {
    id: CredentialId,
    rawId: Type.Optional(CredentialId),
    type: PublicKeyType,
    response: Type.Object(
      {
        clientDataJSON: ClientData,
        attestationObject: Bytes({ minLength: 1, maxLength: 12_288 }, 'The new credential.'),
        transports: Type.Optional(
          // Words that no standard defines yet are stored too (§5.2.1).
          Type.Array(
            Type.String({
              pattern: '^[ -~]{0,64}$',
              rule: 'at most 64 ASCII characters',
              description: 'For example usb.',
            }),
            {
              maxItems: 16,
              description: 'How the authenticator is reached.',
              rule: 'at most 16 words of WebAuthn',
            },
          ),
        ),
      },
      open,
    ),
  },
  {
    ...open,
    title: 'RegistrationResponseJSON',
    examples: [
      {
        id: CREDENTIAL,
        rawId: CREDENTIAL,
        type: 'public-key',
        response: {
          clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0',
          attestationObject: 'oA',
          transports: ['internal'],
        },
      },
    ],
  },
)

export const PasskeyAssertion = Type.Object(
  {
    id: CredentialId,
    rawId: Type.Optional(CredentialId),
    type: PublicKeyType,
    response: Type.Object(
      {
        clientDataJSON: ClientData,
        authenticatorData: Bytes({ minLength: 1, maxLength: 4_096 }, 'The authenticator data that the passkey signed.'),
        signature: Bytes({ minLength: 1, maxLength: 2_048 }, "The signature by the credential's key."),
        userHandle: Type.Optional(Bytes({ minLength: 0, maxLength: 86 }, "The credential's user.")),
      },
      open,
    ),
  },
  { ...open, title: 'AuthenticationResponseJSON' },
)

const Challenge = Type.String({
  description: 'Valid once, for five minutes.',
  examples: ['q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA'],
})
const Timeout = Type.Integer({ description: 'Milliseconds.', examples: [300_000] })
const Transports = (description: string) => Type.Array(Type.String(), { description, examples: [['internal']] })
const Descriptor = {
  type: Type.Literal('public-key'),
  id: Type.String({ description: "The credential's id in base64url.", examples: [CREDENTIAL] }),
}

export const CreationOptions = ClosedObject('PasskeyCreationOptions', {
  publicKey: Type.Object(
    {
      rp: Type.Object(
        { id: Type.String(), name: Type.String() },
        { ...closed, examples: [{ id: 'example.com', name: 'Doors' }] },
      ),
      user: Type.Object(
        { id: Type.String(), name: Type.String(), displayName: Type.String() },
        { ...closed, examples: [{ id: 'XwwtHmo7TI2efwobLD1OXw', name: 'alice@example.com', displayName: 'alice' }] },
      ),
      challenge: Challenge,
      pubKeyCredParams: Type.Array(
        Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer({ examples: [-7] }) }, closed),
      ),
      timeout: Timeout,
      excludeCredentials: Type.Array(
        Type.Object({ ...Descriptor, transports: Transports('How it is reached.') }, closed),
      ),
      authenticatorSelection: Type.Object(
        {
          residentKey: Type.Literal('required'),
          requireResidentKey: Type.Literal(true),
          userVerification: Type.Literal('required'),
        },
        closed,
      ),
      attestation: Type.Literal('none'),
    },
    { ...closed, description: 'PublicKeyCredentialCreationOptionsJSON (WebAuthn).' },
  ),
})
export type CreationOptions = Static<typeof CreationOptions>

export const RequestOptions = ClosedObject('PasskeyRequestOptions', {
  publicKey: Type.Object(
    {
      challenge: Challenge,
      timeout: Timeout,
      rpId: Type.String({ description: 'The domain of the passkeys.', examples: ['example.com'] }),
      allowCredentials: Type.Array(Type.Never(), {
        maxItems: 0,
        description: 'None: passkeys are discoverable.',
        examples: [[]],
      }),
      userVerification: Type.Literal('required'),
    },
    { ...closed, description: 'PublicKeyCredentialRequestOptionsJSON (WebAuthn).' },
  ),
})
export type RequestOptions = Static<typeof RequestOptions>

export const Passkey = ClosedObject('Passkey', {
  id: UuidField("The passkey's id."),
  created_at: Type.String({ description: 'When the passkey was added.', examples: ['2026-01-31T12:00:00.000Z'] }),
  last_used_at: Type.Union([Type.String(), Type.Null()], {
    description: 'When it last began a session.',
    examples: ['2026-01-31T12:00:00.000Z'],
  }),
  rp_id: Type.String({ description: 'The domain whose pages can use the passkey.', examples: ['example.com'] }),
  backed_up: Type.Boolean({ description: 'Whether the passkey is backed up, for example synced to other devices.' }),
  transports: Transports('How the authenticator is reached.'),
})
export type Passkey = Static<typeof Passkey>

export const Passkeys = Type.Array(Passkey)

export const PasskeyAdded = ClosedObject('PasskeyAdded', {
  success: Type.Literal(true),
  id: UuidField('The id of the new passkey, as the list has it.'),
})
export type PasskeyAdded = Static<typeof PasskeyAdded>

export const PasskeyId = ClosedObject('PasskeyId', { id: UuidField('The id from the list of passkeys.') })
