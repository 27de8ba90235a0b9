// Tokens of issuers: JWTs (RFC 7519) that a project's own identity provider signed, checked by RFC 8725.

import { errors, type JWTPayload, jwtVerify } from 'jose'
import type { IssuerFacts } from '../../db/queries/issuers.ts'
import type { KeySets } from './key-sets.ts'

/** How far the issuer's clock and ours may differ. */
const SKEW_SECONDS = 30
/** A token counts for so long after `iat`, whatever its `exp` says, because we cannot end it. */
const TOKEN_SECONDS_MAX = 86_400
/** ID tokens and access tokens (RFC 9068). Issuers sign other JWTs with the same keys, such as logout tokens. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']
/** As OpenID Connect Core 1.0 §2 has it for `sub`: at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

type Subject = {
  /** The claim's name and its value, so that the values of two claims differ. */
  readonly subject: string
  /** When the user last logged in at the issuer; null if the token does not say it. */
  readonly authenticatedAt: Date | null
  /** By the issuer's clock, in whole seconds. */
  readonly issuedAt: Date
}

const timeOf = (payload: JWTPayload, now: Date): Date | null => {
  const { auth_time: seconds } = payload
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) return null
  const at = new Date(Math.floor(seconds) * 1_000)
  return at.getTime() <= now.getTime() + SKEW_SECONDS * 1_000 ? at : null
}

/** Refusals of the token. The last two are of published keys that do not fit the algorithm, such as a short RSA key. */
const isRefusal = (error: unknown): boolean =>
  error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException

/** @returns null for a token that is not the issuer's, is for somebody else, or does not count now. */
export const verifyIssuerToken = async (
  { keySets, now }: { readonly keySets: KeySets; readonly now: Date },
  { issuer, token }: { readonly issuer: IssuerFacts; readonly token: string },
): Promise<Subject | null> => {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keySets.of(issuer.issuer), {
      algorithms: [...issuer.algorithms],
      issuer: issuer.issuer,
      audience: issuer.audience,
      requiredClaims: ['iss', 'aud', 'exp', 'iat', issuer.userClaim],
      clockTolerance: SKEW_SECONDS,
      maxTokenAge: TOKEN_SECONDS_MAX,
      currentDate: now,
    })
    const value = payload[issuer.userClaim]
    const issuedAt = new Date(Math.floor(payload.iat ?? 0) * 1_000)
    if (!TYPES.includes(protectedHeader.typ?.toLowerCase())) return null
    if (typeof value !== 'string' || !SUBJECT.test(value)) return null
    return { subject: `${issuer.userClaim}:${value}`, authenticatedAt: timeOf(payload, now), issuedAt }
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}
