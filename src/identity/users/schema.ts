import { type Static, Type } from '@sinclair/typebox'
import { LOGIN_WAYS } from '../../../db/words.ts'
import { ClosedObject, closed, OneOf, Text, UuidField } from '../../platform/http/schema.ts'
import { CODE_CHALLENGE, CODE_CHALLENGE_METHOD, CODE_VERIFIER } from './code-verifier.ts'
import { PasskeyAssertion } from './passkey-schema.ts'

const IP_ADDRESS = '203.0.113.7'
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
const CHALLENGE_CODE = '7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS'
const Instant = (description: string) => Type.String({ description, examples: ['2026-01-31T12:00:00.000Z'] })

const ChallengeCode = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The code of a session challenge; letter case, hyphens and spaces do not matter.',
  rule: 'the code of a session challenge',
  examples: [CHALLENGE_CODE],
})

const EmailField = Text(
  { minLength: 3, maxLength: 254 },
  { description: 'An e-mail address; letter case does not matter.', examples: ['alice@example.com'] },
)

const MailedCode = Type.String({
  pattern: '^[0-9]{6}$',
  description: 'The code that was mailed.',
  rule: 'exactly 6 digits',
  examples: ['493817'],
})

export const EmailBody = ClosedObject('Email', { email: EmailField })

export const VerifyEmailBody = ClosedObject('VerifyEmail', {
  verification_code: MailedCode,
})

export const LoginWithPasskeyBody = ClosedObject(
  'LoginWithPasskey',
  {
    email: Type.Optional(EmailField),
    sign_in_wallet: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'The wallet that the user logs in with.',
        rule: 'an address',
      }),
    ),
  },
  { examples: [{ email: 'alice@example.com' }] },
)

export const ChallengeCodeQuery = Type.Object({ code: ChallengeCode }, closed)

export const ChallengeCodeBody = ClosedObject('ChallengeCode', { code: ChallengeCode })

/** The example of RFC 7636, appendix B. */
export const CodeChallengeBody = ClosedObject('CodeChallenge', {
  code_challenge: Type.Optional(
    Type.String({
      pattern: `^${CODE_CHALLENGE}$`,
      description:
        'The SHA-256 of a secret that the device makes and keeps, in base64url (RFC 7636). Then the code is worth nothing without the secret.',
      rule: '32 bytes in base64url without padding',
      examples: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
    }),
  ),
  code_challenge_method: Type.Optional(
    OneOf([CODE_CHALLENGE_METHOD], { description: 'How it was made; given together with `code_challenge`.' }),
  ),
})

export type CodeChallengeBody = Static<typeof CodeChallengeBody>

export const ChallengeAsker = ClosedObject('ChallengeAsker', {
  address: Type.String({
    description: 'The IP address of the device that asks; "" if it is unknown.',
    examples: [IP_ADDRESS],
  }),
  device: Type.String({
    description: 'The User-Agent header of the device, at most 256 characters.',
    examples: [USER_AGENT],
  }),
  created_at: Instant('When it asked.'),
  expires_at: Instant('When the challenge expires.'),
})

export const OwnSession = ClosedObject('OwnSession', {
  id: UuidField("The session's id."),
  current: Type.Boolean({ description: 'Whether it is the calling session.' }),
  way: OneOf(LOGIN_WAYS, { description: 'How the user logged in.' }),
  created_at: Instant('When it began.'),
  last_refreshed_at: Instant('When its tokens were last issued.'),
  expires_at: Instant('When it ends unless it is refreshed.'),
  address: Type.String({
    description: 'The IP address from which it began; "" if it is unknown.',
    examples: [IP_ADDRESS],
  }),
  device: Type.String({
    description: 'The User-Agent header of the device, at most 256 characters.',
    examples: [USER_AGENT],
  }),
})
export type OwnSession = Static<typeof OwnSession>

export const OwnSessions = Type.Array(OwnSession)

export const EndSessionsBody = ClosedObject('EndSessions', {
  session_id: Type.Optional(UuidField('The session to end. Without it, all except the calling one end.')),
})

export const EndedSessions = ClosedObject('EndedSessions', {
  ended: Type.Integer({ minimum: 0, description: 'How many sessions this call ended.', examples: [1] }),
})

