// The rows of the guess guard. Each statement commits by itself. Times are the database's, the clock that all processes share.
// What is written comes with its MAC, and only if the row has not changed since it was read: the revision says so.

import { and, asc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { pinGuesses, userKeys } from '../../schema.ts'
import { reached, type TryLimit } from '../throttles.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage, requireImage } from './proofs.ts'

const LEASE_SECONDS = 10

type PinGuesses = typeof pinGuesses.$inferSelect
type Owner = Pick<PinGuesses, 'projectId' | 'ownerId'>

/** What the MAC covers. */
export type GuessCount = Pick<PinGuesses, 'projectId' | 'ownerId' | 'fails' | 'total' | 'lockedUntil' | 'revision'>
export type GuessesRow = GuessCount & Pick<PinGuesses, 'mac'>

const ofOwner = (input: Owner) => and(eq(pinGuesses.projectId, input.projectId), eq(pinGuesses.ownerId, input.ownerId))

const joined = and(eq(pinGuesses.projectId, userKeys.projectId), eq(pinGuesses.ownerId, userKeys.ownerId))

const NO_LEASE = { lease: null, leaseUntil: null }

type ReadGuesses = {
  /** null if an owner has a user key and no such row. */
  readonly row: PinGuesses | null
  readonly now: Date
  readonly isLeased: boolean
  /** The user key's. */
  readonly version: number
  /** The longest time until a reached limit ends; null if none is reached. */
  readonly limitSeconds: number | null
}

/** @returns null if the owner has no user key. */
export const readGuesses = async (
  db: Queryable,
  input: Owner & { readonly limits: readonly TryLimit[] },
): Promise<ReadGuesses | null> => {
  const [read] = await db
    .select({
      row: getTableColumns(pinGuesses),
      // To the millisecond, as the MAC has its times.
      now: sql`date_trunc('milliseconds', clock_timestamp())`.mapWith(pinGuesses.lockedUntil),
      isLeased: sql<boolean>`coalesce(${pinGuesses.leaseUntil} > now(), false)`,
      version: userKeys.version,
      limitSeconds: input.limits.length === 0 ? sql<null>`null` : (reached(input.limits) as SQL<number | null>),
    })
    .from(userKeys)
    .leftJoin(pinGuesses, joined)
    .where(and(eq(userKeys.projectId, input.projectId), eq(userKeys.ownerId, input.ownerId)))
  return read ?? null
}

/** Keeps the owner's row, if there is one, as it is until the transaction ends. */
export const lockGuesses = async (tx: Tx, owner: Owner): Promise<void> => {
  await tx.select({ revision: pinGuesses.revision }).from(pinGuesses).where(ofOwner(owner)).for('update')
}

/** `was`: the revision of the row that it follows on. */
export type NextGuesses = GuessesRow & { readonly was: number }

/** The row is the one that was read. */
const isNext = (row: NextGuesses) => and(ofOwner(row), eq(pinGuesses.revision, row.was))

const countOf = ({ fails, total, lockedUntil, revision, mac }: GuessesRow) => ({
  fails,
  total,
  lockedUntil,
  revision,
  mac,
})

const keyOf = ({ projectId, ownerId }: Owner): Owner => ({ projectId, ownerId })

type Leased = { readonly lease: string }

/** Writes a charged count and takes the lease. @returns null if the count has changed, or is leased. @throws NotWritten */
export const writeCharge = async (db: Queryable, { lease, ...row }: NextGuesses & Leased): Promise<RowImage | null> => {
  const meant = { ...keyOf(row), ...countOf(row), lease }
  const written = await db
    .update(pinGuesses)
    .set({ ...countOf(row), lease, leaseUntil: sql`now() + make_interval(secs => ${LEASE_SECONDS})` })
    .where(and(isNext(row), sql`coalesce(${pinGuesses.leaseUntil} <= now(), true)`))
    .returning(proofOf(pinGuesses, meant))
  return provenImage(pinGuesses, meant, written)
}

/** Writes a count and ends the lease. @returns null if the count has changed, or the lease is not this one. @throws NotWritten */
export const writeReleased = async (
  db: Queryable,
  { lease, ...row }: NextGuesses & Leased,
): Promise<RowImage | null> => {
  const meant = { ...keyOf(row), ...countOf(row) }
  const written = await db
    .update(pinGuesses)
    .set({ ...countOf(row), ...NO_LEASE })
    .where(and(isNext(row), eq(pinGuesses.lease, lease)))
    .returning(proofOf(pinGuesses, meant))
  return provenImage(pinGuesses, meant, written)
}

/** Ends the lease and keeps the count. @returns false if the lease is not this one. */
export const endLease = async (db: Queryable, input: Owner & Leased): Promise<boolean> => {
  const { rowCount } = await db
    .update(pinGuesses)
    .set(NO_LEASE)
    .where(and(ofOwner(input), eq(pinGuesses.lease, input.lease)))
  return rowCount === 1
}

/** Writes a count whatever was there; a row that is gone is made again. @throws NotWritten */
export const replaceGuesses = async (db: Queryable, row: GuessesRow): Promise<RowImage> => {
  const written = await db
    .insert(pinGuesses)
    .values(row)
    .onConflictDoUpdate({ target: [pinGuesses.projectId, pinGuesses.ownerId], set: countOf(row) })
    .returning(proofOf(pinGuesses, row))
  return requireImage(pinGuesses, row, written)
}

/** Owners with a user key after `after`, in order, each with its count; null if that row is gone. */
export const listGuesses = (
  db: Queryable,
  input: { readonly projectId: string | null; readonly after: Owner | null; readonly limit: number },
): Promise<readonly (Owner & { readonly row: GuessesRow | null })[]> => {
  const { projectId, after, limit } = input
  return db
    .select({ projectId: userKeys.projectId, ownerId: userKeys.ownerId, row: getTableColumns(pinGuesses) })
    .from(userKeys)
    .leftJoin(pinGuesses, joined)
    .where(
      and(
        projectId === null ? undefined : eq(userKeys.projectId, projectId),
        after === null
          ? undefined
          : sql`(${userKeys.projectId}, ${userKeys.ownerId}) > (${after.projectId}::uuid, ${after.ownerId}::text)`,
      ),
    )
    .orderBy(asc(userKeys.projectId), asc(userKeys.ownerId))
    .limit(limit)
}
