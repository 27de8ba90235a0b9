// Users' sessions. A refresh token is never stored: it is derived from a session's id and generation.

import { and, desc, eq, gt, isNull, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { sessions } from '../schema.ts'
import type { SessionEnd } from '../words.ts'

export type SessionRow = typeof sessions.$inferSelect

export type SessionLifetimes = {
  /** How long a refresh token is valid. */
  readonly refreshSeconds: number
  /** How long after the user's proof the session ends, even if it is refreshed. */
  readonly sessionSeconds: number
}

/** When a session that is refreshed now expires. */
const endOf = (provenAt: SQL | SQLWrapper, { refreshSeconds, sessionSeconds }: SessionLifetimes): SQL =>
  sql`least(now() + make_interval(secs => ${refreshSeconds}), ${provenAt} + make_interval(secs => ${sessionSeconds}))`

export const insertSession = async (
  db: Queryable,
  input: Pick<SessionRow, 'id' | 'projectId' | 'userId' | 'way' | 'askerAddress' | 'askerDevice'> & {
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

/** A session and its user, as a token names them. The row must say the same. */
type SessionOf = Pick<SessionRow, 'id' | 'projectId' | 'userId'>

/** Which of these sessions have not ended; a prepared statement. */
export const findLiveSessions = async (db: Db, ids: readonly string[]): Promise<readonly SessionOf[]> =>
  db.prepared<SessionOf>`
    select id, project_id as "projectId", user_id as "userId"
    from public.sessions where id = any(${[...ids]}::uuid[]) and ended_at is null`

const isOf = ({ id, projectId, userId }: SessionOf) =>
  and(eq(sessions.id, id), eq(sessions.projectId, projectId), eq(sessions.userId, userId))

/** A refresh token that was shown to us. */
type Shown = Pick<SessionRow, 'projectId' | 'id' | 'generation'>

const isNotEnded = isNull(sessions.endedAt)

const isShown = ({ projectId, id }: Shown) => and(eq(sessions.projectId, projectId), eq(sessions.id, id), isNotEnded)

/** Replaces the current refresh token by the next one. @returns null if the one that was shown is not the current one. */
export const advanceSession = async (
  db: Queryable,
  input: Shown & { readonly lifetimes: SessionLifetimes },
): Promise<SessionRow | null> => {
  const end = endOf(sessions.authenticatedAt, input.lifetimes)
  // The operator may have shortened the lifetime: then the new end may be over before the old one.
  const isValid = and(gt(sessions.expiresAt, sql`now()`), gt(end, sql`now()`))
  const [row] = await db
    .update(sessions)
    .set({ generation: sql`${sessions.generation} + 1`, refreshedAt: sql`now()`, expiresAt: end })
    .where(and(isShown(input), eq(sessions.generation, input.generation), isValid))
    .returning()
  return row ?? null
}

/** The session, if the token that was shown is the last one before the current, replaced less than `graceSeconds` ago. */
export const findJustAdvanced = async (
  db: Queryable,
  input: Shown & { readonly graceSeconds: number },
): Promise<SessionRow | null> => {
  const isRecent = gt(sessions.refreshedAt, sql`now() - make_interval(secs => ${input.graceSeconds})`)
  const [row] = await db
    .select()
    .from(sessions)
    .where(and(isShown(input), eq(sessions.generation, input.generation + 1), isRecent))
  return row ?? null
}

/** Ends a session whose refresh token was used before. @returns null if it had ended, or if the token is the current one. */
export const endReusedSession = async (db: Queryable, shown: Shown): Promise<SessionRow | null> => {
  const [row] = await db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: 'reuse' })
    .where(and(isShown(shown), gt(sessions.generation, shown.generation)))
    .returning()
  return row ?? null
}

export const findSession = async (db: Queryable, session: SessionOf): Promise<SessionRow | null> => {
  const [row] = await db.select().from(sessions).where(isOf(session))
  return row ?? null
}

/** @returns null if it had ended before. */
export const endSession = async (
  db: Queryable,
  input: { readonly session: SessionOf | { readonly id: string }; readonly by: SessionEnd },
): Promise<SessionRow | null> => {
  const { session, by } = input
  const [row] = await db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: by })
    .where(and('userId' in session ? isOf(session) : eq(sessions.id, session.id), isNotEnded))
    .returning()
  return row ?? null
}

type OfUser = { readonly projectId: string; readonly userId?: string }

const ofUser = ({ projectId, userId }: OfUser) =>
  and(eq(sessions.projectId, projectId), userId === undefined ? undefined : eq(sessions.userId, userId))

/** The sessions of a user, or of all users of a project, newest first. A live one has neither ended nor expired. */
export const listSessions = async (
  db: Queryable,
  input: OfUser & { readonly isLiveOnly?: boolean; readonly limit: number },
): Promise<readonly SessionRow[]> =>
  db
    .select()
    .from(sessions)
    .where(and(ofUser(input), input.isLiveOnly ? and(isNotEnded, gt(sessions.expiresAt, sql`now()`)) : undefined))
    .orderBy(desc(sessions.createdAt), desc(sessions.id))
    .limit(input.limit)

/** Ends the sessions of a user, but not `except`. @returns those that had not ended before. */
export const endSessionsOf = async (
  db: Queryable,
  input: Required<OfUser> & { readonly except: string | null; readonly by: SessionEnd },
): Promise<readonly SessionRow[]> => {
  const isOther = input.except === null ? undefined : ne(sessions.id, input.except)
  return db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: input.by })
    .where(and(ofUser(input), isOther, isNotEnded))
    .returning()
}

/** Times are by the database's clock. */
type SessionAge = {
  readonly authenticatedAt: Date
  readonly sinceProofSeconds: number
  readonly sinceRefreshSeconds: number
}

/** Locks a session, so that it does not end before the transaction does. @returns null if it has ended. */
export const holdLiveSession = async (db: Queryable, session: SessionOf): Promise<SessionAge | null> => {
  const since = (column: SQLWrapper) => sql<number>`extract(epoch from now() - ${column})::float8`
  const [row] = await db
    .select({
      authenticatedAt: sessions.authenticatedAt,
      sinceProofSeconds: since(sessions.authenticatedAt),
      sinceRefreshSeconds: since(sessions.refreshedAt),
    })
    .from(sessions)
    .where(and(isOf(session), isNotEnded))
    .for('share')
  return row ?? null
}

export const sessionExists = async (db: Queryable, id: string): Promise<boolean> =>
  (await db.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))).length === 1