export const SignInWalletBody = ClosedObject('SignInWallet', {
  sign_in_wallet: Type.String({
    minLength: 1,
    maxLength: 128,
    description:
      'The address that will sign: an EVM address, or SS58 with any prefix. For a contract wallet on one chain: `eip155:CHAIN_ID:ADDRESS` (CAIP-10).',
    rule: 'an address with a valid checksum; an EVM address may also be in lower case',
    examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  }),
})

export const WalletChallenge = ClosedObject('WalletChallenge', {
  user_id: UuidField('The user whose session the signature will begin.'),
  nonce: Type.String({
    description: 'The nonce of the message to sign. Valid for this wallet, once, for five minutes.',
    examples: ['9f2c4b1e7a6d5038c1b2a3948576e0fd'],
  }),
})

export const Session = ClosedObject('Session', {
  id: UuidField("The session's id."),
  created_at: Instant('When it began.'),
  project_id: UuidField('The project.'),
  user_id: UuidField('The user.'),
  access_token: Type.String({
    description: 'The bearer token: a JWT, signed with a key of /.well-known/jwks.json.',
    examples: ['eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiI1ZjBjMmQxZSJ9.c2lnbmF0dXJl'],
  }),
  access_token_expires_at: Instant('When the access token expires.'),
  refresh_token: Type.String({
    description: 'Valid for one exchange at refresh-token.',
    examples: ['AAAAAXVQ4Rk2bW9v0eXJ5c2VjcmV0d29yZGJ5ZXhhbXBsZSE'],
  }),
  refresh_token_expires_at: Instant('When the refresh token expires. Unless it is refreshed, the session ends then.'),
})
export type Session = Static<typeof Session>

export const SessionChallenge = ClosedObject('SessionChallenge', {
  id: UuidField("The challenge's id."),
  code: Type.String({
    description:
      'Identifies the challenge. Once it is completed, the code is the proof for verify-login, together with the `code_verifier` if there is one.',
    examples: [CHALLENGE_CODE],
  }),
  expired: Type.Boolean({ description: 'Whether its five minutes are over, completed or not.' }),
  completed: Type.Boolean({
    description: 'Whether it was completed. Never true together with `expired`.',
  }),
})
export type SessionChallenge = Static<typeof SessionChallenge>

export const UserId = ClosedObject('UserId', { user_id: UuidField('The `user_id` to pass to verify-login.') })

export const VerifyLoginBody = ClosedObject(
  'VerifyLogin',
  {
    user_id: Type.Optional(UuidField('The user. Required with a verification code.')),
    verification_code: Type.Optional(MailedCode),
    siwe_message: Type.Optional(
      Text(
        { minLength: 1, maxLength: 4096 },
        { description: 'An EIP-4361 message, or the same message for a Substrate account.', examples: [] },
      ),
    ),
    signature: Type.Optional(
      Type.String({
        pattern: '^0x(?:[0-9a-fA-F]{2}){1,8192}$',
        description: "The wallet's signature over the message.",
        rule: '0x and an even number of hex digits',
      }),
    ),
    session_challenge_code: Type.Optional(ChallengeCode),
    code_verifier: Type.Optional(
      Type.String({
        pattern: `^${CODE_VERIFIER}$`,
        description: 'The secret whose SHA-256 was given when the session challenge was made.',
        rule: '43 to 128 letters, digits and characters of "-._~"',
        examples: ['dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'],
      }),
    ),
    passkey_credential_assertion_response: Type.Optional(PasskeyAssertion),
  },
  { examples: [{ user_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f', verification_code: '493817' }] },
)
export type VerifyLoginBody = Static<typeof VerifyLoginBody>

export const RefreshTokenBody = ClosedObject(
  'RefreshToken',
  {
    session_id: UuidField('The session.'),
    refresh_token: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The newest refresh token of the session.',
      rule: 'a refresh token',
    }),
  },
  {
    examples: [
      {
        session_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
        refresh_token: 'AAAAAXVQ4Rk2bW9v0eXJ5c2VjcmV0d29yZGJ5ZXhhbXBsZSE',
      },
    ],
  },
)
