// Adding or removing a login method, and letting another device in, require a recent login. An access token does not
// show that the user is present. Without this rule, the thief of a token could replace the user's passkeys and keep the
// account.

import type { Queryable } from '../../../db/client.ts'
import { readPresent } from '../../../db/queries/server.ts'
import { holdLiveSession } from '../../../db/queries/sessions.ts'
import { holdUser } from '../../../db/queries/users.ts'
import { AppError } from '../../platform/errors.ts'
import type { UserCaller } from '../auth/caller.ts'
import { isOurs, sessionMac } from '../auth/row-macs.ts'
import type { IdentityCtx } from '../ctx.ts'
import { isEndedToken } from '../issuers/verify-token.ts'
import { isOurUser, readCaller } from './user.ts'

export const FRESH_SECONDS = 600

const LOGIN_REQUIRED = 'This call requires a login within the last ten minutes: log in again, then repeat the call.'
const REFRESH_REQUIRED =
  'This call requires a session that was begun or refreshed within the last ten minutes: refresh it, then repeat the call.'

/** A login is over by either clock. Milliseconds. */
const laterOf = ({ now }: IdentityCtx, byDatabase: Date): number => Math.max(byDatabase.getTime(), now().getTime())

/**
 * Requires that the caller's session began with a login within the last ten minutes. A refresh does not count, except
 * for an anonymous user without any login method, who cannot log in again. In a transaction, this keeps the session, or
 * the token of the user's issuer, from being ended until the transaction ends.
 * @param input.begunSeconds extra time for finishing what the user began under a fresh login.
 * @returns when the user proved who they are.
 */
export const requireFreshLogin = async (
  ctx: IdentityCtx,
  db: Queryable,
  caller: UserCaller,
  input: { readonly begunSeconds: number } = { begunSeconds: 0 },
): Promise<Date> => {
  const { projectId, userId, sessionId } = caller
  if (sessionId === null) return requireFreshLoginAtIssuer(ctx, db, caller, input)
  const session = await holdLiveSession(db, { id: sessionId, projectId, userId })
  if (session === null || !isOurs(ctx, sessionMac(ctx.identity), session)) {
    throw new AppError('session_ended', 'The session has ended; log in again.')
  }
  const { authenticatedAt, refreshedAt } = session
  const nowMs = laterOf(ctx, session.now)
  const limitMs = (FRESH_SECONDS + input.begunSeconds) * 1_000
  const isWithin = (since: Date) => nowMs - since.getTime() <= limitMs
  if (isWithin(authenticatedAt)) return authenticatedAt
  const user = await readCaller(ctx, db, caller)
  if (user.email !== null || user.signInWallet !== null || user.issuer !== null || user.hasPasskeys) {
    throw new AppError('fresh_login_required', LOGIN_REQUIRED)
  }
  if (!isWithin(refreshedAt)) throw new AppError('fresh_login_required', REFRESH_REQUIRED)
  return authenticatedAt
}

const LOGIN_AT_ISSUER_REQUIRED =
  'This call requires a login at the issuer within the last ten minutes, which the claim "auth_time" of its token must say: log in there again, then repeat the call.'

/** Only `auth_time` shows a login: issuers give new tokens, with a new `iat`, without the user. */
const requireFreshLoginAtIssuer = async (
  ctx: IdentityCtx,
  db: Queryable,
  { projectId, userId, issuedLoginAt = null, issuerToken }: UserCaller,
  { begunSeconds }: { readonly begunSeconds: number },
): Promise<Date> => {
  const user = await holdUser(db, { projectId, userId })
  const isGood = user !== null && issuerToken !== undefined && !isEndedToken(user, issuerToken) && isOurUser(ctx, user)
  if (!isGood) throw new AppError('session_ended', 'The token has been ended; log in again.')
  const now = await readPresent(db)
  if (issuedLoginAt === null || laterOf(ctx, now) - issuedLoginAt.getTime() > (FRESH_SECONDS + begunSeconds) * 1_000) {
    throw new AppError('fresh_login_required', LOGIN_AT_ISSUER_REQUIRED)
  }
  // The issuer's clock may be ahead.
  return issuedLoginAt < now ? issuedLoginAt : now
}
