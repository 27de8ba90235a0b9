// The rows of the guess guard. Each statement commits by itself. Times are the database's, the clock that all processes
// share. What is written comes with its MAC, and only if the row has not changed since it was read: the revision says
// so.

import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { eqIfGiven } from '../../rows.ts'
import { pinGuesses, userKeys } from '../../schema.ts'
import type { TryLimit } from '../throttles.ts'
import type { RowImage } from './journal.ts'
import type { Page } from './locks.ts'
import { proofOf, provenImage, requireImage } from './proofs.ts'

const LEASE_SECONDS = 10

type PinGuesses = typeof pinGuesses.$inferSelect
type Owner = Pick<PinGuesses, 'projectId' | 'ownerId'>

/** What the MAC covers. */
export type GuessCount = Pick<PinGuesses, 'projectId' | 'ownerId' | 'fails' | 'total' | 'lockedUntil' | 'revision'>
export type GuessesRow = GuessCount & Pick<PinGuesses, 'mac'>

const ofOwner = (input: Owner) => and(eq(pinGuesses.projectId, input.projectId), eq(pinGuesses.ownerId, input.ownerId))

const joined = and(eq(pinGuesses.projectId, userKeys.projectId), eq(pinGuesses.ownerId, userKeys.ownerId))

type LeasedRow = GuessesRow & Pick<PinGuesses, 'lease'>

type ReadGuesses = {
  /** null if an owner has a user key and no such row. */
  readonly row: LeasedRow | null
  readonly now: Date
  readonly isLeased: boolean
  /** The user key's. */
  readonly version: number
  /** The longest time until a reached limit ends; null if none is reached. */
  readonly limitSeconds: number | null
}

type Read = Omit<LeasedRow, 'revision'> & { readonly revision: string | null } & Omit<ReadGuesses, 'row'>

/** A prepared statement. Its clock has milliseconds, as the MAC's times. @returns null if the owner has no user key. */
export const readGuesses = async (
  db: Db,
  { projectId, ownerId, limits }: Owner & { readonly limits: readonly TryLimit[] },
): Promise<ReadGuesses | null> => {
  const [keys, tries] = [limits.map(({ key }) => key), limits.map(({ max }) => max)]
  const [read] = await db.prepared<Read>`
    select u.project_id as "projectId", u.owner_id as "ownerId", g.fails, g.total, g.locked_until as "lockedUntil", g.revision,
      g.mac, g.lease, date_trunc('milliseconds', clock_timestamp()) as now, coalesce(g.lease_until > now(), false) as "isLeased",
      u.version, (select ceil(max(extract(epoch from t.window_ends_at - now())))::int
        from public.throttles t join unnest(${keys}::bytea[], ${tries}::int[]) as l(key, tries) on t.key = l.key
        where t.tries >= l.tries and t.window_ends_at > now()) as "limitSeconds"
    from public.user_keys u left join public.pin_guesses g on g.project_id = u.project_id and g.owner_id = u.owner_id
    where u.project_id = ${projectId} and u.owner_id = ${ownerId}`
  if (read === undefined) return null
  const { now, isLeased, version, limitSeconds, revision, ...guesses } = read
  const row = revision === null ? null : { ...guesses, revision: Number(revision) }
  return { row, now, isLeased, version, limitSeconds }
}

/** Reads the same, and keeps the owner's row, if there is one, as it is until the transaction ends. */
export const lockGuesses = async (tx: Tx, owner: Owner): Promise<Pick<ReadGuesses, 'row' | 'version'> | null> => {
  const [row = null] = await tx.select().from(pinGuesses).where(ofOwner(owner)).for('update')
  const isOfOwner = and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId))
  const [key] = await tx.select({ version: userKeys.version }).from(userKeys).where(isOfOwner)
  return key === undefined ? null : { row, version: key.version }
}

export type NextGuesses = GuessesRow & { readonly was: number }

type Leased = { readonly lease: string }

