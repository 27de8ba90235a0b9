// Tokens of issuers: JWTs (RFC 7519) that a project's own identity provider signed, checked by RFC 8725.

import { createHash } from 'node:crypto'
import { errors, type JWTPayload, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose'
import type { IssuerFacts } from '../../../db/queries/issuers.ts'
import type { UserRow } from '../../../db/queries/users.ts'
import type { KeySets } from './key-sets.ts'

/**
 * The checks of an issuer's token, and what each requires, as the end of a sentence. The caller learns which one
 * failed, as it can read the claims itself; of a token with a foreign signature it learns no more than that.
 */
export const TOKEN_CHECKS = {
  signature: 'it must be a JWT that a key of the issuer signed',
  kid: 'the issuer must publish a key with its "kid" for its "alg"',
  alg: 'its "alg" must be one of the algorithms that the project takes',
  typ: 'its "typ" must be absent, "JWT" or "at+jwt"',
  iss: 'its "iss" must be the issuer, in every character',
  aud: 'its "aud", or the claim that the operator named in its place, must be the audience that the project takes',
  exp: 'its "exp" must be there and not over: get a new one',
  nbf: 'its "nbf" must not be in the future',
  iat: 'its "iat" must be within the last day and not in the future: get a new one',
  user: 'the claim that names the user must be a text of 1 to 255 ASCII characters',
  ended: 'it was ended: get a new one',
} as const

export type TokenCheck = keyof typeof TOKEN_CHECKS

// A user's tokens are ended from a moment on: those that the issuer made before count no more. If the user asked for it
// with such a token, that one token goes on, and no other one, also if it is newer: it may be stolen.

export type IssuerToken = {
  /** By the issuer's clock, in whole seconds. */
  readonly issuedAt: Date
  /** Its SHA-256. */
  readonly hash: Uint8Array
}

/** @param token the text as it was sent: another spelling of the same token is another one. */
export const tokenHashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest()

type Ended = Pick<UserRow, 'tokensFrom' | 'keptToken'>

export const isEndedToken = ({ tokensFrom, keptToken }: Ended, { issuedAt, hash }: IssuerToken): boolean =>
  tokensFrom !== null && issuedAt < tokensFrom && (keptToken === null || !Buffer.from(keptToken).equals(hash))

const SKEW_SECONDS = 30
/** A token counts for so long after `iat`, whatever its `exp` says, because we cannot end it. */
const TOKEN_SECONDS_MAX = 86_400
/** ID tokens and access tokens (RFC 9068). Issuers sign other JWTs with the same keys, such as logout tokens. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']
/** As OpenID Connect Core 1.0 §2 has it for `sub`: at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/
/** RFC 9864 §2.2 gives EdDSA with the curve Ed25519 a name of its own. Both names are of the same signature. */
const ED25519 = ['EdDSA', 'Ed25519']

type Subject = {
  /** The claim's name and its value, so that the values of two claims differ. */
  readonly subject: string
  /** When the user last logged in at the issuer; null if the token does not say it. */
  readonly authenticatedAt: Date | null
  /** By the issuer's clock, in whole seconds. */
  readonly issuedAt: Date
}

type Verified = { readonly verified: Subject } | { readonly refused: TokenCheck }

const timeOf = (payload: JWTPayload, now: Date): Date | null => {
  const { auth_time: seconds } = payload
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) return null
  const at = new Date(Math.floor(seconds) * 1_000)
  return at.getTime() <= now.getTime() + SKEW_SECONDS * 1_000 ? at : null
}

const TIMES: readonly TokenCheck[] = ['exp', 'nbf', 'iat']

const isAboutClaim = (error: unknown) =>
  error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired

/** The check that failed; null for an error that is not about the token. */
const failedCheck = (error: unknown, { audienceClaim }: IssuerFacts): TokenCheck | null => {
  if (isAboutClaim(error)) {
    if (error.claim === audienceClaim) return 'aud'
    return error.claim === 'iss' ? 'iss' : (TIMES.find((each) => each === error.claim) ?? 'user')
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'alg'
  if (error instanceof errors.JWKSNoMatchingKey) return 'kid'
  // The last two are of published keys that do not fit the algorithm, such as a short RSA key.
  const isOther = error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException
  return isOther ? 'signature' : null
}

/** Tries several keys one after the other: the token names none by `kid`, or the issuer publishes one twice. */
const verifyByOneOf = async (
  keys: errors.JWKSMultipleMatchingKeys,
  { token, options }: { readonly token: string; readonly options: JWTVerifyOptions },
): Promise<JWTVerifyResult> => {
  for await (const key of keys) {
    try {
      return await jwtVerify(token, key, options)
    } catch (error) {
      // Claims are checked behind the signature: this was the key.
      if (isAboutClaim(error)) throw error
    }
  }
  throw new errors.JWSSignatureVerificationFailed()
}

const verifyBy = async (
  keySets: KeySets,
  { issuer, token, now }: { readonly issuer: IssuerFacts; readonly token: string; readonly now: Date },
): Promise<JWTVerifyResult> => {
  const { algorithms, audience, audienceClaim, userClaim } = issuer
  const options: JWTVerifyOptions = {
    algorithms: algorithms.some((each) => ED25519.includes(each)) ? [...algorithms, ...ED25519] : [...algorithms],
    issuer: issuer.issuer,
    requiredClaims: ['iss', audienceClaim, 'exp', 'iat', userClaim],
    clockTolerance: SKEW_SECONDS,
    maxTokenAge: TOKEN_SECONDS_MAX,
    currentDate: now,
    ...(audienceClaim === 'aud' && { audience }),
  }
  try {
    return await jwtVerify(token, keySets.of(issuer.issuer), options)
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    return verifyByOneOf(error, { token, options })
  }
}

/** @returns the check that failed, if the issuer did not sign the token, or if it has another audience or time. */
export const verifyIssuerToken = async (
  { keySets, now }: { readonly keySets: KeySets; readonly now: Date },
  { issuer, token }: { readonly issuer: IssuerFacts; readonly token: string },
): Promise<Verified> => {
  const { audience, audienceClaim, userClaim } = issuer
  try {
    const { payload, protectedHeader } = await verifyBy(keySets, { issuer, token, now })
    const value = payload[userClaim]
    const issuedAt = new Date(Math.floor(payload.iat ?? 0) * 1_000)
    if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) return { refused: 'typ' }
    // As a text: unlike `aud`, such a claim is never a list.
    if (audienceClaim !== 'aud' && payload[audienceClaim] !== audience) return { refused: 'aud' }
    if (typeof value !== 'string' || !SUBJECT.test(value)) return { refused: 'user' }
    return { verified: { subject: `${userClaim}:${value}`, authenticatedAt: timeOf(payload, now), issuedAt } }
  } catch (error) {
    const refused = failedCheck(error, issuer)
    if (refused === null) throw error
    return { refused }
  }
}
