import { type Static, Type } from '@sinclair/typebox'
import { closed, Text, UuidField } from '../http/schema.ts'
import { PasskeyAssertion } from './passkey-schema.ts'

const Instant = (description: string) => Type.String({ description, examples: ['2026-01-31T12:00:00.000Z'] })

export const Session = Type.Object(
  {
    id: UuidField("The session's id."),
    created_at: Instant('When it began.'),
    project_id: UuidField('The project.'),
    user_id: UuidField('The user.'),
    access_token: Type.String({ description: 'The bearer token: a JWT, signed with a key of /.well-known/jwks.json.' }),
    access_token_expires_at: Instant('When the access token expires.'),
    refresh_token: Type.String({ description: 'Good for one exchange at refresh-token.' }),
    refresh_token_expires_at: Instant(
      'When the refresh token expires, and the session with it if it is not refreshed.',
    ),
  },
  { ...closed, title: 'Session' },
)
export type Session = Static<typeof Session>

export const SessionChallenge = Type.Object(
  {
    id: UuidField("The challenge's id."),
    code: Type.String({ description: 'Names the challenge; when it is completed, the proof for verify-login.' }),
    expired: Type.Boolean({ description: 'Its five minutes are over, whatever became of it.' }),
    completed: Type.Boolean({
      description: 'It was completed, used or not, and its time is not over: never true together with `expired`.',
    }),
  },
  { ...closed, title: 'SessionChallenge' },
)
export type SessionChallenge = Static<typeof SessionChallenge>

export const Success = Type.Object({ success: Type.Literal(true) }, { ...closed, title: 'Success' })

export const UserId = Type.Object(
  { user_id: UuidField('Whom verify-login is to name.') },
  { ...closed, title: 'UserId' },
)

export const ChallengeCode = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The code of a session challenge; letter case, hyphens and spaces do not matter.',
  rule: 'the code of a session challenge',
  examples: ['7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS'],
})

export const VerifyLoginBody = Type.Object(
  {
    user_id: Type.Optional(UuidField('The user; needed with a verification code.')),
    verification_code: Type.Optional(
      Type.String({ pattern: '^[0-9]{6}$', description: 'The code that was mailed.', rule: 'exactly 6 digits' }),
    ),
    siwe_message: Type.Optional(
      Text(
        { minLength: 1, maxLength: 4096 },
        { description: 'An EIP-4361 message, or its likeness for Substrate.', examples: [] },
      ),
    ),
    signature: Type.Optional(
      Type.String({
        pattern: '^0x(?:[0-9a-fA-F]{2}){1,8192}$',
        description: 'Of the message, by the wallet.',
        rule: '0x and an even number of hex digits',
      }),
    ),
    session_challenge_code: Type.Optional(ChallengeCode),
    passkey_credential_assertion_response: Type.Optional(PasskeyAssertion),
  },
  {
    ...closed,
    title: 'VerifyLogin',
    examples: [{ user_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f', verification_code: '493817' }],
  },
)
export type VerifyLoginBody = Static<typeof VerifyLoginBody>

export const RefreshTokenBody = Type.Object(
  {
    session_id: UuidField('The session.'),
    refresh_token: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The refresh token that is due.',
      rule: 'a refresh token',
    }),
  },
  {
    ...closed,
    title: 'RefreshToken',
    examples: [
      {
        session_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
        refresh_token: 'AAAAAXVQ4Rk2bW9v0eXJ5c2VjcmV0d29yZGJ5ZXhhbXBsZSE',
      },
    ],
  },
)
