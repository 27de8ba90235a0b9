// Logins that begin on one device and are completed on another. Only hashes of codes and links are stored.

import { and, eq, getTableColumns, gt, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { sessionChallenges } from '../schema.ts'

export type SessionChallengeRow = typeof sessionChallenges.$inferSelect & {
  /** By the database's clock. */
  readonly expired: boolean
}

const expired = sql<boolean>`${sessionChallenges.expiresAt} <= now()`
const unexpired = gt(sessionChallenges.expiresAt, sql`now()`)
/** Completed, and no session was made from it yet. */
const isWaiting = and(isNotNull(sessionChallenges.completedAt), isNull(sessionChallenges.usedAt), unexpired)

export const insertSessionChallenge = async (
  db: Queryable,
  input: Pick<SessionChallengeRow, 'id' | 'projectId' | 'codeHash' | 'askerAddress' | 'askerDevice'> & {
    readonly lifetimeSeconds: number
    /** The mailed link, and the user whom it logs in. */
    readonly link?: { readonly linkHash: Uint8Array; readonly email: string; readonly userId: string }
  },
): Promise<void> => {
  const { lifetimeSeconds, link, ...values } = input
  const expiresAt = sql`now() + make_interval(secs => ${lifetimeSeconds})`
  await db.insert(sessionChallenges).values({ ...values, ...link, expiresAt })
}

const findOne = async (db: Queryable, where: SQL | undefined): Promise<SessionChallengeRow | null> => {
  const columns = { ...getTableColumns(sessionChallenges), expired }
  const [row] = await db.select(columns).from(sessionChallenges).where(where)
  return row ?? null
}

export const findSessionChallenge = (db: Queryable, codeHash: Uint8Array): Promise<SessionChallengeRow | null> =>
  findOne(db, eq(sessionChallenges.codeHash, codeHash))

export const findMailedLink = (db: Queryable, linkHash: Uint8Array): Promise<SessionChallengeRow | null> =>
  findOne(db, eq(sessionChallenges.linkHash, linkHash))

type OfProject = Pick<SessionChallengeRow, 'projectId' | 'codeHash'>

const ofProject = ({ projectId, codeHash }: OfProject) =>
  and(eq(sessionChallenges.codeHash, codeHash), eq(sessionChallenges.projectId, projectId))

/** @returns false if it has expired or was completed before, belongs to another project, or is for a mailed link. */
export const completeSessionChallenge = async (
  db: Queryable,
  /** `authenticatedAt`: when the user proved who they are. */
  input: OfProject & { readonly userId: string; readonly authenticatedAt: Date },
): Promise<boolean> => {
  const { userId, authenticatedAt } = input
  const isOpen = and(isNull(sessionChallenges.linkHash), isNull(sessionChallenges.completedAt), unexpired)
  const { rowCount } = await db
    .update(sessionChallenges)
    .set({ completedAt: sql`now()`, userId, authenticatedAt })
    .where(and(ofProject(input), isOpen))
  return rowCount === 1
}

/** Opening a mail proves the user. @returns false if the link has expired or was opened before. */
export const completeMailedLink = async (db: Queryable, linkHash: Uint8Array): Promise<boolean> => {
  const { rowCount } = await db
    .update(sessionChallenges)
    .set({ completedAt: sql`now()`, authenticatedAt: sql`now()` })
    .where(and(eq(sessionChallenges.linkHash, linkHash), isNull(sessionChallenges.completedAt), unexpired))
  return rowCount === 1
}

/** Uses a completed challenge up. @returns the user to log in, or null if it is not completed, was used, or has expired. */
export const takeSessionChallenge = async (
  tx: Tx,
  input: OfProject,
): Promise<{ readonly userId: string; readonly email: string | null; readonly authenticatedAt: Date } | null> => {
  const [row] = await tx
    .update(sessionChallenges)
    .set({ usedAt: sql`now()` })
    .where(and(ofProject(input), isWaiting))
    .returning()
  if (row === undefined || row.userId === null || row.authenticatedAt === null) return null
  return { userId: row.userId, email: row.email, authenticatedAt: row.authenticatedAt }
}

/** Expires the completed challenges of a user from which no session was made yet. */
export const endCompletedChallenges = async (
  db: Queryable,
  input: { readonly projectId: string; readonly userId: string },
): Promise<void> => {
  await db
    .update(sessionChallenges)
    .set({ expiresAt: sql`now()` })
    .where(and(eq(sessionChallenges.projectId, input.projectId), eq(sessionChallenges.userId, input.userId), isWaiting))
}
