// PKCE (RFC 7636): a device keeps a secret, the verifier, and sends only its SHA-256 when it asks for a login. The code
// of that login is worth nothing without the verifier, so it may be shown, typed on another device, and stand in an
// address.

import { createHash, timingSafeEqual } from 'node:crypto'

/** The only method. With `plain` the request would show the verifier. */
export const CODE_CHALLENGE_METHOD = 'S256'

/** 32 bytes in base64url, in the one spelling whose spare bits are zero. */
export const CODE_CHALLENGE = '[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]'

/** RFC 7636 §4.1. */
export const CODE_VERIFIER = '[A-Za-z0-9._~-]{43,128}'

/** @param codeChallenge a text of the form above. @returns the SHA-256 of the verifier. */
export const verifierHashOf = (codeChallenge: string): Uint8Array => Buffer.from(codeChallenge, 'base64url')

export const isVerifierOf = (verifierHash: Uint8Array, verifier: string): boolean =>
  timingSafeEqual(createHash('sha256').update(verifier).digest(), verifierHash)
