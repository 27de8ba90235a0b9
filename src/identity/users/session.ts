// A refresh token is `base64url(generation, 4 bytes ‖ HMAC(identity key, session id ‖ generation))`. It is not stored.
// After a change of the identity key an earlier token is valid until its session is refreshed.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { endedName, readUnlessEnded } from '../../../db/deciding-rows.ts'
import {
  advanceSession,
  endReusedSession,
  endSession,
  findSessionToRefresh,
  insertSession,
  type SessionFacts,
  type SessionRow,
  usedToken,
} from '../../../db/queries/sessions.ts'
import { readUserFacts, type UserFacts } from '../../../db/queries/users.ts'
import type { LoginWay } from '../../../db/words.ts'
import { AppError, type SecurityEvent, unreachable } from '../../platform/errors.ts'
import type { Client } from '../../platform/http/peer.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'
import { actorOf } from '../auth/caller.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isOurs, isOver, reportForged, sessionMac } from '../auth/row-macs.ts'
import { beginLimit, throttle } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import { retiredWhenMade } from '../retired-keys.ts'
import { recordEnd } from './end-sessions.ts'
import { ensureUser, isOurUser } from './user.ts'

// What a shown refresh token does, decided from the session's row and the present time, which is the database's.

type SessionLifetimes = {
  readonly refreshSeconds: number
  /** How long after the user's proof the session ends, even if it is refreshed. */
  readonly sessionSeconds: number
}

const after = (instant: Date, seconds: number): Date => new Date(instant.getTime() + seconds * 1_000)

/** When a session that is begun or refreshed now expires. */
const expiryOf = (
  { authenticatedAt, now }: { readonly authenticatedAt: Date; readonly now: Date },
  { refreshSeconds, sessionSeconds }: SessionLifetimes,
): Date => {
  const ends = [after(now, refreshSeconds), after(authenticatedAt, sessionSeconds)].map((end) => end.getTime())
  return new Date(Math.min(...ends))
}

/** A client that lost the answer may retry for this long, and gets the same successor. */
const GRACE_SECONDS = 10

type Refresh =
  /** The current token: the session goes on as `next`. */
  | { readonly kind: 'advance'; readonly next: SessionFacts }
  /** The one before the current, just replaced: the current one is the answer. */
  | { readonly kind: 'repeat' }
  /** An older one: a thief holds it or has used it. */
  | { readonly kind: 'reuse' }
  | { readonly kind: 'refuse' }

const refreshOf = (
  session: SessionFacts,
  input: { readonly generation: number; readonly now: Date; readonly lifetimes: SessionLifetimes },
): Refresh => {
  const { generation, now } = input
  if (generation === session.generation) {
    const expiresAt = expiryOf({ ...session, now }, input.lifetimes)
    // The operator may have shortened the lifetime: then the new end may be over before the old one.
    if (session.expiresAt <= now || expiresAt <= now) return { kind: 'refuse' }
    return { kind: 'advance', next: { ...session, generation: generation + 1, refreshedAt: now, expiresAt } }
  }
  if (generation > session.generation) return { kind: 'refuse' }
  const isLast = generation + 1 === session.generation
  return { kind: isLast && now < after(session.refreshedAt, GRACE_SECONDS) ? 'repeat' : 'reuse' }
}

const FORM = /^[A-Za-z0-9_-]{48}$/
const GENERATION_BYTES = 4

const MAC_PURPOSE = 'refresh token'

export const refreshTokenOf = (
  identity: Pick<Sealer, 'authenticator'>,
  session: { readonly id: string; readonly generation: number },
): string => {
  const number = Buffer.alloc(GENERATION_BYTES)
  number.writeUInt32BE(session.generation)
  const mac = identity.authenticator(MAC_PURPOSE)([session.id, String(session.generation)])
  return Buffer.concat([number, mac]).toString('base64url')
}

/** `retiredAt`: when the identity key was changed with which the token was made, if it was. */
type ReadToken = { readonly generation: number; readonly retiredAt: Date | null }

/** @returns null if we did not issue the token for this session. */
const readRefreshToken = async (
  ctx: IdentityCtx,
  input: { readonly sessionId: string; readonly token: string },
): Promise<ReadToken | null> => {
  if (!FORM.test(input.token)) return null
  const bytes = Buffer.from(input.token, 'base64url')
  const generation = bytes.readUInt32BE()
  const [fields, mac] = [[input.sessionId, String(generation)], bytes.subarray(GENERATION_BYTES)]
  if (ctx.identity.verifier(MAC_PURPOSE)(fields, mac)) return { generation, retiredAt: null }
  const retiredAt = await retiredWhenMade(ctx, { purpose: MAC_PURPOSE, fields, mac })
  return retiredAt && { generation, retiredAt }
}

const DAY_SECONDS = 86_400
const REFRESH_SECONDS = 30 * DAY_SECONDS

/** Each refresh token is valid for 30 days, but never longer than the session. */
const lifetimesOf = ({ config }: IdentityCtx): SessionLifetimes => ({
  refreshSeconds: REFRESH_SECONDS,
  sessionSeconds: config.sessionDays * DAY_SECONDS,
})

export type OpenSession = {
  readonly row: SessionFacts & Pick<SessionRow, 'createdAt'>
  readonly accessToken: string
  readonly accessTokenExpiresAt: Date
  readonly refreshToken: string
}

