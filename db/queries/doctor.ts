import { sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'

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
  const { rows } = await db.execute<Server>(sql`
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
        as "hasOnlyAsyncReplicas"`)
  const [row] = rows
  if (row === undefined) throw new Error('The database returned no settings.')
  return row
}

/** The server's clock, in milliseconds since 1970. On the connections for prepared statements, which are open already. */
export const readClockMs = async (db: Pick<Db, 'prepared'>): Promise<number> => {
  const [row] = await db.prepared<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`
  if (row === undefined) throw new Error('The database returned no time.')
  return row.ms
}

/** The number of job pools that work. */
export const countLivingWorkers = async (db: Queryable): Promise<number> => {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from strongroom_views.workers where lives`,
  )
  return rows[0]?.count ?? 0
}

type NewestCheckpoint = {
  /** Rows before this time are in files, of the chain that was archived furthest. In ISO 8601. */
  readonly before: string
  readonly createdAt: string
  readonly ageDays: number
}

/** The newest checkpoint of the audit; null if nothing was archived yet. */
export const readNewestCheckpoint = async (db: Queryable): Promise<NewestCheckpoint | null> => {
  const { rows } = await db.execute<NewestCheckpoint>(sql`
    select to_char(max(before) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as before,
      to_char(max(created_at) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "createdAt",
      floor(extract(epoch from now() - max(created_at)) / 86400)::int as "ageDays"
    from audit_checkpoints
    having count(*) > 0`)
  return rows[0] ?? null
}

/** The projects with allowed origins and no return addresses, the oldest first. */
export const listProjectsWithoutReturnAddresses = async (db: Queryable): Promise<readonly string[]> => {
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from projects where cardinality(allowed_origins) > 0 and cardinality(return_addresses) = 0
    order by created_at, id`)
  return rows.map(({ id }) => id)
}
