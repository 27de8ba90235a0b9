// Users' sessions. A refresh token is never stored: it follows from a session's id and generation.

import { and, desc, eq, gt, isNull, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { sessions } from '../schema.ts'
import type { LoginWay, SessionEnd } from '../words.ts'

export type SessionRow = typeof sessions.$inferSelect

export const insertSession = async (
  db: Queryable,
  input: {
    readonly id: string
    readonly projectId: string
    readonly userId: string
    readonly way: LoginWay
    readonly askerAddress: string
    readonly askerDevice: string
    readonly lifetimeSeconds: number
  },
): Promise<SessionRow> => {
  const { lifetimeSeconds, ...values } = input
  const [row] = await db
    .insert(sessions)
    .values({ ...values, expiresAt: sql`now() + make_interval(secs => ${lifetimeSeconds})` })
    .returning()
  if (row === undefined) throw new Error('a session was not inserted')
  return row
}

/** A session, and whose it is. What a token says of that is only believed where the row says the same. */
export type SessionOf = { readonly id: string; readonly projectId: string; readonly userId: string }

/** Which of these sessions have not ended; a prepared statement. */
export const findLiveSessions = async (db: Db, ids: readonly string[]): Promise<readonly SessionOf[]> =>
  db.prepared<SessionOf[]>`
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
    readonly lifetimeSeconds: number
  },
): Promise<SessionRow | null> => {
  const [row] = await db
    .update(sessions)
    .set({
      generation: sql`${sessions.generation} + 1`,
      refreshedAt: sql`now()`,
      expiresAt: sql`now() + make_interval(secs => ${input.lifetimeSeconds})`,
    })
    .where(
      and(
        eq(sessions.projectId, input.projectId),
        eq(sessions.id, input.id),
        eq(sessions.generation, input.generation),
        isNull(sessions.endedAt),
        gt(sessions.expiresAt, sql`now()`),
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

/** @returns those that had not ended before. */
export const endSessionsOf = async (
  db: Queryable,
  input: { readonly projectId: string; readonly userId: string; readonly by: SessionEnd },
): Promise<readonly SessionRow[]> =>
  db
    .update(sessions)
    .set({ endedAt: sql`now()`, endedBy: input.by })
    .where(and(eq(sessions.projectId, input.projectId), eq(sessions.userId, input.userId), isNull(sessions.endedAt)))
    .returning()

/** Sees to it that a session does not end before the transaction does. @returns false where it has ended. */
export const holdLiveSession = async (tx: Tx, session: SessionOf): Promise<boolean> => {
  const rows = await tx
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(isOf(session), isNull(sessions.endedAt)))
    .for('share')
  return rows.length === 1
}

export const sessionExists = async (db: Queryable, id: string): Promise<boolean> =>
  (await db.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))).length === 1
