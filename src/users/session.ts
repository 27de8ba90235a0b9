// A refresh token is `base64url(generation, 4 bytes ‖ HMAC(identity key, session id ‖ generation))`. It is not stored.

import { randomUUID, timingSafeEqual } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import {
  advanceSession,
  endReusedSession,
  endSession,
  findJustAdvanced,
  insertSession,
  type SessionLifetimes,
  type SessionRow,
} from '../../db/queries/sessions.ts'
import { ensureUser, readUserFacts } from '../../db/queries/users.ts'
import type { LoginWay } from '../../db/words.ts'
import type { Visitor } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import type { Sealer } from '../custody/sealer.ts'
import { AppError, type SecurityEvent } from '../errors.ts'
import type { Client } from '../http/peer.ts'
import { beginLimit } from './limits.ts'

const FORM = /^[A-Za-z0-9_-]{48}$/
const GENERATION_BYTES = 4

const macOf = (identity: Sealer, sessionId: string, generation: number): Uint8Array =>
  identity.authenticator('refresh token')([sessionId, String(generation)])

export const refreshTokenOf = (
  identity: Sealer,
  session: { readonly id: string; readonly generation: number },
): string => {
  const number = Buffer.alloc(GENERATION_BYTES)
  number.writeUInt32BE(session.generation)
  return Buffer.concat([number, macOf(identity, session.id, session.generation)]).toString('base64url')
}

/** @returns the generation of the token, or null if we did not issue it for this session. */
const readRefreshToken = (
  identity: Sealer,
  input: { readonly sessionId: string; readonly token: string },
): number | null => {
  if (!FORM.test(input.token)) return null
  const bytes = Buffer.from(input.token, 'base64url')
  const generation = bytes.readUInt32BE()
  const mac = macOf(identity, input.sessionId, generation)
  return timingSafeEqual(bytes.subarray(GENERATION_BYTES), mac) ? generation : null
}

const DAY_SECONDS = 86_400
const REFRESH_SECONDS = 30 * DAY_SECONDS

/** Each refresh token is valid for 30 days, but never longer than the session. */
const lifetimesOf = ({ config }: Pick<Ctx, 'config'>): SessionLifetimes => ({
  refreshSeconds: REFRESH_SECONDS,
  sessionSeconds: config.sessionDays * DAY_SECONDS,
})

/** A session with its tokens. */
export type OpenSession = {
  readonly row: SessionRow
  readonly accessToken: string
  readonly accessTokenExpiresAt: Date
  readonly refreshToken: string
}

export const beginSession = (
  ctx: Pick<Ctx, 'config'>,
  tx: Tx,
  input: {
    readonly projectId: string
    readonly userId: string
    readonly way: LoginWay
    readonly client: Client
    /** When the user proved who they are; null for now. */
    readonly authenticatedAt: Date | null
  },
): Promise<SessionRow> =>
  insertSession(tx, {
    id: randomUUID(),
    projectId: input.projectId,
    userId: input.userId,
    way: input.way,
    askerAddress: input.client.address,
    askerDevice: input.client.device,
    authenticatedAt: input.authenticatedAt,
    lifetimes: lifetimesOf(ctx),
  })

/** Issues the tokens of a session. Reads the user again for the access token's claims. */
export const withTokens = async (
  ctx: Pick<Ctx, 'db' | 'identity' | 'tokens'>,
  row: SessionRow,
): Promise<OpenSession> => {
  const user = await readUserFacts(ctx.db, { projectId: row.projectId, id: row.userId })
  const { token, expiresAt } = await ctx.tokens.issue({
    projectId: row.projectId,
    userId: row.userId,
    sessionId: row.id,
    sessionExpiresAt: row.expiresAt,
    email: user.email,
    hasPasskeys: user.hasPasskeys,
    signInWallet: user.signInWallet,
  })
  const refreshToken = refreshTokenOf(ctx.identity, row)
  return { row, accessToken: token, accessTokenExpiresAt: expiresAt, refreshToken }
}

/** Creates a user without any proof. Only this session can act for them until they add an e-mail address or a passkey. */
export const loginAnonymously = async (ctx: Ctx, visitor: Visitor): Promise<OpenSession> => {
  await throttle(ctx, [beginLimit(ctx, visitor, 'anonymous')])
  const { project, projectId, client } = visitor
  if (!project.anonymousLogin) {
    throw new AppError(
      'anonymous_login_off',
      'This project does not allow anonymous logins: log in with an e-mail address, a wallet or a passkey.',
    )
  }
  const row = await ctx.db.transaction(async (tx) => {
    const userId = await ensureUser(tx, { id: randomUUID(), projectId })
    return beginSession(ctx, tx, { projectId, userId, way: 'anonymous', client, authenticatedAt: null })
  })
  return withTokens(ctx, row)
}

/** A client that lost the answer may retry for this long, and gets the same successor. */
const GRACE_SECONDS = 10

/**
 * Exchanges a refresh token for its successor and a new access token. A token that was used before ends the session, because
 * a thief holds it or has used it (RFC 9700 §4.14.2).
 * @throws session_ended for every invalid token, without saying why.
 */
export const refreshToken = async (
  ctx: Pick<Ctx, 'db' | 'config' | 'identity' | 'tokens'>,
  input: { readonly projectId: string; readonly sessionId: string; readonly refreshToken: string },
): Promise<OpenSession> => {
  const { projectId, sessionId: id } = input
  const generation = readRefreshToken(ctx.identity, { sessionId: id, token: input.refreshToken })
  // No project: the one that the header names may not exist.
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
  new AppError('session_ended', 'The refresh token is not valid any more: log in again.', { event })

/**
 * Ends the session of an access token, at once and on every process. An expired token, or one whose session has ended, is
 * accepted too, so that logging out never fails for a client whose session is over.
 * @throws user_session_required for an API key.
 */
export const logout = async (
  ctx: Pick<Ctx, 'db' | 'tokens'>,
  input: { readonly projectId: string; readonly bearer: string },
): Promise<void> => {
  if (input.bearer.startsWith('sk_')) {
    throw new AppError('user_session_required', 'This call takes the access token of a user, not an API key.')
  }
  const token = input.bearer === '' ? null : await ctx.tokens.verify(input.bearer)
  if (token === null) {
    throw new AppError('unauthorized', 'The header Authorization must be "Bearer " and an access token.')
  }
  if (token.projectId !== input.projectId) {
    throw new AppError('project_mismatch', 'The access token belongs to another project than the header names.')
  }
  const { projectId, userId, sessionId: id } = token
  await endSession(ctx.db, { session: { id, projectId, userId }, by: 'logout' })
}