/** `revision` is in digits, as a prepared statement returns it. */
type Written = Omit<LeasedRow, 'revision'> & { readonly revision: string; readonly image: string }

const imageIn = ([row]: readonly Written[], meant: LeasedRow): RowImage | null =>
  provenImage(pinGuesses, meant, row === undefined ? [] : [{ ...row, revision: Number(row.revision) }])

/** Takes the lease; a prepared statement. @returns null if the count has changed, or is leased. @throws NotWritten */
export const writeCharge = async (db: Db, { lease, was, ...row }: NextGuesses & Leased): Promise<RowImage | null> => {
  const written = await db.prepared<Written>`
    update public.pin_guesses
    set fails = ${row.fails}, total = ${row.total}, locked_until = ${row.lockedUntil?.toISOString() ?? null},
      revision = ${row.revision}, mac = ${row.mac}, lease = ${lease},
      lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
    where project_id = ${row.projectId} and owner_id = ${row.ownerId} and revision = ${was}
      and coalesce(lease_until <= now(), true)
    returning project_id as "projectId", owner_id as "ownerId", fails, total, locked_until as "lockedUntil", revision, mac, lease,
      (pg_catalog.to_jsonb(pin_guesses) - 'lease'::text - 'lease_until'::text)::text as image`
  return imageIn(written, { ...row, lease })
}

/** Ends the lease; a prepared statement. @returns null if the count or the lease has changed. @throws NotWritten */
export const writeReleased = async (db: Db, { lease, was, ...row }: NextGuesses & Leased): Promise<RowImage | null> => {
  const written = await db.prepared<Written>`
    update public.pin_guesses
    set fails = ${row.fails}, total = ${row.total}, locked_until = ${row.lockedUntil?.toISOString() ?? null},
      revision = ${row.revision}, mac = ${row.mac}, lease = null, lease_until = null
    where project_id = ${row.projectId} and owner_id = ${row.ownerId} and revision = ${was} and lease = ${lease}
    returning project_id as "projectId", owner_id as "ownerId", fails, total, locked_until as "lockedUntil", revision, mac, lease,
      (pg_catalog.to_jsonb(pin_guesses) - 'lease'::text - 'lease_until'::text)::text as image`
  return imageIn(written, { ...row, lease: null })
}

/** Ends the lease and keeps the count; a prepared statement. @returns false if the lease is not this one. */
export const endLease = async (db: Db, { projectId, ownerId, lease }: Owner & Leased) => {
  const ended = await db.prepared`
    update public.pin_guesses set lease = null, lease_until = null
    where project_id = ${projectId} and owner_id = ${ownerId} and lease = ${lease}
    returning 1`
  return ended.length === 1
}

/** Writes a count whatever was there; a row that is gone is made again. @throws NotWritten */
export const replaceGuesses = async (db: Queryable, row: GuessesRow): Promise<RowImage> => {
  const { projectId: _, ownerId: __, ...set } = row
  const written = await db
    .insert(pinGuesses)
    .values(row)
    .onConflictDoUpdate({ target: [pinGuesses.projectId, pinGuesses.ownerId], set })
    .returning(proofOf(pinGuesses, row))
  return requireImage(pinGuesses, row, written)
}

/** Owners with a user key after `after`, in order, each with its count; null if that row is gone. */
export const listGuesses = (
  db: Queryable,
  { projectId, after, limit }: Page<Owner>,
): Promise<readonly (Owner & { readonly row: GuessesRow | null })[]> =>
  db
    .select({ projectId: userKeys.projectId, ownerId: userKeys.ownerId, row: getTableColumns(pinGuesses) })
    .from(userKeys)
    .leftJoin(pinGuesses, joined)
    .where(
      and(
        eqIfGiven(userKeys.projectId, projectId),
        after === null
          ? undefined
          : sql`(${userKeys.projectId}, ${userKeys.ownerId}) > (${after.projectId}::uuid, ${after.ownerId}::text)`,
      ),
    )
    .orderBy(asc(userKeys.projectId), asc(userKeys.ownerId))
    .limit(limit)
