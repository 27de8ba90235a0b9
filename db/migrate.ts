// Brings a database to the newest schema while the service runs on it:
// 1. It changes only what differs, so a migration without changes waits for no session and holds up none.
// 2. What changes, changes in one transaction. It waits only shortly for each lock, because later sessions wait
//    behind it; if a lock is not free, all is undone and tried again after a pause.
// 3. Migrations that begin with OUTSIDE run last, without a transaction: indexes made concurrently, constraints
//    validated. They hold up no session, so they wait as long as it takes. Nothing may depend on them.

import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import { runMigrations as runJobMigrations } from 'graphile-worker'
import pg from 'pg'
import { ownerConfig } from './client.ts'
import { CREATE_ROLES, JOBS_ROLE } from './grants.ts'
import { applyObjects, CREATE_APPLIED, changedObjects } from './objects.ts'
import { WritableClient } from './pool.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url))

/** The first line of a migration whose statements run one by one. Each must be repeatable: `if not exists`. */
const OUTSIDE = '-- outside of a transaction'

export const readMigrations = (migrationsFolder = MIGRATIONS_FOLDER): readonly MigrationMeta[] =>
  readMigrationFiles({ migrationsFolder })

export const pendingOf = async (
  client: pg.Client,
  migrations: readonly MigrationMeta[],
): Promise<readonly MigrationMeta[]> => {
  const { rows } = await client.query<{ hash: string }>('select hash from drizzle.__drizzle_migrations')
  const done = new Set(rows.map(({ hash }) => hash))
  return migrations.filter(({ hash }) => !done.has(hash))
}

export const isOutside = ({ sql }: MigrationMeta): boolean => sql[0]?.trimStart().startsWith(OUTSIDE) ?? false

/** The number of graphile-worker's newest migration: it exports no list. */
export const newestJobMigration = (): number => {
  const entry = createRequire(import.meta.url).resolve('graphile-worker')
  return Math.max(...readdirSync(join(dirname(entry), '../sql')).map((name) => Number.parseInt(name, 10)))
}

/** The number of its last applied migration; 0 before the first. */
export const jobMigrationOf = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query("select to_regclass('graphile_worker.migrations') as name")
  if (rows[0]?.name == null) return 0
  return (await client.query('select max(id) as id from graphile_worker.migrations')).rows[0]?.id ?? 0
}

/** Refuses a database that is older than the baseline (another first migration, or another owner of the queue). */
export const refuseOtherHistory = async (client: pg.Client, migrations: readonly MigrationMeta[]): Promise<void> => {
  const { rows: tables } = await client.query("select to_regclass('drizzle.__drizzle_migrations') as name")
  if (tables[0]?.name == null) return
  const { rows: history } = await client.query('select hash from drizzle.__drizzle_migrations order by id limit 1')
  const { rows: queues } = await client.query(
    "select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = 'graphile_worker'",
  )
  const [first, queue, baseline] = [history[0], queues[0], migrations[0]]
  // Another owner of the queue may still own functions that our roles call.
  const isOurs = queue === undefined || queue.owner === JOBS_ROLE
  if (isOurs && (first === undefined || first.hash === baseline?.hash)) return
  throw new Error(
    'This database was made by an unreleased version and cannot be migrated: use an empty database (for `bun run dev`, delete its folder, `.dev` by default).',
  )
}

/** An advisory lock: only one process migrates at a time. */
const MIGRATION_LOCK = 7_215_001
const TURN_POLL_MS = 100
const TURN_POLLS_MAX = 18_000

/** Signatures may wait this long behind each lock, so it is well below their own limit (client.ts). */
const LOCK_TIMEOUT_MS = 2_000
const ATTEMPTS_MAX = 10
/** Meanwhile the sessions that waited behind us go on. */
const PAUSE_MS = 3_000

const applicationName = 'strongroom-db-migrate'

const CREATE_HISTORY = `
create schema if not exists drizzle;
create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
${CREATE_APPLIED}
`

type Options = {
  readonly migrationsFolder?: string
  readonly attemptsMax?: number
  readonly pauseMs?: number
}

/**
 * Brings tables, job queue, roles, grants and views up to date. Idempotent; several processes may run it at once.
 * @param databaseUrl of a role that may create roles and owns the database.
 * @throws Error for a database from before the baseline, and if a lock is held for too long. Then no table of
 * Strongroom has changed, but after a change of graphile-worker's own the operators' views wait for the next run.
 */
