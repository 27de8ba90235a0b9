// PKCE (RFC 7636), for logins that this page begins itself and for those of apps.

import { base64urlOf } from '../../../identity/auth/client/passkey-json.ts'

/** The body of create-session-challenge. */
export const bindingOf = (codeChallenge: string): object => ({
  code_challenge: codeChallenge,
  code_challenge_method: 'S256',
})

/** A new secret of this page, and its hash. */
export const newVerifier = async (): Promise<{ readonly verifier: string; readonly codeChallenge: string }> => {
  const verifier = base64urlOf(crypto.getRandomValues(new Uint8Array(32)))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return { verifier, codeChallenge: base64urlOf(new Uint8Array(hash)) }
}
