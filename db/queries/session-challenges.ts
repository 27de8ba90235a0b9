// Logins that begin on one device and are completed elsewhere. Codes and links are known by their hashes alone.

import { and, eq, gt, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { sessionChallenges } from '../schema.ts'

export type SessionChallengeRow = typeof sessionChallenges.$inferSelect & {
  /** By the database's clock. */
  readonly expired: boolean
}

const expired = sql<boolean>`${sessionChallenges.expiresAt} <= now()`
const unexpired = gt(sessionChallenges.expiresAt, sql`now()`)
/** Completed, and without its session yet. */
const isWaiting = and(isNotNull(sessionChallenges.completedAt), isNull(sessionChallenges.usedAt), unexpired)

export const insertSessionChallenge = async (
  db: Queryable,
  input: {
    readonly id: string
    readonly projectId: string
    readonly codeHash: Uint8Array
    readonly askerAddress: string
    readonly askerDevice: string
    readonly lifetimeSeconds: number
    /** Of a mailed link, and whom it logs in. */
    readonly link?: { readonly linkHash: Uint8Array; readonly email: string; readonly userId: string }
  },
): Promise<void> => {
  const { lifetimeSeconds, link, ...values } = input
  const expiresAt = sql`now() + make_interval(secs => ${lifetimeSeconds})`
  await db.insert(sessionChallenges).values({ ...values, ...link, expiresAt })
}

const findOne = async (db: Queryable, where: SQL | undefined): Promise<SessionChallengeRow | null> => {
  const [row] = await db.select({ challenge: sessionChallenges, expired }).from(sessionChallenges).where(where)
  return row === undefined ? null : { ...row.challenge, expired: row.expired }
}

export const findSessionChallenge = (db: Queryable, codeHash: Uint8Array): Promise<SessionChallengeRow | null> =>
  findOne(db, eq(sessionChallenges.codeHash, codeHash))

export const findMailedLink = (db: Queryable, linkHash: Uint8Array): Promise<SessionChallengeRow | null> =>
  findOne(db, eq(sessionChallenges.linkHash, linkHash))

/** Once, in time, in the user's own project, and never what a mailed link is for. @returns whether this was it. */
export const completeSessionChallenge = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly codeHash: Uint8Array
    readonly userId: string
    /** When the user had proven who they are. */
    readonly authenticatedAt: Date
  },
): Promise<boolean> => {
  const { userId, authenticatedAt } = input
  const rows = await db
    .update(sessionChallenges)
    .set({ completedAt: sql`now()`, userId, authenticatedAt })
    .where(
      and(
        eq(sessionChallenges.codeHash, input.codeHash),
        eq(sessionChallenges.projectId, input.projectId),
        isNull(sessionChallenges.linkHash),
        isNull(sessionChallenges.completedAt),
        unexpired,
      ),
    )
    .returning({ id: sessionChallenges.id })
  return rows.length === 1
}

/** Once, and in time: opening a mail is a proof. @returns whether this was it. */
export const completeMailedLink = async (db: Queryable, linkHash: Uint8Array): Promise<boolean> => {
  const rows = await db
    .update(sessionChallenges)
    .set({ completedAt: sql`now()`, authenticatedAt: sql`now()` })
    .where(and(eq(sessionChallenges.linkHash, linkHash), isNull(sessionChallenges.completedAt), unexpired))
    .returning({ id: sessionChallenges.id })
  return rows.length === 1
}

/** @returns whom a completed challenge logs in: of many that ask for it at once, one is told. */
export const takeSessionChallenge = async (
  tx: Tx,
  input: { readonly projectId: string; readonly codeHash: Uint8Array },
): Promise<{ readonly userId: string; readonly email: string | null; readonly authenticatedAt: Date } | null> => {
  const [row] = await tx
    .update(sessionChallenges)
    .set({ usedAt: sql`now()` })
    .where(
      and(eq(sessionChallenges.codeHash, input.codeHash), eq(sessionChallenges.projectId, input.projectId), isWaiting),
    )
    .returning({
      userId: sessionChallenges.userId,
      email: sessionChallenges.email,
      authenticatedAt: sessionChallenges.authenticatedAt,
    })
  if (row === undefined || row.userId === null || row.authenticatedAt === null) return null
  return { userId: row.userId, email: row.email, authenticatedAt: row.authenticatedAt }
}

/** Ends what would still log a user in: what was completed for them, and gave no session yet. */
export const endCompletedChallenges = async (
  db: Queryable,
  input: { readonly projectId: string; readonly userId: string },
): Promise<void> => {
  await db
    .update(sessionChallenges)
    .set({ expiresAt: sql`now()` })
    .where(and(eq(sessionChallenges.projectId, input.projectId), eq(sessionChallenges.userId, input.userId), isWaiting))
}
