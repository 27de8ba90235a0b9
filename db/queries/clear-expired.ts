import { sql } from 'drizzle-orm'
import type { Db } from '../client.ts'

/** Deletes the rows of a table that are over, as the table's file in db/schema says. @returns how many. */
export const clearExpired = async (db: Db, table: string): Promise<number> => {
  const { rows } = await db.execute<{ cleared: number }>(
    sql`select public.strongroom_clear_expired(${table}) as cleared`,
  )
  return rows[0]?.cleared ?? 0
}
