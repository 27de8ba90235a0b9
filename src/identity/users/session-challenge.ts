// Session challenges: a login begins on one device, and a device that is logged in, or a mailed link, completes it. The
// first device holds the code, polls until the challenge is completed, and exchanges the code for one session.
//
// That device also keeps a secret (code-verifier.ts), without which an intercepted code is worth nothing. Clients
// without such a secret prove with the code alone, from the address at which they began.
//
// The user types the code on another device: 28 symbols of Crockford's base32 in groups of four, 140 bits. Only the
// mail has the secret of a mailed link. We store the SHA-256 of both; with this much entropy they need no key and no
// salt.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Db, Tx } from '../../../db/client.ts'
import { readPresent } from '../../../db/queries/server.ts'
import {
  findSessionChallenge,
  insertSessionChallenge,
  completeSessionChallenge as markCompleted,
  type SessionChallengeRow,
  takeSessionChallenge,
} from '../../../db/queries/session-challenges.ts'
import type { ChallengeWay } from '../../../db/words.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { type Client, subnetOf } from '../../platform/http/peer.ts'
import { requireProject } from '../auth/authenticate.ts'
import type { UserCaller } from '../auth/caller.ts'
import { checkOrigin } from '../auth/origins.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isOurs, isOver, sessionChallengeMac } from '../auth/row-macs.ts'
import { challengeLimit, readLimit, throttle, tryLimit } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import { isVerifierOf, verifierHashOf } from './code-verifier.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { ensureUser } from './user.ts'
import type { Prove } from './verify-login.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE = /^[0-9A-HJKMNP-TV-Z]{28}$/
const SECRET_BYTES = 32
const SECRET = /^[A-Za-z0-9_-]{43}$/

const newCode = (): string => grouped(Array.from(randomBytes(28), (byte) => ALPHABET[byte & 31] ?? '').join(''))

const grouped = (symbols: string): string => symbols.match(/.{4}/g)?.join('-') ?? ''

