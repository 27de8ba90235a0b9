// Users' sessions. A refresh token is never stored: it follows from a session's id and generation.

import { and, desc, eq, gt, isNull, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { sessions } from '../schema.ts'
import type { LoginWay, SessionEnd } from '../words.ts'

export type SessionRow = typeof sessions.$inferSelect

export type SessionLifetimes = {
  /** How long a refresh token is good. */
  readonly refreshSeconds: number
  /** How long after its user's proof a session ends, however often it is refreshed. */
  readonly sessionSeconds: number
}

/** When a session that is refreshed now expires. */
const endOf = (provenAt: SQL | SQLWrapper, { refreshSeconds, sessionSeconds }: SessionLifetimes): SQL =>
  sql`least(now() + make_interval(secs => ${refreshSeconds}), ${provenAt} + make_interval(secs => ${sessionSeconds}))`

export const insertSession = async (
  db: Queryable,
  input: {
    readonly id: string
    readonly projectId: string
    readonly userId: string
    readonly way: LoginWay
    readonly askerAddress: string
    readonly askerDevice: string
    /** When the user proved who they are; null: just now. */
    readonly authenticatedAt: Date | null
    readonly lifetimes: SessionLifetimes
  },
): Promise<SessionRow> => {
  const { lifetimes, authenticatedAt, ...values } = input
  const provenAt = authenticatedAt === null ? sql`now()` : sql`${authenticatedAt.toISOString()}::timestamptz`
  const [row] = await db
    .insert(sessions)
    .values({ ...values, authenticatedAt: provenAt, expiresAt: endOf(provenAt, lifetimes) })
    .returning()
  if (row === undefined) throw new Error('a session was not inserted')
  return row
}

/** A session, and whose it is. What a token says of that is only believed where the row says the same. */
type SessionOf = { readonly id: string; readonly projectId: string; readonly userId: string }

/** Which of these sessions have not ended; a prepared statement. */
export const findLiveSessions = async (db: Db, ids: readonly string[]): Promise<readonly SessionOf[]> =>
  db.prepared<SessionOf>`
    select id, project_id as "projectId", user_id as "userId"
    from public.sessions where id = any(${[...ids]}::uuid[]) and ended_at is null`

const isOf = ({ id, projectId, userId }: SessionOf) =>
  and(eq(sessions.id, id), eq(sessions.projectId, projectId), eq(sessions.userId, userId))

/**
 * Makes the next refresh token the one that is due, where the one that is shown is.
 * @returns the session as it is now, or null where that token is not due (any more).
 */
export const advanceSession = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly id: string
    readonly generation: number
    readonly lifetimes: SessionLifetimes
  },
): Promise<SessionRow | null> => {
  const end = endOf(sessions.authenticatedAt, input.lifetimes)
  const [row] = await db
    .update(sessions)
    .set({
      generation: sql`${sessions.generation} + 1`,
      refreshedAt: sql`now()`,
      expiresAt: end,
    })
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        eq(sessions.id, input.id),
        eq(sessions.generation, input.generation),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, sql`now()`),
        // Where the operator has shortened the time meanwhile.
        gt(end, sql`now()`),
      ),
    )
    .returning()
  return row ?? null
}

/** The session, where the refresh token before the one that is due was used less than some seconds ago. */
export const findJustAdvanced = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly id: string
    readonly generation: number
    readonly graceSeconds: number
  },
): Promise<SessionRow | null> => {
  const [row] = await db
    .select()
    .from(sessions)
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        eq(sessions.id, input.id),
        eq(sessions.generation, input.generation + 1),
        isNull(sessions.endedAt),
        gt(sessions.refreshedAt, sql`now() - make_interval(secs => ${input.graceSeconds})`),
      ),
    )
  return row ?? null
}

/** Ends a session whose refresh token was used before. @returns it, or null where it has ended, or this token is due. */
export const endReusedSession = async (
  db: Queryable,
  input: { readonly projectId: string; readonly id: string; readonly generation: number },
): Promise<SessionRow | null> => {
  const [row] = await db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: 'reuse' })
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        eq(sessions.id, input.id),
        gt(sessions.generation, input.generation),
        isNull(sessions.endedAt),
      ),
    )
    .returning()
  return row ?? null
}

export const findSession = async (db: Queryable, session: SessionOf): Promise<SessionRow | null> => {
  const [row] = await db.select().from(sessions).where(isOf(session))
  return row ?? null
}

/** @returns the session where it had not ended before. */
export const endSession = async (
  db: Queryable,
  input: { readonly session: SessionOf | { readonly id: string }; readonly by: SessionEnd },
): Promise<SessionRow | null> => {
  const { session, by } = input
  const [row] = await db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: by })
    .where(and('userId' in session ? isOf(session) : eq(sessions.id, session.id), isNull(sessions.endedAt)))
    .returning()
  return row ?? null
}

/** For operators: the newest first. */
export const listSessions = async (
  db: Queryable,
  input: { readonly projectId: string; readonly userId?: string; readonly limit: number },
): Promise<readonly SessionRow[]> =>
  db
    .select()
    .from(sessions)
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        input.userId === undefined ? undefined : eq(sessions.userId, input.userId),
      ),
    )
    .orderBy(desc(sessions.createdAt), desc(sessions.id))
    .limit(input.limit)

/** Those of a user that have neither ended nor expired, the newest first. */
export const listLiveSessionsOf = async (
  db: Queryable,
  input: { readonly projectId: string; readonly userId: string; readonly limit: number },
): Promise<readonly SessionRow[]> =>
  db
    .select()
    .from(sessions)
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        eq(sessions.userId, input.userId),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, sql`now()`),
      ),
    )
    .orderBy(desc(sessions.createdAt), desc(sessions.id))
    .limit(input.limit)

/** @param input.except goes on; null: none does. @returns those that had not ended before. */
export const endSessionsOf = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly userId: string
    readonly except: string | null
    readonly by: SessionEnd
  },
): Promise<readonly SessionRow[]> =>
  db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: input.by })
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        eq(sessions.userId, input.userId),
        input.except === null ? undefined : ne(sessions.id, input.except),
        isNull(sessions.endedAt),
      ),
    )
    .returning()

/** How long ago a session's user proved who they are, and the session was last refreshed, by the database's clock. */
type SessionAge = {
  readonly authenticatedAt: Date
  readonly sinceProofSeconds: number
  readonly sinceRefreshSeconds: number
}

/** Sees to it that a session does not end before the transaction does. @returns null where it has ended. */
export const holdLiveSession = async (db: Queryable, session: SessionOf): Promise<SessionAge | null> => {
  const since = (column: SQLWrapper) => sql<number>`extract(epoch from now() - ${column})::float8`
  const [row] = await db
    .select({
      authenticatedAt: sessions.authenticatedAt,
      sinceProofSeconds: since(sessions.authenticatedAt),
      sinceRefreshSeconds: since(sessions.refreshedAt),
    })
    .from(sessions)
    .where(and(isOf(session), isNull(sessions.endedAt)))
    .for('share')
  return row ?? null
}

export const sessionExists = async (db: Queryable, id: string): Promise<boolean> =>
  (await db.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))).length === 1
