// Logins that begin on one device and are completed on another. Only hashes of codes and links are stored.

import { and, eq, getTableColumns, gt, isNotNull, isNull, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { insertRow, updateRows } from '../deciding-rows.ts'
import { firstRow } from '../rows.ts'
import { sessionChallenges } from '../schema.ts'
import { present } from './server.ts'

type FullRow = typeof sessionChallenges.$inferSelect

/** Who asks, who is logged in, and until when. */
export type SessionChallengeFacts = Pick<
  FullRow,
  | 'id'
  | 'projectId'
  | 'way'
  | 'codeHash'
  | 'linkHash'
  | 'verifierHash'
  | 'email'
  | 'userId'
  | 'askerAddress'
  | 'askerDevice'
  | 'expiresAt'
  | 'authenticatedAt'
>

export type SessionChallengeRow = FullRow & {
  readonly expired: boolean
  readonly now: Date
}

const expired = sql<boolean>`${sessionChallenges.expiresAt} <= now()`
const unexpired = gt(sessionChallenges.expiresAt, sql`now()`)
/** Completed, and no session was made from it yet. */
const isWaiting = and(isNotNull(sessionChallenges.completedAt), isNull(sessionChallenges.usedAt), unexpired)

export const insertSessionChallenge = async (
  db: Db | Tx,
  input: Omit<SessionChallengeFacts, 'authenticatedAt'> & Pick<FullRow, 'createdAt' | 'mac'>,
) => {
  await insertRow(db, sessionChallenges, input)
}

const findOne = async (db: Queryable, where: SQL | undefined): Promise<SessionChallengeRow | null> => {
  const columns = { ...getTableColumns(sessionChallenges), expired, now: present }
  return firstRow(db.select(columns).from(sessionChallenges).where(where))
}

export const findSessionChallenge = (db: Queryable, codeHash: Uint8Array): Promise<SessionChallengeRow | null> =>
  findOne(db, eq(sessionChallenges.codeHash, codeHash))

export const findMailedLink = (db: Queryable, linkHash: Uint8Array): Promise<SessionChallengeRow | null> =>
  findOne(db, eq(sessionChallenges.linkHash, linkHash))

/** A row as it was read: no other process has changed it since. */
const isAsRead = ({ id, mac }: Pick<FullRow, 'id' | 'mac'>) =>
  and(eq(sessionChallenges.id, id), mac === null ? sql`false` : eq(sessionChallenges.mac, mac), unexpired)

/** @returns false if it has expired, or was completed since it was read. */
export const completeSessionChallenge = async (
  db: Db | Tx,
  read: Pick<FullRow, 'id' | 'mac'>,
  /** `authenticatedAt`: when the user proved who they are. */
  completed: Pick<FullRow, 'userId' | 'authenticatedAt' | 'mac'>,
) => {
  const { userId, authenticatedAt, mac } = completed
  const rows = await updateRows(db, sessionChallenges, {
    set: { completedAt: sql`now()`, userId, authenticatedAt, mac },
    where: and(isAsRead(read), isNull(sessionChallenges.completedAt)),
  })
  return rows.length === 1
}

/** Uses a completed challenge up, and erases its MAC. @returns false if it has changed or expired. */
export const takeSessionChallenge = async (tx: Tx, read: Pick<FullRow, 'id' | 'mac'>) => {
  const rows = await updateRows(tx, sessionChallenges, {
    set: { usedAt: sql`now()`, mac: null },
    where: and(isAsRead(read), isWaiting),
    final: 'once',
  })
  return rows.length === 1
}

/** Expires the completed challenges of a user from which no session was made yet, and erases their MACs. */
export const endCompletedChallenges = async (
  tx: Tx,
  input: { readonly projectId: string; readonly userId: string },
) => {
  const ofUser = and(eq(sessionChallenges.projectId, input.projectId), eq(sessionChallenges.userId, input.userId))
  await updateRows(tx, sessionChallenges, {
    set: { expiresAt: sql`now()`, mac: null },
    where: and(ofUser, isWaiting),
    final: 'ended',
  })
}