/** Ignores letter case, hyphens and spaces; reads O as 0, and I and L as 1. @returns null for a malformed code. */
export const readCode = (typed: string): string | null => {
  const symbols = typed.replace(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return CODE.test(symbols) ? grouped(symbols) : null
}

export const newLinkSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

export const readLinkSecret = (text: string): string | null => (SECRET.test(text) ? text : null)

/** @param secret a code or link secret as the functions above return it. @returns 32 bytes. */
export const hashOf = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()

export const CHALLENGE_SECONDS = 300

/** A challenge as the first device sees it. Never both expired and completed. */
export type ChallengeState = {
  readonly id: string
  readonly code: string
  readonly expired: boolean
  readonly completed: boolean
}

type NewChallenge = Pick<Visitor, 'projectId' | 'client'> & {
  readonly way: ChallengeWay
  /** The mailed link, and the user whom it logs in. */
  readonly link?: { readonly linkHash: Uint8Array; readonly email: string; readonly userId: string }
  /** Without one, the code alone is the proof. */
  readonly codeChallenge?: string | undefined
}

export const beginChallenge = async (ctx: IdentityCtx, db: Db | Tx, input: NewChallenge): Promise<ChallengeState> => {
  const [id, code] = [randomUUID(), newCode()]
  const now = await readPresent(db)
  const { linkHash, email, userId } = input.link ?? { linkHash: null, email: null, userId: null }
  const facts = {
    id,
    projectId: input.projectId,
    way: input.way,
    codeHash: hashOf(code),
    linkHash,
    verifierHash: input.codeChallenge === undefined ? null : verifierHashOf(input.codeChallenge),
    email,
    userId,
    askerAddress: input.client.address,
    askerDevice: input.client.device,
    expiresAt: new Date(now.getTime() + CHALLENGE_SECONDS * 1_000),
  }
  const mac = sessionChallengeMac(ctx.identity).of({ ...facts, authenticatedAt: null })
  await insertSessionChallenge(db, { ...facts, createdAt: now, mac })
  return { id, code, expired: false, completed: false }
}

/** Whether a challenge is as we wrote it. Ask only where it decides: one that was used or ended has no MAC any more. */
export const isOurChallenge = (ctx: IdentityCtx, row: SessionChallengeRow): boolean =>
  isOurs(ctx, sessionChallengeMac(ctx.identity), row)

/** Completes an open challenge for a user. @returns false if it has expired, or was completed since it was read. */
export const completeChallenge = (
  ctx: IdentityCtx,
  db: Db | Tx,
  input: {
    readonly read: SessionChallengeRow
    readonly userId: string | null
    /** When the user proved who they are. */
    readonly authenticatedAt: Date
  },
): Promise<boolean> => {
  const { read, userId, authenticatedAt } = input
  const mac = sessionChallengeMac(ctx.identity).of({ ...read, userId, authenticatedAt })
  return markCompleted(db, read, { userId, authenticatedAt, mac })
}

/** @param input.codeChallenge the SHA-256 of a secret that the caller keeps, as PKCE writes it. */
export const createSessionChallenge = async (
  ctx: IdentityCtx,
  visitor: Visitor,
  input: { readonly codeChallenge: string | undefined },
): Promise<ChallengeState> => {
  await throttle(ctx, [challengeLimit(ctx, visitor)])
  return beginChallenge(ctx, ctx.db, { ...visitor, ...input, way: 'session_challenge' })
}

/** By either clock. */
export const hasExpired = (ctx: IdentityCtx, row: SessionChallengeRow): boolean => row.expired || isOver(ctx, row)

const noSuchChallenge = (): AppError => notFound('session challenge')

/**
 * A used challenge reads as completed until it expires.
 * @param input.projectId the header, or null. Another project's challenge is answered like an unknown code.
 */
export const readSessionChallenge = async (
  ctx: IdentityCtx,
  input: {
    readonly client: Client
    readonly origin: string | null
    readonly projectId: string | null
    readonly code: string
  },
): Promise<ChallengeState> => {
  await throttle(ctx, [readLimit(ctx, input)])
  const code = readCode(input.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (code === null || row === null || (input.projectId ?? row.projectId) !== row.projectId) throw noSuchChallenge()
  if (input.origin !== null)
    checkOrigin(ctx, { project: await requireProject(ctx, row.projectId), origin: input.origin })
  const expired = hasExpired(ctx, row)
  return { id: row.id, code, expired, completed: !expired && row.completedAt !== null }
}

type ByUser = { readonly caller: UserCaller; readonly client: Client; readonly code: string }

/** An open challenge that the caller may complete by its code: of their project, and of a device that asks. */
const findOpen = async (ctx: IdentityCtx, input: ByUser): Promise<SessionChallengeRow> => {
  const code = readCode(input.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (row === null || row.projectId !== input.caller.projectId || row.way !== 'session_challenge')
    throw noSuchChallenge()
  if (hasExpired(ctx, row))
    throw new AppError('challenge_expired', 'The code has expired: ask for a new one on the other device.')
  if (row.completedAt !== null) {
    throw new AppError('challenge_completed', 'The code was used already: ask for a new one on the other device.')
  }
  if (!isOurChallenge(ctx, row)) throw noSuchChallenge()
  return row
}

export const readChallengeAsker = async (
  ctx: IdentityCtx,
  input: ByUser,
): Promise<Client & { readonly createdAt: Date; readonly expiresAt: Date }> => {
  await throttle(ctx, [tryLimit(ctx, input, 'session_challenge')])
  const { askerAddress: address, askerDevice: device, createdAt, expiresAt } = await findOpen(ctx, input)
  return { address, device, createdAt, expiresAt }
}

/** Requires a fresh login. The new session keeps the time of that login, so that no chain of devices stays fresh. */
export const completeSessionChallenge = async (ctx: IdentityCtx, input: ByUser): Promise<void> => {
  await throttle(ctx, [tryLimit(ctx, input, 'session_challenge')])
  const { userId } = input.caller
  const read = await findOpen(ctx, input)
  const isDone = await ctx.db.transaction(async (tx) => {
    // This locks the session: who ends it also ends its user's completed challenges, and must not miss this one.
    const authenticatedAt = await requireFreshLogin(ctx, tx, input.caller)
    return completeChallenge(ctx, tx, { read, userId, authenticatedAt })
  })
  if (isDone) return
  // The challenge was completed or expired meanwhile: throw the error for that.
  await findOpen(ctx, input)
  throw noSuchChallenge()
}

/**
 * A verifier for a challenge without one is refused: an attacker took the sender's own challenge away (RFC 9700
 * §2.1.1). The code of a mailed link was shown nowhere.
 */
const isFromAsker = (row: SessionChallengeRow, client: Client, verifier: string | undefined): boolean => {
  if (row.verifierHash !== null) return verifier !== undefined && isVerifierOf(row.verifierHash, verifier)
  if (verifier !== undefined) return false
  return row.linkHash !== null || subnetOf(row.askerAddress) === subnetOf(client.address)
}

type ChallengeProof = { readonly code: string; readonly verifier: string | undefined }

/** Accepts the code of a completed challenge once. A mailed link creates the user of a new address. */
export const proveByChallenge: Prove<ChallengeProof> = async (ctx, { projectId, client }, proof) => {
  const code = readCode(proof.code)
  const row = code === null ? null : await findSessionChallenge(ctx.db, hashOf(code))
  if (row === null || row.projectId !== projectId) return null
  const { userId: id, email, authenticatedAt } = row
  const isWaiting = row.completedAt !== null && row.usedAt === null && !hasExpired(ctx, row)
  if (!isWaiting || id === null || authenticatedAt === null || !isOurChallenge(ctx, row)) return null
  if (!isFromAsker(row, client, proof.verifier)) return null
  return {
    way: row.way,
    consume: async (tx) => {
      if (!(await takeSessionChallenge(tx, row))) return null
      const userId = email === null ? id : await ensureUser(ctx, tx, { id, projectId, by: { email } })
      return { userId, authenticatedAt }
    },
  }
}