export async function migrate(databaseUrl: string, options: Options = {}): Promise<void> {
  const { attemptsMax = ATTEMPTS_MAX, pauseMs = PAUSE_MS } = options
  const migrations = readMigrations(options.migrationsFolder)
  const config = { ...ownerConfig({ url: databaseUrl, applicationName }), lock_timeout: LOCK_TIMEOUT_MS }
  const client: pg.Client = new WritableClient(config)
  await client.connect()
  try {
    await takeTurn(client)
    await refuseOtherHistory(client, migrations)
    await client.query(CREATE_HISTORY)
    await client.query(`${CREATE_ROLES}; grant ${JOBS_ROLE} to current_user`)
    await withPatience({ attemptsMax, pauseMs }, async () => {
      await migrateJobTables(client, databaseUrl)
      await change(client, migrations)
    })
    await runOutside(client, migrations)
  } finally {
    await client.end()
  }
}

/** Asks again and again: waiting in a statement would keep a snapshot, for which indexes made concurrently wait. */
const takeTurn = async (client: pg.Client): Promise<void> => {
  for (let poll = 0; poll < TURN_POLLS_MAX; poll += 1) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [MIGRATION_LOCK])
    if (rows[0]?.taken === true) return
    await sleep(TURN_POLL_MS)
  }
  throw new Error('Another process has been migrating this database for half an hour: wait until it has ended.')
}

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

const withPatience = async (
  { attemptsMax, pauseMs }: { readonly attemptsMax: number; readonly pauseMs: number },
  work: () => Promise<void>,
): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && [LOCK_NOT_AVAILABLE, DEADLOCK].includes(error.code ?? ''))) throw error
      if (attempt === attemptsMax) {
        throw new Error(
          'The database was not migrated, and no table of Strongroom was changed: another session kept a table locked (a dump, or a transaction that stays open). Run it again when that has ended.',
          { cause: error },
        )
      }
    }
    await sleep(pauseMs)
  }
}

const inTransaction = async (client: pg.Client, work: () => Promise<void>): Promise<void> => {
  await client.query('begin')
  try {
    await work()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  }
}

const record = async (client: pg.Client, { hash, folderMillis }: MigrationMeta): Promise<void> => {
  await client.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [
    hash,
    folderMillis,
  ])
}

const change = async (client: pg.Client, migrations: readonly MigrationMeta[]): Promise<void> => {
  const pending = (await pendingOf(client, migrations)).filter((each) => !isOutside(each))
  if (pending.length === 0 && (await changedObjects(client)).size === 0) return
  await inTransaction(client, async () => {
    // A migration cannot change columns that a view uses.
    if (pending.length > 0) await client.query('drop schema if exists strongroom_views cascade')
    for (const migration of pending) {
      for (const statement of migration.sql) await client.query(statement)
      await record(client, migration)
    }
    await applyObjects(client)
  })
}

const runOutside = async (client: pg.Client, migrations: readonly MigrationMeta[]): Promise<void> => {
  const pending = (await pendingOf(client, migrations)).filter(isOutside)
  if (pending.length === 0) return
  await client.query('set lock_timeout = 0')
  // An index whose making failed stays as an invalid one, and `if not exists` would keep that.
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name from pg_index
     join pg_class on pg_class.oid = indexrelid join pg_namespace on pg_namespace.oid = relnamespace
     where nspname = 'public' and not indisvalid`,
  )
  for (const { name } of rows) await client.query(`drop index concurrently if exists ${name}`)
  for (const migration of pending) {
    for (const statement of migration.sql) await client.query(statement)
    await record(client, migration)
  }
}

/** graphile-worker commits each of its migrations by itself. Only a newer version of it has some. */
const migrateJobTables = async (client: pg.Client, databaseUrl: string): Promise<void> => {
  if ((await jobMigrationOf(client)) >= newestJobMigration()) return
  const { rows } = await client.query<{ database: string }>('select current_database() as database')
  const database = client.escapeIdentifier(rows[0]?.database ?? '')
  // The views read the queue's; `change` makes them again.
  await client.query('drop schema if exists strongroom_views cascade')
  // The role needs CREATE only while it makes its schema.
  await client.query(`grant create on database ${database} to ${JOBS_ROLE}`)
  const pgPool = new pg.Pool({
    ...ownerConfig({ url: databaseUrl, applicationName, settings: `-c role=${JOBS_ROLE}` }),
    max: 1,
    lock_timeout: LOCK_TIMEOUT_MS,
    Client: WritableClient,
  })
  // graphile-worker wants both.
  for (const event of ['error', 'connect'] as const) pgPool.on(event, () => {})
  try {
    await runJobMigrations({ pgPool })
  } finally {
    await pgPool.end()
    await client.query(`revoke create on database ${database} from ${JOBS_ROLE}`)
  }
}
