// The parts that registration and login share: the challenge, the user handle, and the options that a page passes to
// the browser, as WebAuthn JSON (Level 3, §5.1.8 and §5.1.9).

import { randomBytes } from 'node:crypto'
import { ALGORITHMS } from '../auth/webauthn.ts'
import type { IdentityCtx } from '../ctx.ts'
import { issueNonce } from './nonces.ts'
import type { CreationOptions, RequestOptions } from './passkey-schema.ts'

const BYTES = 32
export const CEREMONY_SECONDS = 300
const CEREMONY_MS = CEREMONY_SECONDS * 1_000

/** Stores a challenge that is valid once, for five minutes. @returns it in base64url. */
export const newPasskeyChallenge = async (
  ctx: IdentityCtx,
  input: {
    readonly projectId: string
    readonly kind: 'passkey_login' | 'passkey_registration'
    /** The user who must answer it; null for any user. */
    readonly userId: string | null
    readonly rpId: string
  },
): Promise<string> => {
  const { rpId: target, ...terms } = input
  const nonce = randomBytes(BYTES).toString('base64url')
  await issueNonce(ctx, { ...terms, target, nonce, lifetimeSeconds: CEREMONY_SECONDS })
  return nonce
}

/** WebAuthn's user handle (§4 "User Handle"): the 16 bytes of the user's id, in base64url. It is not personal. */
export const handleOf = (userId: string): string => Buffer.from(userId.replaceAll('-', ''), 'hex').toString('base64url')

const descriptorOf = (credentialId: Uint8Array) => ({
  type: 'public-key' as const,
  id: Buffer.from(credentialId).toString('base64url'),
})

export const creationOptions = (input: {
  readonly rp: { readonly id: string; readonly name: string }
  readonly user: { readonly id: string; readonly name: string }
  readonly challenge: string
  readonly exclude: readonly { readonly credentialId: Uint8Array; readonly transports: readonly string[] }[]
}): CreationOptions => ({
  publicKey: {
    rp: { ...input.rp },
    user: { ...input.user, displayName: input.user.name },
    challenge: input.challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: CEREMONY_MS,
    excludeCredentials: input.exclude.map(({ credentialId, transports }) => ({
      ...descriptorOf(credentialId),
      transports: [...transports],
    })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  },
})

export const requestOptions = (input: { readonly rpId: string; readonly challenge: string }): RequestOptions => ({
  publicKey: {
    challenge: input.challenge,
    timeout: CEREMONY_MS,
    rpId: input.rpId,
    allowCredentials: [],
    userVerification: 'required',
  },
})
