import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { sessions } from '../schema.ts'

/** The present time by the database's clock, as a column of a select. */
export const present = sql<Date>`now()`.mapWith(sessions.createdAt)

/** The present time by the database's clock; in a transaction the time of its beginning. In whole milliseconds. */
export const readPresent = async (db: Queryable): Promise<Date> => {
  const { rows } = await db.execute<{ ms: number }>(sql`select floor(extract(epoch from now()) * 1000)::float8 as ms`)
  return new Date(rows[0]?.ms ?? Number.NaN)
}

/** The time of this moment, even within a transaction that has waited. */
export const readClock = async (db: Queryable): Promise<Date> => {
  const { rows } = await db.execute<{ ms: number }>(
    sql`select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  )
  return new Date(rows[0]?.ms ?? Number.NaN)
}

/** Whether an instant is in the future, by the database's clock. */
export const isToCome = async (db: Queryable, at: Date): Promise<boolean> => {
  const { rows } = await db.execute<{ toCome: boolean }>(
    sql`select ${at.toISOString()}::timestamptz > now() as "toCome"`,
  )
  return rows[0]?.toCome === true
}
