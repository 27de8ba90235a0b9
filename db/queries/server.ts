// The PostgreSQL server: its clock, its connections, its disk, and how it is set up.

import { getTableColumns, getTableName, is, sql } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import type { Db, Queryable } from '../client.ts'
import { firstRow, readRows, readValue } from '../rows.ts'
import * as schema from '../schema.ts'
import { readOnlyError } from '../trouble.ts'

/** The present time by the database's clock, as a column of a select. */
export const present = sql<Date>`now()`.mapWith(schema.sessions.createdAt)

/** The present time by the database's clock; in a transaction the time of its beginning. In whole milliseconds. */
export const readPresent = async (db: Queryable): Promise<Date> => {
  const ms = await readValue<number>(db)`select floor(extract(epoch from now()) * 1000)::float8`
  return new Date(ms ?? Number.NaN)
}

/** The time of this moment, even within a transaction that has waited. */
export const readClock = async (db: Queryable): Promise<Date> => {
  const ms = await readValue<number>(db)`select floor(extract(epoch from clock_timestamp()) * 1000)::float8`
  return new Date(ms ?? Number.NaN)
}

/** Whether an instant is in the future, by the database's clock. */
export const isInFuture = async (db: Queryable, at: Date) =>
  (await readValue<boolean>(db)`select ${at.toISOString()}::timestamptz > now()`) === true

/** All columns of this version, as `table.column`. */
const EXPECTED: readonly string[] = Object.values(schema)
  .filter((each) => is(each, PgTable))
  .flatMap((table) => Object.values(getTableColumns(table)).map(({ name }) => `${getTableName(table)}.${name}`))

/**
 * The columns that this version uses and the database does not have, sorted: the database is older than the code, or so
 * much newer that it lost them. Reads only the catalogue, which every role may read, also before the first migration.
 * @throws Error with the code 25006 if nothing can be written there
 */
export const missingColumns = async (db: Queryable): Promise<readonly string[]> => {
  const { rows } = await db.execute<{ missing: string[]; isReadOnly: boolean }>(sql`
    select array(
      select name from unnest(${sql.param(EXPECTED)}::text[]) name
      where not exists (
        select from pg_class relation join pg_attribute attribute on attribute.attrelid = relation.oid
        where relation.relnamespace = to_regnamespace('public')
          and relation.relname = split_part(name, '.', 1) and relation.relkind in ('r', 'p')
          and attribute.attname = split_part(name, '.', 2) and attribute.attnum > 0 and not attribute.attisdropped
      )
      order by name
    ) as missing, pg_is_in_recovery() or current_setting('transaction_read_only')::bool as "isReadOnly"`)
  if (rows[0]?.isReadOnly !== false) throw readOnlyError()
  return rows[0].missing
}

/**
 * Writes about a megabyte to the database's disk for a moment: the rows do not fit into this memory, so PostgreSQL puts
 * them into a temporary file. It needs no right on a table, and leaves nothing behind. Without space it fails
 * (`databaseTrouble`: full).
 */
export const tryDisk = (db: Db) =>
  db.transaction(async (tx) => {
    await tx.execute(sql`set local work_mem = '64kB'`)
    await tx.execute(sql`select count(*) from generate_series(1, 60000)`)
  })

export type Connections = {
  /** How many the server has for users without special rights. */
  readonly usable: number
  /** How many of these no session has taken. */
  readonly free: number
}

export const readConnections = async (db: Queryable): Promise<Connections> => {
  // A role sees only the owners of other connections. `reserved_connections` is new in PostgreSQL 16.
  const [row] = await readRows<Connections>(db)`
    select usable, usable - (select count(*)::int from pg_stat_activity where usesysid is not null) as free
    from (
      select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int as usable
    ) settings`
  if (row === undefined) throw new Error('The database returned no settings.')
  return row
}

/** Is answered when a statement that finds a connection is. */
export const waitForAnswer = async (db: Queryable) => {
  await db.execute(sql`select`)
}

export type Server = {
  /** `server_version_num`: 150004 for 15.4. */
  readonly version: number
  readonly isEncrypted: boolean
  /** Whether this connection is by a Unix socket, or from the server's own address. */
  readonly isOnThisMachine: boolean
  readonly user: string
  readonly isSuperuser: boolean
  readonly ownsDatabase: boolean
  /** Whether it is a member of the role that it should have. */
  readonly hasRole: boolean
  /** The settings that are off although what is committed would survive a crash only with them. */
  readonly unsafeSettings: readonly string[]
  readonly archives: boolean
  /** Whether it sends its log to replicas of which none is synchronous, as far as this login may see. */
  readonly hasOnlyAsyncReplicas: boolean
}

/** How the server is set up, and what this user may do. @param role the one that the user should have. */
export const readServer = async (db: Queryable, role: string): Promise<Server> => {
  const [row] = await readRows<Server>(db)`
    select current_setting('server_version_num')::int as version,
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as "isEncrypted",
      inet_client_addr() is null or inet_client_addr() = inet_server_addr() as "isOnThisMachine",
      current_user as "user",
      (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
      exists (select from pg_database where datname = current_database() and pg_has_role(datdba, 'usage')) as "ownsDatabase",
      exists (select from pg_roles where rolname = ${role} and pg_has_role(oid, 'usage')) as "hasRole",
      array(
        select name from unnest(array['fsync', 'full_page_writes', 'synchronous_commit']) name
        where current_setting(name) = 'off'
      ) as "unsafeSettings",
      current_setting('archive_mode') <> 'off' as archives,
      exists (select from pg_stat_replication where state is distinct from 'backup')
        -- A login without pg_monitor sees that there is a replica, and nothing about it.
        and (current_setting('synchronous_standby_names') = '' or current_setting('synchronous_commit') in ('local', 'off')
          or not exists (select from pg_stat_replication where coalesce(sync_state, 'sync') in ('sync', 'quorum')))
        as "hasOnlyAsyncReplicas"`
  if (row === undefined) throw new Error('The database returned no settings.')
  return row
}

/** Milliseconds since 1970, by a connection for prepared statements, as these are open already. */
export const readClockMs = async (db: Pick<Db, 'prepared'>) => {
  const [row] = await db.prepared<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
  if (row === undefined) throw new Error('The database returned no time.')
  return row.ms
}

export const countLivingWorkers = async (db: Queryable) =>
  (await readValue<number>(db)`select count(*)::int as count from strongroom_views.workers where lives`) ?? 0

type NewestCheckpoint = {
  /** Rows before this time are in files, of the chain that was archived furthest. In ISO 8601. */
  readonly before: string
  readonly createdAt: string
  readonly ageDays: number
}

/** The newest checkpoint of the audit; null if nothing was archived yet. */
export const readNewestCheckpoint = (db: Queryable): Promise<NewestCheckpoint | null> =>
  firstRow(
    readRows<NewestCheckpoint>(db)`
    select to_char(max(before) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as before,
      to_char(max(created_at) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "createdAt",
      floor(extract(epoch from now() - max(created_at)) / 86400)::int as "ageDays"
    from audit_checkpoints
    having count(*) > 0`,
  )

/** The projects with allowed origins and no return addresses, the oldest first. */
export const listProjectsWithoutReturnAddresses = async (db: Queryable): Promise<readonly string[]> => {
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from projects where cardinality(allowed_origins) > 0 and cardinality(return_addresses) = 0
    order by created_at, id`)
  return rows.map(({ id }) => id)
}
