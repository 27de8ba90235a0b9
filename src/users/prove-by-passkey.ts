import { findNonce, useNonce } from '../../db/queries/nonces.ts'
import { findPasskey, notePasskeyUse } from '../../db/queries/passkeys.ts'
import { findProject } from '../../db/queries/projects.ts'
import { isPasskeyPage } from '../auth/relying-party.ts'
import { type AssertionJson, type Credential, challengeOf, verifyAssertion } from '../auth/webauthn.ts'
import { handleOf } from './passkey-handle.ts'
import type { Prove } from './verify-login.ts'

/** A key of nobody, of the usual kind (COSE_Key, ES256; P-256's base point): an unknown credential takes as long as a known one. */
const NOBODYS: Credential = {
  credentialId: new Uint8Array(16),
  publicKey: Buffer.from(
    'a5010203262001' +
      '2158206b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296' +
      '2258204fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
    'hex',
  ),
  signCount: 0,
  backupEligible: false,
}

/** An assertion (WebAuthn §7.2) over a challenge of ours. With `login-with-passkey` the challenge names the user. */
export const proveByPasskey: Prove<{ readonly assertion: AssertionJson }> = async (
  ctx,
  { projectId },
  { assertion },
) => {
  const nonce = challengeOf(assertion)
  if (nonce === null) return null
  const key = { projectId, kind: 'passkey_login', nonce } as const
  const credentialId = Buffer.from(assertion.id, 'base64url')
  const [terms, project, passkey] = await Promise.all([
    findNonce(ctx.db, key),
    findProject(ctx.db, projectId),
    findPasskey(ctx.db, { projectId, credentialId }),
  ])
  if (terms === null || project === null) return null
  const rpId = terms.target
  const expected = { rpId, challenge: nonce, isOrigin: isPasskeyPage(ctx, project, rpId) }
  const result = await verifyAssertion(assertion, expected, passkey ?? NOBODYS)
  if ('refused' in result || passkey === null || passkey.rpId !== rpId) return null
  const { id, userId } = passkey
  if ((terms.userId ?? userId) !== userId) return null
  // Older authenticators say no handle, or an empty one.
  if ((assertion.response.userHandle || handleOf(userId)) !== handleOf(userId)) return null
  return {
    way: 'passkey',
    settle: async (tx) => {
      if ((await useNonce(tx, key)) === null) return null
      return (await notePasskeyUse(tx, { id, ...result.verified })) ? { userId } : null
    },
  }
}
