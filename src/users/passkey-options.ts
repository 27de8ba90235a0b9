// What a page hands to the browser, in the form of WebAuthn's JSON (Level 3, §5.1.8 and §5.1.9).

import { ALGORITHMS } from '../auth/webauthn.ts'
import { CEREMONY_MS } from './passkey-challenge.ts'
import type { CreationOptions, RequestOptions } from './passkey-schema.ts'

const described = (credentialId: Uint8Array) => ({
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
      ...described(credentialId),
      transports: [...transports],
    })),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  },
})

/** For any discoverable passkey of the RP ID. */
export const requestOptions = (input: { readonly rpId: string; readonly challenge: string }): RequestOptions => ({
  publicKey: {
    challenge: input.challenge,
    timeout: CEREMONY_MS,
    rpId: input.rpId,
    allowCredentials: [],
    userVerification: 'required',
  },
})
