import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'

export type Connections = {
  /** How many the server has for users without special rights. */
  readonly usable: number
  /** How many of these nobody has taken. */
  readonly free: number
}

/** Counts the connections of PostgreSQL. */
export const readConnections = async (db: Queryable): Promise<Connections> => {
  // Of others' connections a role sees little more than who has them. `reserved_connections` is new in PostgreSQL 16.
  const { rows } = await db.execute<Connections>(sql`
    select usable, usable - (select count(*)::int from pg_stat_activity where usesysid is not null) as free
    from (
      select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int as usable
    ) settings`)
  const [row] = rows
  if (row === undefined) throw new Error('The database returned no settings.')
  return row
}

/** Is answered when a statement that finds a connection is. */
export const beAnswered = async (db: Queryable): Promise<void> => {
  await db.execute(sql`select`)
}
