// The rows of the guess guard. Each statement commits by itself. Times are the database's, the clock that all processes share.

import { and, eq, lt, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { pinGuesses, userKeys } from '../../schema.ts'
import { reached, secondsOfReached, type TryLimit } from '../throttles.ts'

/** Wrong PINs in a row that lock an owner for a day, and in total that lock the owner for good. A CHECK has the same. */
const FAILS_MAX = 5
const TOTAL_MAX = 100
const LOCK_SECONDS = 24 * 60 * 60
const LEASE_SECONDS = 10

type Owner = Pick<typeof pinGuesses.$inferSelect, 'projectId' | 'ownerId'>
type Leased = Owner & { readonly lease: string }

type Charge =
  /** The lease is ours. `version` is the user key's; `locks`: the owner is locked if this guess is wrong. */
  | { readonly state: 'charged'; readonly version: number; readonly locks: boolean }
  /** Another PIN is being checked, or was checked just now. */
  | { readonly state: 'taken' }
  | { readonly state: 'locked'; readonly retryAfterSeconds: number }
  /** One of the limits is reached. */
  | { readonly state: 'spent'; readonly retryAfterSeconds: number }

const ofOwner = (input: Owner) => and(eq(pinGuesses.projectId, input.projectId), eq(pinGuesses.ownerId, input.ownerId))

const holdsLease = (input: Leased) => and(ofOwner(input), eq(pinGuesses.lease, input.lease))

const NO_LEASE = { lease: null, leaseUntil: null }

type Asked = Owner & { readonly limits: readonly TryLimit[] }

/**
 * Charges one guess and takes the owner's lease, in one statement. A charge that reaches a limit also locks the owner.
 * @param input.limits the caller's limits of wrong PINs: if one is reached, nothing is charged.
 */
export const chargeGuess = async (db: Queryable, input: Asked & Leased): Promise<Charge> => {
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
  if (row === undefined) throw new Error('An owner with a user key has no row of guesses.')
  // The lease first: the charge of the guess under way may have locked the owner, and a right PIN takes that back.
  if (row.leased) return { state: 'taken' }
  if (row.total >= TOTAL_MAX) return { state: 'locked', retryAfterSeconds: LOCK_SECONDS }
  if (row.lockedSeconds !== null && row.lockedSeconds > 0) {
    return { state: 'locked', retryAfterSeconds: row.lockedSeconds }
  }
  return { state: 'taken' }
}

/** After a right PIN: ends the lease, takes the charge back and clears `fails`. @returns false if the lease was not ours. */
export const clearGuesses = async (db: Queryable, input: Leased): Promise<boolean> => {
  const { rowCount } = await db
    .update(pinGuesses)
    .set({ fails: 0, total: sql`greatest(${pinGuesses.total} - 1, 0)`, lockedUntil: null, ...NO_LEASE })
    .where(holdsLease(input))
  return rowCount === 1
}

/** After a wrong PIN: ends the lease and keeps the charge. @returns false if the lease was not ours. */
export const keepGuess = async (db: Queryable, input: Leased): Promise<boolean> =>
  (await db.update(pinGuesses).set(NO_LEASE).where(holdsLease(input))).rowCount === 1

/** For operators: clears all wrong PINs. @returns false if there is no such owner, or the owner has no PIN. */
export const unlockGuesses = async (db: Queryable, input: Owner): Promise<boolean> => {
  const { rowCount } = await db.update(pinGuesses).set({ fails: 0, total: 0, lockedUntil: null }).where(ofOwner(input))
  return rowCount === 1
}

/** Takes the charge of a PIN that was not checked back, and ends the lease. */
export const takeBackGuess = async (db: Queryable, input: Leased): Promise<void> => {
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
