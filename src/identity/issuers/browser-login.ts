// A login at an issuer of the project, in a browser (OpenID Connect's code flow with PKCE):
//
//   begin     The page makes a verifier and keeps it. The browser gets a random secret in a cookie. The issuer gets a
//             state, a nonce and the hash of our verifier, all made of that secret. The nonce's row names the issuer
//             and the page.
//   callback  The browser comes back with a code of the issuer. The cookie must fit the state, and the issuer must be
//             that of the row, which is used up before anything else. The ID token then names the user.
//   page      It gets the code of a session challenge, which is worth nothing without the page's verifier.
//
// So only the browser that began can end the login: a foreign link, code or cookie leads nowhere.
//
// Each issuer has a callback of its own. Not every issuer says in its answer who it is (`iss`, RFC 9207), and with a
// common callback a bad issuer could get the code of a good one (RFC 9700 §4.4.2).

import { createHash, randomBytes } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import { findIssuers, type IssuerRow, listLoginIssuers } from '../../../db/queries/issuers.ts'
import { findSessionChallenge } from '../../../db/queries/session-challenges.ts'
import { AppError } from '../../platform/errors.ts'
import type { Client } from '../../platform/http/peer.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isOurs, issuerMac } from '../auth/row-macs.ts'
import { beginLimit, throttle, tryLimit } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import { FRESH_SECONDS } from '../users/fresh-login.ts'
import { issueNonce, takeNonce } from '../users/nonces.ts'
import { beginChallenge, completeChallenge, hashOf } from '../users/session-challenge.ts'
import { callbackOf } from './issuers.ts'
import { IssuerLoginError, type IssuerRefusal, type LoginIssuer } from './provider.ts'
import { TOKEN_CHECKS } from './verify-token.ts'

export const LOGIN_SECONDS = 600
const OF_A_PROJECT_MAX = 20
const WAY = 'issuer'
const SECRET = /^[A-Za-z0-9_-]{43}$/

/** What the issuer is told, and what it is not told until the end. The secret cannot be computed from them. */
const partsOf = (secret: string) => {
  const part = (word: string) => createHash('sha256').update(`${word}\n${secret}`).digest('base64url')
  return { state: part('state'), nonce: part('nonce'), verifier: part('verifier') }
}

type FindCtx = HasDb & HasIdentity & HasSecurityEvents

const ifForLogin = (ctx: FindCtx, row: IssuerRow | undefined): LoginIssuer | null => {
  if (row === undefined || row.clientId === null || !isOurs(ctx, issuerMac(ctx.identity), row)) return null
  return { ...row, clientId: row.clientId }
}

export const loginIssuers = async (ctx: FindCtx, projectId: string): Promise<readonly string[]> =>
  (await listLoginIssuers(ctx.db, { projectId, limit: OF_A_PROJECT_MAX })).flatMap(
    (row) => ifForLogin(ctx, row)?.name ?? [],
  )

const findLoginIssuer = async (
  ctx: IdentityCtx,
  key: { readonly projectId: string; readonly name: string },
): Promise<LoginIssuer | null> => ifForLogin(ctx, (await findIssuers(ctx.db, [key]))[0])

/** What a nonce's row says: for which issuer, and for the holder of which verifier. */
const targetOf = (issuer: Pick<IssuerRow, 'id'>, codeChallenge: string): string => `${issuer.id} ${codeChallenge}`

type Begun = {
  readonly url: string
  readonly secret: string
  readonly state: string
}

const recordFailure = (ctx: IdentityCtx, issuer: IssuerRow, error: unknown): IssuerRefusal => {
  if (!(error instanceof IssuerLoginError)) throw error
  if (error.why !== 'cancelled') {
    const { issuer: issuerUrl, name, projectId } = issuer
    ctx.log.warn({ err: error.cause, issuer: issuerUrl, name, projectId }, 'a login at an issuer failed')
  }
  return error.why
}

/**
 * @param input.codeChallenge the SHA-256 of the page's verifier, as PKCE writes it.
 * @throws not_implemented if the login page does not offer the issuer; unavailable if the issuer does not answer.
 */
