// Session challenges: a login that begins on one device and is completed on another that is logged in, or behind a mailed
// link. Whoever began it holds the code, looks at it until it is completed, and gets one session for it. They end after
// five minutes, whatever became of them.
//
// The code is shown on a screen and typed on another: 28 symbols of Crockford's base32 in groups of four, 140 bits. The
// secret of a mailed link travels by mail alone, and no answer of ours holds it. Of both only SHA-256 is kept: what has
// this much entropy needs no key and no salt.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import {
  findSessionChallenge,
  insertSessionChallenge,
  completeSessionChallenge as markCompleted,
  type SessionChallengeRow,
  takeSessionChallenge,
} from '../../db/queries/session-challenges.ts'
import { ensureUser } from '../../db/queries/users.ts'
import type { UserCaller } from '../auth/caller.ts'
import { checkOrigin } from '../auth/origins.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError, notFound } from '../errors.ts'
import type { Asker } from '../http/peer.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { challengesFrom, looksFrom, triesFrom } from './limits.ts'
import type { Prove } from './verify-login.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE = /^[0-9A-HJKMNP-TV-Z]{28}$/
const SECRET_BYTES = 32
const SECRET = /^[A-Za-z0-9_-]{43}$/

const newCode = (): string => grouped(Array.from(randomBytes(28), (byte) => ALPHABET[byte & 31] ?? '').join(''))

const grouped = (symbols: string): string => symbols.match(/.{4}/g)?.join('-') ?? ''

/**
 * A code as we wrote it: letter case, hyphens and spaces do not matter, and what looks like 0 or 1 is taken for it.
 * @returns null for what cannot be one.
 */
const readCode = (typed: string): string | null => {
  const symbols = typed.replace(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return CODE.test(symbols) ? grouped(symbols) : null
}

export const newLinkSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/** @returns null for what cannot be one. */
export const readLinkSecret = (text: string): string | null => (SECRET.test(text) ? text : null)

/** @param secret in its one form, as the functions above give it. @returns 32 bytes. */
export const hashOf = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()

export const CHALLENGE_SECONDS = 300

/** What the first device sees of it; never both. */
export type ChallengeState = {
  readonly id: string
  readonly code: string
  readonly expired: boolean
  readonly completed: boolean
}

type NewChallenge = Asked & Pick<Parameters<typeof insertSessionChallenge>[1], 'link'>

/** Makes a challenge that nobody has completed yet. */
export const beginChallenge = async (db: Ctx['db'] | Tx, input: NewChallenge): Promise<ChallengeState> => {
  const [id, code] = [randomUUID(), newCode()]
  await insertSessionChallenge(db, {
    id,
    projectId: input.projectId,
    codeHash: hashOf(code),
    askerAddress: input.asker.address,
    askerDevice: input.asker.device,
    lifetimeSeconds: CHALLENGE_SECONDS,
    ...(input.link === undefined ? {} : { link: input.link }),
  })
  return { id, code, expired: false, completed: false }
}

/** @throws rate_limited */
export const createSessionChallenge = async (ctx: Ctx, asked: Asked): Promise<ChallengeState> => {
  await throttle(ctx, [challengesFrom(ctx, asked)])
  return beginChallenge(ctx.db, asked)
}

const unknown = (): AppError => notFound('session challenge')

/**
 * How far a challenge is, for whoever holds its code. A used one reads completed until its time ends.
 * @param input.projectId as a header says it, if any does: that of another project is answered like an unknown code.
 * @throws not_found, origin_not_allowed, rate_limited.
 */
export const readSessionChallenge = async (
  ctx: Ctx,
  input: {
    readonly asker: Asker
    readonly origin: string | null
    readonly projectId: string | null
    readonly code: string
  },
): Promise<ChallengeState> => {
  await throttle(ctx, [looksFrom(ctx, input)])
  const code = readCode(input.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (code === null || row === null || (input.projectId ?? row.projectId) !== row.projectId) throw unknown()
  await checkOrigin(ctx, { projectId: row.projectId, origin: input.origin })
  return { id: row.id, code, expired: row.expired, completed: !row.expired && row.completedAt !== null }
}

type ByUser = { readonly caller: UserCaller; readonly asker: Asker; readonly code: string }

/** What a user of the project may complete by its code: no other project's, and nothing that a mailed link is for. */
const findOpen = async (ctx: Ctx, input: ByUser): Promise<SessionChallengeRow> => {
  const code = readCode(input.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (row === null || row.projectId !== input.caller.projectId || row.linkHash !== null) throw unknown()
  if (row.expired)
    throw new AppError('challenge_expired', 'The code has expired: ask for a new one on the other device.')
  if (row.completedAt !== null) {
    throw new AppError('challenge_completed', 'The code was used already: ask for a new one on the other device.')
  }
  return row
}

/**
 * Who asks to be logged in: what a person is shown before they complete it.
 * @throws not_found, challenge_expired, challenge_completed, rate_limited.
 */
export const readChallengeAsker = async (
  ctx: Ctx,
  input: ByUser,
): Promise<Asker & { readonly createdAt: Date; readonly expiresAt: Date }> => {
  await throttle(ctx, [triesFrom(ctx, input, 'session_challenge')])
  const { askerAddress: address, askerDevice: device, createdAt, expiresAt } = await findOpen(ctx, input)
  return { address, device, createdAt, expiresAt }
}

/**
 * Logs in, as the caller, the device that began the challenge: once. It takes a fresh login, as a way in does, and the new
 * session counts from that login: letting in one device after the other makes none of them fresh.
 * @throws not_found, challenge_expired, challenge_completed, fresh_login_required, session_ended, rate_limited.
 */
export const completeSessionChallenge = async (ctx: Ctx, input: ByUser): Promise<void> => {
  await throttle(ctx, [triesFrom(ctx, input, 'session_challenge')])
  const { projectId, userId } = input.caller
  const { codeHash } = await findOpen(ctx, input)
  const isDone = await ctx.db.transaction(async (tx) => {
    // Whoever ends a user's sessions ends what they completed: nothing may come after that.
    const authenticatedAt = await requireFreshLogin(tx, input.caller)
    return markCompleted(tx, { projectId, codeHash, userId, authenticatedAt })
  })
  if (isDone) return
  // Between the two it was completed or has expired.
  await findOpen(ctx, input)
  throw unknown()
}

/** The code of a completed challenge, once. An address that no user has yet becomes its user's by a mailed link. */
export const proveByChallenge: Prove<{ readonly code: string }> = async (ctx, { projectId }, proof) => {
  const code = readCode(proof.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (row === null || row.projectId !== projectId) return null
  return {
    way: row.linkHash === null ? 'session_challenge' : 'magic_link',
    settle: async (tx) => {
      const taken = await takeSessionChallenge(tx, { projectId, codeHash: row.codeHash })
      if (taken === null) return null
      const { userId: id, email, authenticatedAt } = taken
      const userId = email === null ? id : await ensureUser(tx, { id, projectId, email })
      return { userId, authenticatedAt }
    },
  }
}
