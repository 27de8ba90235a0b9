import { advanceSession, endReusedSession, findJustAdvanced } from '../../db/queries/sessions.ts'
import type { Ctx } from '../context.ts'
import { AppError, type SecurityEvent } from '../errors.ts'
import { readRefreshToken } from './refresh-secret.ts'
import { lifetimesOf, type OpenSession, withTokens } from './session.ts'

/** A client that lost the answer may ask again for so long, and gets the same successor. */
const GRACE_SECONDS = 10

/**
 * Exchanges a refresh token for its successor and a new access token. One that was used before ends the session: whoever
 * holds it, or whoever used it, is not the user (RFC 9700 §4.14.2).
 * @throws session_ended, the same whatever is wrong.
 */
export const refreshToken = async (
  ctx: Pick<Ctx, 'db' | 'config' | 'identity' | 'tokens'>,
  input: { readonly projectId: string; readonly sessionId: string; readonly refreshToken: string },
): Promise<OpenSession> => {
  const { projectId, sessionId: id } = input
  const generation = readRefreshToken(ctx.identity, { sessionId: id, token: input.refreshToken })
  // Of a project that may not exist: the header is all that says so.
  if (generation === null) throw sessionEnded({ kind: 'refresh_token_forged', projectId: null, subject: id })
  const shown = { projectId, id, generation }
  const row =
    (await advanceSession(ctx.db, { ...shown, lifetimes: lifetimesOf(ctx) })) ??
    (await findJustAdvanced(ctx.db, { ...shown, graceSeconds: GRACE_SECONDS }))
  if (row !== null) return withTokens(ctx, row)
  if ((await endReusedSession(ctx.db, shown)) !== null) {
    throw sessionEnded({ kind: 'refresh_token_reused', projectId, subject: id })
  }
  throw sessionEnded()
}

const sessionEnded = (event?: SecurityEvent): AppError =>
  new AppError('session_ended', 'The refresh token is not valid any more; log in again.', { event })