export const beginIssuerLogin = async (
  ctx: IdentityCtx,
  visitor: Visitor,
  input: { readonly name: string; readonly codeChallenge: string },
): Promise<Begun> => {
  await throttle(ctx, [beginLimit(ctx, visitor, WAY)])
  const { projectId } = visitor
  const issuer = await findLoginIssuer(ctx, { projectId, name: input.name })
  if (issuer === null)
    throw new AppError('not_implemented', 'The login page of this project does not offer this issuer.')
  const secret = randomBytes(32).toString('base64url')
  const { state, nonce, verifier } = partsOf(secret)
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url')
  const request = { callback: callbackOf(ctx.config, issuer), state, nonce, codeChallenge }
  const url = await ctx.issuers.provider.pageOf(issuer, request).catch((error: unknown) => {
    recordFailure(ctx, issuer, error)
    throw new AppError('unavailable', 'The issuer does not answer at the moment: try again.')
  })
  const target = targetOf(issuer, input.codeChallenge)
  await issueNonce(ctx, { projectId, kind: WAY, nonce, userId: null, target, lifetimeSeconds: LOGIN_SECONDS })
  return { url: url.href, secret, state }
}

type Ended =
  /** Not begun in this browser, ended already, or too late. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'failed'; readonly why: IssuerRefusal }
  /** `code`: of a session challenge, for the page that began. */
  | { readonly kind: 'proven'; readonly code: string }

type Answer = {
  readonly client: Client
  readonly projectId: string
  readonly name: string
  readonly query: URLSearchParams
  readonly secret: string
}

/** Uses the login up that a browser has begun. @returns null if there is none. */
const takeBegun = async (ctx: IdentityCtx, { projectId, name, query, secret }: Answer) => {
  const parts = partsOf(secret)
  if (!SECRET.test(secret) || query.get('state') !== parts.state) return null
  const issuer = await findLoginIssuer(ctx, { projectId, name })
  if (issuer === null) return null
  const key = { projectId, kind: WAY, nonce: parts.nonce } as const
  const row = await ctx.db.transaction((tx) => takeNonce(ctx, tx, key))
  const [issuerId, codeChallenge] = row?.target.split(' ') ?? []
  return issuerId === issuer.id && codeChallenge !== undefined ? { issuer, codeChallenge, ...parts } : null
}

type ProvenUser = { readonly userId: string; readonly authenticatedAt: Date }

const challengeFor = async (
  ctx: IdentityCtx,
  input: {
    readonly projectId: string
    readonly client: Client
    readonly codeChallenge: string
    readonly user: ProvenUser
  },
): Promise<string> => {
  const { user, ...begun } = input
  return ctx.db.transaction(async (tx) => {
    const { code } = await beginChallenge(ctx, tx, { ...begun, way: WAY })
    const read = await findSessionChallenge(tx, hashOf(code))
    if (read === null) throw new Error('a session challenge was not inserted')
    // The issuer's clock may be ahead.
    const at = user.authenticatedAt < read.now ? user.authenticatedAt : read.now
    await completeChallenge(ctx, tx, { read, userId: user.userId, authenticatedAt: at })
    return code
  })
}

/**
 * An issuer may ignore `max_age`, or an attacker may have removed it from the address. Then the issuer answers for an
 * old session, so its ID token must say when the login was (OpenID Connect Core 1.0 §3.1.3.7, step 13).
 */
const requireFresh = (authenticatedAt: Date | null, now: Date): Date => {
  if (authenticatedAt === null) {
    throw new IssuerLoginError('refused', new Error('The ID token has no auth_time, which max_age asks for.'))
  }
  if (now.getTime() - authenticatedAt.getTime() <= FRESH_SECONDS * 1_000) return authenticatedAt
  throw new IssuerLoginError('stale', new Error('The issuer did not ask the user again.'))
}

export const endIssuerLogin = async (ctx: IdentityCtx, answer: Answer): Promise<Ended> => {
  const { client, projectId, query } = answer
  await throttle(ctx, [tryLimit(ctx, { client }, WAY)])
  const begun = await takeBegun(ctx, answer)
  if (begun === null) return { kind: 'unknown' }
  const { issuer, codeChallenge, ...expected } = begun
  const url = new URL(`${callbackOf(ctx.config, issuer)}?${query}`)
  try {
    const token = await ctx.issuers.provider.idTokenOf(issuer, { url, ...expected })
    const identified = await ctx.issuers.identify({ issuer, token })
    if (identified.kind === 'refused') {
      const sentence = `The ID token does not count: ${TOKEN_CHECKS[identified.check]}.`
      throw new IssuerLoginError('refused', new Error(sentence))
    }
    const authenticatedAt = requireFresh(identified.authenticatedAt, ctx.now())
    const user = { userId: identified.userId, authenticatedAt }
    return { kind: 'proven', code: await challengeFor(ctx, { projectId, client, codeChallenge, user }) }
  } catch (error) {
    return { kind: 'failed', why: recordFailure(ctx, issuer, error) }
  }
}