type Begun = { readonly row: OpenSession['row']; readonly user: UserFacts }

/** @returns null if the user's row is not as we wrote it. */
export const beginSession = async (
  ctx: IdentityCtx,
  tx: Tx,
  input: {
    readonly projectId: string
    readonly userId: string
    readonly way: LoginWay
    readonly client: Client
    /** When the user proved who they are; null for now. */
    readonly authenticatedAt: Date | null
  },
): Promise<Begun | null> => {
  const { projectId, userId, way, client } = input
  const { now, ...user } = await readUserFacts(tx, { projectId, id: userId })
  if (!isOurUser(ctx, user)) return null
  const authenticatedAt = input.authenticatedAt ?? now
  const expiresAt = expiryOf({ authenticatedAt, now }, lifetimesOf(ctx))
  const facts = { id: randomUUID(), projectId, userId, authenticatedAt, generation: 1, refreshedAt: now, expiresAt }
  const mac = sessionMac(ctx.identity).of(facts)
  const row = await insertSession(tx, { ...facts, way, askerAddress: client.address, askerDevice: client.device, mac })
  return { row, user }
}

export const withTokens = async (ctx: IdentityCtx, { row, user }: Begun): Promise<OpenSession> => {
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

/** Only this session can act for the new user until they add an e-mail address or a passkey. */
export const loginAnonymously = async (ctx: IdentityCtx, visitor: Visitor): Promise<OpenSession> => {
  await throttle(ctx, [beginLimit(ctx, visitor, 'anonymous')])
  const { project, projectId, client } = visitor
  if (!project.anonymousLogin) {
    throw new AppError(
      'anonymous_login_off',
      'This project does not allow anonymous logins: log in with an e-mail address, a wallet or a passkey.',
    )
  }
  const begun = await ctx.db.transaction(async (tx) => {
    const userId = await ensureUser(ctx, tx, { id: randomUUID(), projectId, by: null })
    return beginSession(ctx, tx, { projectId, userId, way: 'anonymous', client, authenticatedAt: null })
  })
  if (begun === null) throw new Error('a new user is not as it was written')
  return withTokens(ctx, begun)
}

/** If another request changed the session at the same moment, read again: it is advanced or ended. */
const READS_MAX = 2

/**
 * A token that was used before ends the session, because a thief holds it or has used it (RFC 9700 §4.14.2).
 * @throws session_ended for every invalid token, without saying why.
 */
export const refreshToken = async (
  ctx: IdentityCtx,
  input: { readonly projectId: string; readonly sessionId: string; readonly refreshToken: string },
): Promise<OpenSession> => {
  const { projectId, sessionId: id } = input
  const token = await readRefreshToken(ctx, { sessionId: id, token: input.refreshToken })
  if (token === null) {
    // Without such a session no project: the one that the header names may not exist.
    const isOfProject = (await findSessionToRefresh(ctx.db, { projectId, id })) !== null
    throw sessionEnded({ kind: 'refresh_token_forged', projectId: isOfProject ? projectId : null, subject: id })
  }
  const mac = sessionMac(ctx.identity)
  const { generation, retiredAt } = token
  const shown = { projectId, id, generation }
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const found = await readUnlessEnded(
      () => findSessionToRefresh(ctx.db, shown),
      (read) => read !== null && [endedName(mac.table, [id]), usedToken(read.row)].some(ctx.db.ended.has),
    )
    if (found === null || isOver(ctx, found.row)) throw sessionEnded()
    if (!isOurs(ctx, mac, found.row) || !isOurUser(ctx, found.user)) throw sessionEnded()
    const { row, user, now } = found
    if (ctx.db.ended.has(usedToken(row))) {
      reportForged(ctx, { table: mac.table, id, projectId })
      throw sessionEnded()
    }
    // A holder of the earlier key can make it, but the session's present token is of the present key.
    if (retiredAt !== null && generation === row.generation && row.refreshedAt > retiredAt) throw sessionEnded()
    const refresh = refreshOf(row, { generation, now, lifetimes: lifetimesOf(ctx) })
    switch (refresh.kind) {
      case 'advance': {
        const next = { ...row, ...refresh.next, mac: mac.of(refresh.next) }
        if (await advanceSession(ctx.db, { ...shown, from: generation, next }))
          return withTokens(ctx, { row: next, user })
        break
      }
      case 'repeat':
        return withTokens(ctx, { row, user })
      case 'reuse':
        if ((await endReusedSession(ctx.db, shown)) === null) throw sessionEnded()
        throw sessionEnded({ kind: 'refresh_token_reused', projectId, subject: id })
      case 'refuse':
        throw sessionEnded()
      default:
        return unreachable(refresh)
    }
  }
  throw sessionEnded()
}

const sessionEnded = (event?: SecurityEvent): AppError =>
  new AppError('session_ended', 'The refresh token is not valid any more: log in again.', { event })

/**
 * Also accepts the token of an ended session, so that logging out never fails for a client whose session is over.
 * @throws user_session_required for an API key.
 */
export const logout = async (
  ctx: IdentityCtx,
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
  const session = { id, projectId, userId }
  await ctx.db.transaction(async (tx) => {
    if ((await endSession(tx, { session, by: 'logout' })) === null) return
    await recordEnd(ctx, tx, {
      ...session,
      actor: actorOf({ kind: 'user', projectId, userId, sessionId: id, address: '' }),
    })
  })
}
