// Users' sessions. A refresh token is never stored: it is derived from a session's id and generation.

import { and, desc, eq, gt, inArray, isNull, ne, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { endedName, insertRow, updateRows } from '../deciding-rows.ts'
import { type Given, prepare } from '../prepare.ts'
import { firstRow } from '../rows.ts'
import { sessions } from '../schema.ts'
import type { SessionEnd } from '../words.ts'
import { NotWritten, requireWritten } from '../written.ts'
import { present } from './server.ts'
import type { UserFacts } from './users.ts'

export type SessionRow = typeof sessions.$inferSelect

/** Whose session it is, how long it goes on, and which refresh token is the current one. */
export type SessionFacts = Pick<
  SessionRow,
  'id' | 'projectId' | 'userId' | 'authenticatedAt' | 'generation' | 'refreshedAt' | 'expiresAt'
>

type Checked = SessionFacts & Pick<SessionRow, 'mac'>

export const insertSession = (
  tx: Tx,
  input: SessionFacts & Pick<SessionRow, 'way' | 'askerAddress' | 'askerDevice' | 'mac'>,
): Promise<SessionRow> => insertRow(tx, sessions, input)

type SessionOf = Pick<SessionRow, 'id' | 'projectId' | 'userId'>

export const findLiveSessions = async (db: Db, ids: readonly string[]): Promise<readonly Checked[]> =>
  db.prepared<Checked>`
    select id, project_id as "projectId", user_id as "userId", authenticated_at as "authenticatedAt", generation,
      refreshed_at as "refreshedAt", expires_at as "expiresAt", mac
    from public.sessions where id = any(${[...ids]}::uuid[]) and ended_at is null`

const isOf = ({ id, projectId, userId }: SessionOf) =>
  and(eq(sessions.id, id), eq(sessions.projectId, projectId), eq(sessions.userId, userId))

type Shown = Pick<SessionRow, 'projectId' | 'id' | 'generation'>

export const usedToken = ({ id, generation }: Pick<SessionRow, 'id' | 'generation'>): string =>
  endedName('refresh_tokens', [id, generation])

const isNotEnded = isNull(sessions.endedAt)

const isShown = ({ projectId, id }: Omit<Shown, 'generation'>) =>
  and(eq(sessions.projectId, projectId), eq(sessions.id, id), isNotEnded)

/** An ended session has no MAC, so that clearing the time of its end does not revive it. */
const endRows = (db: Db | Tx, by: SessionEnd, where: SQL | undefined): Promise<readonly SessionRow[]> =>
  updateRows(db, sessions, {
    set: { endedAt: sql`now()`, endedBy: by, mac: null },
    where: and(where, isNotEnded),
    final: 'ended',
  })

type ToRefresh = {
  readonly row: Checked & Pick<SessionRow, 'createdAt'>
  readonly user: UserFacts
  readonly now: Date
}

/** A session that has not ended, with its user; a prepared statement. */
export const findSessionToRefresh = async (
  db: Db,
  { projectId, id }: Omit<Shown, 'generation'>,
): Promise<ToRefresh | null> => {
  type Flat = Omit<ToRefresh['row'], 'id' | 'projectId'> &
    Pick<UserFacts, 'email' | 'signInWallet' | 'issuer' | 'subject' | 'tokensFrom' | 'keptToken' | 'hasPasskeys'> & {
      readonly userCreatedAt: Date
      readonly userMac: Uint8Array
      readonly now: Date
    }
  const [found] = await db.prepared<Flat>`
    select s.user_id as "userId", s.created_at as "createdAt", s.authenticated_at as "authenticatedAt", s.generation,
      s.refreshed_at as "refreshedAt", s.expires_at as "expiresAt", s.mac, u.email, u.sign_in_wallet as "signInWallet",
      u.issuer, u.subject, u.tokens_from as "tokensFrom", u.kept_token as "keptToken", u.created_at as "userCreatedAt", u.mac as "userMac",
      now() as now, exists (
        select from public.passkeys p where p.project_id = u.project_id and p.user_id = u.id) as "hasPasskeys"
    from public.sessions s join public.users u on u.project_id = s.project_id and u.id = s.user_id
    where s.id = ${id}::uuid and s.project_id = ${projectId}::uuid and s.ended_at is null`
  if (found === undefined) return null
  const { userId, userCreatedAt, userMac, now } = found
  const user = { ...found, id: userId, projectId, createdAt: userCreatedAt, mac: userMac }
  return { row: { ...found, id, projectId }, user, now }
}

/**
 * Replaces the current refresh token by the next one; a prepared statement.
 * @param input.from the generation of the current one.
 * @returns false if it is not the current one any more, or if the session has ended.
 */
export const advanceSession = async (
  db: Db,
  input: Omit<Shown, 'generation'> & {
    readonly from: number
    readonly next: Pick<SessionRow, 'generation' | 'refreshedAt' | 'expiresAt' | 'mac'>
  },
) => {
  const { projectId, id, from } = input
  const { generation, refreshedAt, expiresAt, mac } = input.next
  const [row] = await db.prepared<typeof input.next>`
    update public.sessions set generation = ${generation}, refreshed_at = ${refreshedAt.toISOString()}::timestamptz,
      expires_at = ${expiresAt.toISOString()}::timestamptz, mac = ${mac}
    where id = ${id}::uuid and project_id = ${projectId}::uuid and generation = ${from} and ended_at is null
    returning generation, refreshed_at as "refreshedAt", expires_at as "expiresAt", mac`
  const session = { projectId, id }
  const meant = { generation, refreshedAt, expiresAt, mac }
  if (row !== undefined) requireWritten({ table: 'sessions', meant, returned: row })
  // Once more, after triggers: a used token that counts again is worth as much as the session.
  const now = await findSessionToRefresh(db, session)
  if (now !== null && now.row.generation <= from) throw new NotWritten('sessions', session)
  if (row === undefined || now === null) return false
  db.ended.add(usedToken({ id, generation: from }))
  return true
}

/** Ends a session whose refresh token was used before. @returns null if it had ended, or the token is current. */
export const endReusedSession = (db: Db, shown: Shown): Promise<SessionRow | null> =>
  firstRow(endRows(db, 'reuse', and(isShown(shown), gt(sessions.generation, shown.generation))))

export const findSession = (db: Queryable, session: SessionOf): Promise<SessionRow | null> =>
  firstRow(db.select().from(sessions).where(isOf(session)))

/** @returns null if it had ended before. */
export const endSession = async (
  tx: Tx,
  input: { readonly session: SessionOf | { readonly id: string }; readonly by: SessionEnd },
): Promise<SessionRow | null> => {
  const { session, by } = input
  return firstRow(endRows(tx, by, 'userId' in session ? isOf(session) : eq(sessions.id, session.id)))
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

/** Ends the live sessions that are found now: another that begins meanwhile would look like one that did not end. */
export const endLiveSessions = async (
  db: Db | Tx,
  { by, where }: { readonly by: SessionEnd; readonly where?: SQL | undefined },
): Promise<readonly SessionRow[]> => {
  const live = await db.select({ id: sessions.id }).from(sessions).where(and(where, isNotEnded))
  const ids = live.map(({ id }) => id)
  return ids.length === 0 ? [] : endRows(db, by, inArray(sessions.id, ids))
}

/** Ends the sessions of a user, but not `except`. @returns those that had not ended before. */
export const endSessionsOf = (
  tx: Tx,
  input: Required<OfUser> & { readonly except: string | null; readonly by: SessionEnd },
): Promise<readonly SessionRow[]> => {
  const isOther = input.except === null ? undefined : ne(sessions.id, input.except)
  return endLiveSessions(tx, { by: input.by, where: and(ofUser(input), isOther) })
}

const held = prepare((db, session: Given<SessionOf>) => {
  const { id, projectId, userId, authenticatedAt, generation, refreshedAt, expiresAt, mac } = sessions
  return db
    .select({ id, projectId, userId, authenticatedAt, generation, refreshedAt, expiresAt, mac, now: present })
    .from(sessions)
    .where(and(eq(id, session.id), eq(projectId, session.projectId), eq(userId, session.userId), isNotEnded))
    .for('share')
})

/** Locks a session, so that it does not end before the transaction does. @returns null if it has ended. */
export const holdLiveSession = (
  db: Queryable,
  session: SessionOf,
): Promise<(Checked & { readonly now: Date }) | null> => firstRow(held(db, session))

export const sessionExists = async (db: Queryable, id: string) =>
  (await db.select({ id: sessions.id }).from(sessions).where(eq(sessions.id, id))).length === 1
