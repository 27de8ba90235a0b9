import { sql } from 'drizzle-orm'
import type { Db } from '../client.ts'

/**
 * Writes about a megabyte to the database's disk for a moment: the rows do not fit into this memory, so PostgreSQL puts them into
 * a temporary file. It needs no right on a table, and leaves nothing behind. Without space it fails (`databaseTrouble`: full).
 */
export const tryDisk = (db: Db): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.execute(sql`set local work_mem = '64kB'`)
    await tx.execute(sql`select count(*) from generate_series(1, 60000)`)
  })
