// Users' sessions. A refresh token is never stored: it is derived from a session's id and generation.

import { and, desc, eq, getTableColumns, gt, isNull, ne, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { sessions, users } from '../schema.ts'
import type { SessionEnd } from '../words.ts'
import { hasPasskeys, type UserFacts } from './users.ts'

export type SessionRow = typeof sessions.$inferSelect

/** Whose session it is, how long it goes on, and which refresh token is the current one. */
export type SessionFacts = Pick<
  SessionRow,
  'id' | 'projectId' | 'userId' | 'authenticatedAt' | 'generation' | 'refreshedAt' | 'expiresAt'
>

type Checked = SessionFacts & Pick<SessionRow, 'mac'>

export const insertSession = async (
  db: Queryable,
  input: SessionFacts & Pick<SessionRow, 'way' | 'askerAddress' | 'askerDevice' | 'mac'>,
): Promise<SessionRow> => {
  const [row] = await db.insert(sessions).values(input).returning()
  if (row === undefined) throw new Error('a session was not inserted')
  return row
}

/** A session and its user, as a token names them. The row must say the same. */
type SessionOf = Pick<SessionRow, 'id' | 'projectId' | 'userId'>

/** Which of these sessions have not ended; a prepared statement. */
export const findLiveSessions = async (db: Db, ids: readonly string[]): Promise<readonly Checked[]> =>
  db.prepared<Checked>`
    select id, project_id as "projectId", user_id as "userId", authenticated_at as "authenticatedAt", generation,
      refreshed_at as "refreshedAt", expires_at as "expiresAt", mac
    from public.sessions where id = any(${[...ids]}::uuid[]) and ended_at is null`

const isOf = ({ id, projectId, userId }: SessionOf) =>
  and(eq(sessions.id, id), eq(sessions.projectId, projectId), eq(sessions.userId, userId))

/** A refresh token that was shown to us. */
type Shown = Pick<SessionRow, 'projectId' | 'id' | 'generation'>

const isNotEnded = isNull(sessions.endedAt)

const isShown = ({ projectId, id }: Omit<Shown, 'generation'>) =>
  and(eq(sessions.projectId, projectId), eq(sessions.id, id), isNotEnded)

/** An ended session has no MAC: so nobody revives it by clearing the time of its end. */
const endedBy = (by: SessionEnd) => ({ endedAt: sql`now()`, endedBy: by, mac: null })

/** By the database's clock. */
const present = sql<Date>`now()`.mapWith(sessions.refreshedAt)

/** A session that has not ended, with its user. */
export const findSessionToRefresh = async (
  db: Queryable,
  shown: Omit<Shown, 'generation'>,
): Promise<{ readonly row: SessionRow; readonly user: UserFacts; readonly now: Date } | null> => {
  const isItsUser = and(eq(users.projectId, sessions.projectId), eq(users.id, sessions.userId))
  const [found] = await db
    .select({ row: getTableColumns(sessions), user: { ...getTableColumns(users), hasPasskeys }, now: present })
    .from(sessions)
    .innerJoin(users, isItsUser)
    .where(isShown(shown))
  return found ?? null
}

/**
 * Replaces the current refresh token by the next one.
 * @param input.from the generation of the current one.
 * @returns false if it is not the current one any more, or if the session has ended.
 */
export const advanceSession = async (
  db: Queryable,
  input: Omit<Shown, 'generation'> & {
    readonly from: number
    readonly next: Pick<SessionRow, 'generation' | 'refreshedAt' | 'expiresAt' | 'mac'>
  },
): Promise<boolean> => {
  const { generation, refreshedAt, expiresAt, mac } = input.next
  const { rowCount } = await db
    .update(sessions)
    .set({ generation, refreshedAt, expiresAt, mac })
    .where(and(isShown(input), eq(sessions.generation, input.from)))
  return rowCount === 1
}

/** Ends a session whose refresh token was used before. @returns null if it had ended, or if the token is the current one. */
export const endReusedSession = async (db: Queryable, shown: Shown): Promise<SessionRow | null> => {
  const [row] = await db
    .update(sessions)
    .set(endedBy('reuse'))
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
    .set(endedBy(by))
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
    .set(endedBy(input.by))
    .where(and(ofUser(input), isOther, isNotEnded))
    .returning()
}

/** Locks a session, so that it does not end before the transaction does. @returns null if it has ended. */
export const holdLiveSession = async (
  db: Queryable,
  session: SessionOf,
): Promise<(Checked & { readonly now: Date }) | null> => {
  const { id, projectId, userId, authenticatedAt, generation, refreshedAt, expiresAt, mac } = sessions
  const facts = { id, projectId, userId, authenticatedAt, generation, refreshedAt, expiresAt, mac }
  const [row] = await db
    .select({ ...facts, now: present })
    .from(sessions)
    .where(and(isOf(session), isNotEnded))
    .for('share')
  return row ?? null
}

export const sessionExists = async (db: Queryable, id: string): Promise<boolean> =>
  (await db.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))).length === 1
