import type { Tx } from '../../db/client.ts'
import type { LoginWay } from '../../db/words.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { AssertionJson } from '../auth/webauthn.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { proveByEmailCode } from './email-code.ts'
import { triesFrom } from './limits.ts'
import { proveByPasskey } from './passkey-login.ts'
import { beginSession, type OpenSession, withTokens } from './session.ts'
import { proveByChallenge } from './session-challenge.ts'
import { proveByWallet } from './wallet-login.ts'

/** The proofs of `POST /users/verify-login`, of which there must be exactly one. */
type Proofs = {
  readonly userId: string | undefined
  readonly verificationCode: string | undefined
  readonly siweMessage: string | undefined
  readonly signature: string | undefined
  readonly sessionChallengeCode: string | undefined
  readonly passkeyAssertion: AssertionJson | undefined
}

/** What a proof came to: whose it is, told and used up in the transaction that begins the session. */
type Proven = {
  readonly way: LoginWay
  /** @returns the user, made where this is the first proof; null where the proof was used or outdated meanwhile. */
  readonly settle: (tx: Tx) => Promise<Settled | null>
}

type Settled = {
  readonly userId: string
  /** When the user proved who they are, where that was not just now. */
  readonly authenticatedAt?: Date
}

/** Checks one proof. null: not proven, whatever the reason. */
export type Prove<Proof> = (ctx: Ctx, asked: Asked, proof: Proof) => Promise<Proven | null>

/** @throws invalid_input where none is given, or several, or half of one. */
const proverOf = (ctx: Ctx, asked: Asked, proofs: Proofs): (() => Promise<Proven | null>) => {
  const { userId, verificationCode, siweMessage, signature, sessionChallengeCode, passkeyAssertion } = proofs
  const provers: (() => Promise<Proven | null>)[] = []
  if (verificationCode !== undefined) {
    if (userId === undefined)
      throw new AppError('invalid_input', 'Field "user_id" must be given with a verification code.')
    provers.push(() => proveByEmailCode(ctx, asked, { userId, code: verificationCode }))
  }
  if (siweMessage !== undefined || signature !== undefined) {
    if (siweMessage === undefined || signature === undefined) {
      throw new AppError('invalid_input', 'Fields "siwe_message" and "signature" must be given together.')
    }
    provers.push(() => proveByWallet(ctx, asked, { message: siweMessage, signature }))
  }
  if (sessionChallengeCode !== undefined) {
    provers.push(() => proveByChallenge(ctx, asked, { code: sessionChallengeCode }))
  }
  if (passkeyAssertion !== undefined) provers.push(() => proveByPasskey(ctx, asked, { assertion: passkeyAssertion }))
  const [prove] = provers
  if (prove !== undefined && provers.length === 1) return prove
  throw new AppError(
    'invalid_input',
    'Exactly one proof must be given: "verification_code", "siwe_message", "session_challenge_code" or "passkey_credential_assertion_response".',
  )
}

const failed = ({ projectId }: Asked, proofs: Proofs): AppError =>
  new AppError('login_failed', 'The login was not proven: begin it again, and check the code or signature.', {
    event: { kind: 'login_failed', projectId, details: { way: wayOf(proofs) } },
  })

const wayOf = ({ verificationCode, siweMessage, passkeyAssertion }: Proofs): string => {
  if (verificationCode !== undefined) return 'email_code'
  if (siweMessage !== undefined) return 'wallet'
  return passkeyAssertion === undefined ? 'session_challenge' : 'passkey'
}

/**
 * Begins a session for whoever proves to be a user. A user's first proof makes them.
 * @throws login_failed, the same for an unknown user and a wrong proof; invalid_input, rate_limited.
 */
export const verifyLogin = async (ctx: Ctx, asked: Asked, proofs: Proofs): Promise<OpenSession> => {
  const prove = proverOf(ctx, asked, proofs)
  await throttle(ctx, [triesFrom(ctx, asked, 'proof')])
  const proven = await prove()
  if (proven === null) throw failed(asked, proofs)
  const { projectId, asker } = asked
  // A mailed code was looked for under the id that its begin step told; its user may have another.
  const named = proofs.verificationCode === undefined ? proofs.userId : undefined
  const row = await ctx.db.transaction(async (tx) => {
    const settled = await proven.settle(tx)
    // Thrown, so that a proof of another user than was named is not used up.
    if (settled === null || (named ?? settled.userId) !== settled.userId) throw failed(asked, proofs)
    const { userId, authenticatedAt = null } = settled
    return beginSession(ctx, tx, { projectId, userId, way: proven.way, asker, authenticatedAt })
  })
  return withTokens(ctx, row)
}
