import { findPasskey, recordPasskeyUse } from '../../../db/queries/passkeys.ts'
import type { Chains } from '../../chains/chains.ts'
import { invalidInput } from '../../platform/errors.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isPasskeyPage, rpIdFor } from '../auth/relying-party.ts'
import { isOurs, passkeyMac } from '../auth/row-macs.ts'
import { beginLimit, targetLimit, throttle } from '../auth/throttle.ts'
import { type AssertionJson, type Credential, challengeOf, verifyAssertion } from '../auth/webauthn.ts'
import type { IdentityCtx } from '../ctx.ts'
import { readEmailAddress } from '../mail/address.ts'
import { readNonce, takeNonce } from './nonces.ts'
import { handleOf, newPasskeyChallenge, requestOptions } from './passkey-ceremony.ts'
import type { RequestOptions } from './passkey-schema.ts'
import { userIdOf } from './user.ts'
import type { Prove } from './verify-login.ts'
import { readSignInWallet } from './wallet-login.ts'

const WAY = 'passkey'

/** The options with a new challenge, for one user; with null, for any user. */
const optionsFor = async (ctx: IdentityCtx, visitor: Visitor, userId: string | null): Promise<RequestOptions> => {
  const { projectId, project, origin } = visitor
  const rpId = rpIdFor(project, origin)
  const challenge = await newPasskeyChallenge(ctx, { projectId, kind: 'passkey_login', userId, rpId })
  return requestOptions({ rpId, challenge })
}

export const beginDiscoverableLogin = async (ctx: IdentityCtx, visitor: Visitor): Promise<RequestOptions> => {
  await throttle(ctx, [beginLimit(ctx, visitor, WAY)])
  return optionsFor(ctx, visitor, null)
}

type Named = { readonly email: string | undefined; readonly signInWallet: string | undefined }

const readTarget = (chains: Chains, named: Named): { readonly email: string } | { readonly signInWallet: string } => {
  const { email, signInWallet } = named
  if (email !== undefined && signInWallet === undefined) return { email: readEmailAddress(email) }
  if (signInWallet !== undefined && email === undefined) return { signInWallet: readSignInWallet(chains, signInWallet) }
  throw invalidInput('Exactly one of "email" and "sign_in_wallet" must be given.')
}

/**
 * The options list no passkey, because that would reveal who has one: the authenticator finds it itself. For an unknown
 * user, the challenge is bound to the id that such a user would get, so that the answer is the same.
 */
export const loginWithPasskey = async (ctx: IdentityCtx, visitor: Visitor, named: Named): Promise<RequestOptions> => {
  const by = readTarget(ctx.chains, named)
  const target = 'email' in by ? by.email : by.signInWallet
  await throttle(ctx, [beginLimit(ctx, visitor, WAY), targetLimit(ctx, visitor, WAY, target)])
  return optionsFor(ctx, visitor, await userIdOf(ctx, { projectId: visitor.projectId, by }))
}

/** Its check takes as long as that of a known credential. The key is the base point of P-256 (COSE_Key, ES256). */
const DUMMY_CREDENTIAL: Credential = {
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

/** Checks an assertion (WebAuthn §7.2). A challenge of `login-with-passkey` names its user. */
export const proveByPasskey: Prove<{ readonly assertion: AssertionJson }> = async (
  ctx,
  { projectId, project },
  { assertion },
) => {
  const nonce = challengeOf(assertion)
  if (nonce === null) return null
  const key = { projectId, kind: 'passkey_login', nonce } as const
  const credentialId = Buffer.from(assertion.id, 'base64url')
  const [terms, found] = await Promise.all([readNonce(ctx, key), findPasskey(ctx.db, { projectId, credentialId })])
  if (terms === null) return null
  const passkey = found !== null && isOurs(ctx, passkeyMac(ctx.identity), found) ? found : null
  const rpId = terms.target
  const expected = { rpId, challenge: nonce, isOrigin: isPasskeyPage(ctx, project, rpId) }
  const result = await verifyAssertion(assertion, expected, passkey ?? DUMMY_CREDENTIAL)
  if ('refused' in result || passkey === null || passkey.rpId !== rpId) return null
  const { id, userId } = passkey
  if ((terms.userId ?? userId) !== userId) return null
  // Older authenticators send no user handle, or an empty one.
  if ((assertion.response.userHandle || handleOf(userId)) !== handleOf(userId)) return null
  return {
    way: 'passkey',
    consume: async (tx) => {
      if ((await takeNonce(ctx, tx, key)) === null) return null
      return (await recordPasskeyUse(tx, { id, ...result.verified })) ? { userId } : null
    },
  }
}
