import type { Tx } from '../../../db/client.ts'
import type { LoginWay } from '../../../db/words.ts'
import { AppError, invalidInput } from '../../platform/errors.ts'
import type { Visitor } from '../auth/plugin.ts'
import { throttle, tryLimit } from '../auth/throttle.ts'
import type { AssertionJson } from '../auth/webauthn.ts'
import type { IdentityCtx } from '../ctx.ts'
import { proveByEmailCode } from './email-code.ts'
import { proveByPasskey } from './passkey-login.ts'
import { beginSession, type OpenSession, withTokens } from './session.ts'
import { proveByChallenge } from './session-challenge.ts'
import { proveByWallet } from './wallet-login.ts'

/** The proofs of `POST /users/verify-login`. A request must have exactly one. */
type Proofs = {
  readonly userId: string | undefined
  readonly verificationCode: string | undefined
  readonly siweMessage: string | undefined
  readonly signature: string | undefined
  readonly sessionChallengeCode: string | undefined
  readonly codeVerifier: string | undefined
  readonly passkeyAssertion: AssertionJson | undefined
}

/** A proof that was checked, but is not used up yet. */
type Proven = {
  readonly way: LoginWay
  /** Uses the proof up, with the session's transaction. @returns null if it was used or has expired meanwhile. */
  readonly consume: (tx: Tx) => Promise<ProvenUser | null>
}

type ProvenUser = {
  readonly userId: string
  /** When the user proved who they are, if not now. */
  readonly authenticatedAt?: Date
}

/** Checks one proof. @returns null if it proves nothing, without saying why. */
export type Prove<Proof> = (ctx: IdentityCtx, visitor: Visitor, proof: Proof) => Promise<Proven | null>

type Prover = { readonly way: string; readonly prove: () => Promise<Proven | null> }

const proverOf = (ctx: IdentityCtx, visitor: Visitor, proofs: Proofs): Prover => {
  const { userId, verificationCode, siweMessage, signature, sessionChallengeCode, codeVerifier, passkeyAssertion } =
    proofs
  const provers: Prover[] = []
  if (codeVerifier !== undefined && sessionChallengeCode === undefined) {
    throw invalidInput('Field "code_verifier" may be given only with "session_challenge_code".')
  }
  if (verificationCode !== undefined) {
    if (userId === undefined) throw invalidInput('Field "user_id" must be given with a verification code.')
    provers.push({ way: 'email_code', prove: () => proveByEmailCode(ctx, visitor, { userId, code: verificationCode }) })
  }
  if (siweMessage !== undefined || signature !== undefined) {
    if (siweMessage === undefined || signature === undefined) {
      throw invalidInput('Fields "siwe_message" and "signature" must be given together.')
    }
    provers.push({ way: 'wallet', prove: () => proveByWallet(ctx, visitor, { message: siweMessage, signature }) })
  }
  if (sessionChallengeCode !== undefined) {
    provers.push({
      way: 'session_challenge',
      prove: () => proveByChallenge(ctx, visitor, { code: sessionChallengeCode, verifier: codeVerifier }),
    })
  }
  if (passkeyAssertion !== undefined) {
    provers.push({ way: 'passkey', prove: () => proveByPasskey(ctx, visitor, { assertion: passkeyAssertion }) })
  }
  const [prover] = provers
  if (prover !== undefined && provers.length === 1) return prover
  throw invalidInput(
    'Exactly one proof must be given: "verification_code", "siwe_message", "session_challenge_code" or "passkey_credential_assertion_response".',
  )
}

/** The first proof of a user creates them. @throws login_failed, for an unknown user as for a wrong proof. */
export const verifyLogin = async (ctx: IdentityCtx, visitor: Visitor, proofs: Proofs): Promise<OpenSession> => {
  const { way, prove } = proverOf(ctx, visitor, proofs)
  const { projectId, client } = visitor
  const failed = (): AppError =>
    new AppError('login_failed', 'The login was not proven: begin it again, and check the code or signature.', {
      event: { kind: 'login_failed', projectId, details: { way } },
    })
  await throttle(ctx, [tryLimit(ctx, visitor, 'proof')])
  const proven = await prove()
  if (proven === null) throw failed()
  // With a mailed code, `user_id` is the id that login-with-email returned. The user may have another id.
  const namedUserId = proofs.verificationCode === undefined ? proofs.userId : undefined
  const begun = await ctx.db.transaction(async (tx) => {
    const user = await proven.consume(tx)
    // Throwing rolls back, so that a proof of another user than the named one is not used up.
    if (user === null || (namedUserId ?? user.userId) !== user.userId) throw failed()
    const { userId, authenticatedAt = null } = user
    const session = await beginSession(ctx, tx, { projectId, userId, way: proven.way, client, authenticatedAt })
    if (session === null) throw failed()
    return session
  })
  return withTokens(ctx, begun)
}
