// The guess guard's rows. Every statement is committed by itself. Time is the database's, as processes share no other clock.

import { and, eq, lt, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { pinGuesses, userKeys } from '../../schema.ts'
import { reached, secondsOfReached, type TryLimit } from '../throttles.ts'

/** Wrong PINs in a row that lock an owner for a day, and in all that lock it for good. The table's CHECK has the same. */
const FAILS_MAX = 5
const TOTAL_MAX = 100
const LOCK_SECONDS = 24 * 60 * 60
const LEASE_SECONDS = 10

type Owner = { readonly projectId: string; readonly ownerId: string }

type Charge =
  /** The lease is ours. `version` is the user key's at this moment; `locks`: the owner stays locked if this guess is wrong. */
  | { readonly state: 'charged'; readonly version: number; readonly locks: boolean }
  /** Another verification is under way, or has just ended. */
  | { readonly state: 'taken' }
  | { readonly state: 'locked'; readonly retryAfterSeconds: number }
  /** One of the limits is reached. */
  | { readonly state: 'spent'; readonly retryAfterSeconds: number }

const ofOwner = (input: Owner) => and(eq(pinGuesses.projectId, input.projectId), eq(pinGuesses.ownerId, input.ownerId))

const holdsLease = (input: Owner & { readonly lease: string }) => and(ofOwner(input), eq(pinGuesses.lease, input.lease))

const NO_LEASE = { lease: null, leaseUntil: null }

type Asked = Owner & { readonly limits: readonly TryLimit[] }

/**
 * Charges one guess and takes the owner's lease, in one statement. A charge that reaches the limit also locks the owner.
 * @param input.limits the caller's limits of wrong PINs: where one is reached, nothing is charged.
 */
export const chargeGuess = async (db: Queryable, input: Asked & { readonly lease: string }): Promise<Charge> => {
  const lockEnded = sql`${pinGuesses.lockedUntil} <= now()`
  const fails = sql`case when ${lockEnded} then 1 else ${pinGuesses.fails} + 1 end`
  const [charged] = await db
    .update(pinGuesses)
    .set({
      fails,
      total: sql`${pinGuesses.total} + 1`,
      lockedUntil: sql`case when (${fails}) = ${FAILS_MAX} then now() + make_interval(secs => ${LOCK_SECONDS}) end`,
      lease: input.lease,
      leaseUntil: sql`now() + make_interval(secs => ${LEASE_SECONDS})`,
    })
    .where(
      and(
        ofOwner(input),
        sql`coalesce(${pinGuesses.leaseUntil} <= now(), true)`,
        sql`coalesce(${lockEnded}, ${lt(pinGuesses.fails, FAILS_MAX)})`,
        lt(pinGuesses.total, TOTAL_MAX),
        input.limits.length === 0 ? undefined : sql`${reached(input.limits)} is null`,
      ),
    )
    .returning({
      version: sql<number>`(select version from ${userKeys} where project_id = ${input.projectId} and owner_id = ${input.ownerId})`,
      locks: sql<boolean>`${pinGuesses.fails} = ${FAILS_MAX} or ${pinGuesses.total} = ${TOTAL_MAX}`,
    })
  return charged === undefined ? whyNotCharged(db, input) : { state: 'charged', ...charged }
}

const whyNotCharged = async (db: Queryable, input: Asked): Promise<Charge> => {
  const retryAfterSeconds = await secondsOfReached(db, input.limits)
  if (retryAfterSeconds !== null) return { state: 'spent', retryAfterSeconds: Math.max(1, retryAfterSeconds) }
  const [row] = await db
    .select({
      leased: sql<boolean>`coalesce(${pinGuesses.leaseUntil} > now(), false)`,
      lockedSeconds: sql<number | null>`ceil(extract(epoch from ${pinGuesses.lockedUntil} - now()))::int`,
      total: pinGuesses.total,
    })
    .from(pinGuesses)
    .where(ofOwner(input))
  if (row === undefined) throw new Error('an owner with a user key has no row of guesses')
  // The lease first: the guess under way may have locked the owner by its charge, and unlocks it if it is right.
  if (row.leased) return { state: 'taken' }
  if (row.total >= TOTAL_MAX) return { state: 'locked', retryAfterSeconds: LOCK_SECONDS }
  if (row.lockedSeconds !== null && row.lockedSeconds > 0) {
    return { state: 'locked', retryAfterSeconds: row.lockedSeconds }
  }
  return { state: 'taken' }
}

/** A right PIN: ends the lease, forgets those wrong in a row, and takes the charge back. @returns whether the lease was ours. */
export const clearGuesses = async (db: Queryable, input: Owner & { readonly lease: string }): Promise<boolean> => {
  const rows = await db
    .update(pinGuesses)
    .set({ fails: 0, total: sql`greatest(${pinGuesses.total} - 1, 0)`, lockedUntil: null, ...NO_LEASE })
    .where(holdsLease(input))
    .returning({ total: pinGuesses.total })
  return rows.length === 1
}

/** A wrong PIN: ends the lease and keeps the charge. @returns whether the lease was ours. */
export const keepGuess = async (db: Queryable, input: Owner & { readonly lease: string }): Promise<boolean> => {
  const rows = await db.update(pinGuesses).set(NO_LEASE).where(holdsLease(input)).returning({ total: pinGuesses.total })
  return rows.length === 1
}

/** Forgets all wrong PINs, for operators. @returns whether there is such an owner with a PIN. */
export const unlockGuesses = async (db: Queryable, input: Owner): Promise<boolean> => {
  const rows = await db
    .update(pinGuesses)
    .set({ fails: 0, total: 0, lockedUntil: null })
    .where(ofOwner(input))
    .returning({ total: pinGuesses.total })
  return rows.length === 1
}

/** Undoes the charge of a PIN that was not checked, and ends the lease. */
export const takeBackGuess = async (db: Queryable, input: Owner & { readonly lease: string }): Promise<void> => {
  await db
    .update(pinGuesses)
    .set({
      fails: sql`greatest(${pinGuesses.fails} - 1, 0)`,
      total: sql`greatest(${pinGuesses.total} - 1, 0)`,
      lockedUntil: null,
      ...NO_LEASE,
    })
    .where(holdsLease(input))
}
