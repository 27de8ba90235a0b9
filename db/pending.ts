// What a database lacks of the newest schema.

import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator'
import type pg from 'pg'
import { JOBS_ROLE } from './grants.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url))

/** The first line of a migration whose statements run one by one. Each must be repeatable: `if not exists`. */
const OUTSIDE = '-- outside of a transaction'

export const readMigrations = (migrationsFolder = MIGRATIONS_FOLDER): readonly MigrationMeta[] =>
  readMigrationFiles({ migrationsFolder })

/** The migrations that were not applied yet, in order. */
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
