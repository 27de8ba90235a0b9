import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as runDrizzleMigrations } from 'drizzle-orm/postgres-js/migrator'
import { runMigrations as runJobMigrations } from 'graphile-worker'
import pg from 'pg'
import postgres, { type Sql } from 'postgres'
import { CREATE_ROLES, GRANTS, JOBS_ROLE } from './grants.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url))
const VIEWS = readFileSync(new URL('./views.sql', import.meta.url), 'utf8')

/** Two processes that migrate at once would otherwise run the same statements: the second waits here. */
const MIGRATION_LOCK = 7_215_001

/**
 * Refuses a database whose first migration is not our baseline, or whose job queue has another owner: it is older than the baseline, and no migration leads here.
 * @throws Error
 */
const refuseOtherHistory = async (client: Sql): Promise<void> => {
  const [table] = await client`select to_regclass('drizzle.__drizzle_migrations') as name`
  if (table?.name == null) return
  const [first] = await client<{ hash: string }[]>`select hash from drizzle.__drizzle_migrations order by id limit 1`
  const [baseline] = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER })
  const [queue] = await client<{ owner: string }[]>`
    select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = 'graphile_worker'`
  // Whoever else owned the queue may still own what others call.
  const isOurs = queue === undefined || queue.owner === JOBS_ROLE
  if (isOurs && (first === undefined || first.hash === baseline?.hash)) return
  throw new Error(
    'This database was made by an unreleased version and cannot be migrated: use an empty database (for `bun run dev`, delete its folder, `.dev` by default).',
  )
}

const quoted = (identifier: string) => `"${identifier.replaceAll('"', '""')}"`

/**
 * Brings a database to the newest schema: our tables, graphile-worker's (owned by a role of their own), roles, grants, and the
 * operators' views.
 * Idempotent, and safe to run at once from several processes.
 * @throws Error for a database that was made before the baseline.
 * @param databaseUrl of a role that may create roles and owns the database.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  try {
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`
    await refuseOtherHistory(client)
    // A column or a view that a view stands on can neither be changed nor dropped.
    await client.unsafe('drop schema if exists strongroom_views cascade')
    await runDrizzleMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER })
    await client.unsafe(CREATE_ROLES)
    const [row] = await client<{ database: string }[]>`select current_database() as database`
    const database = quoted(row?.database ?? '')
    // Its own schema needs CREATE once; afterwards the role keeps only what it owns.
    await client.unsafe(`grant ${JOBS_ROLE} to current_user; grant create on database ${database} to ${JOBS_ROLE}`)
    await migrateJobTables(databaseUrl)
    await client.unsafe(`revoke create on database ${database} from ${JOBS_ROLE}`)
    await client.unsafe(GRANTS)
    await client.begin((tx) => tx.unsafe(VIEWS))
  } finally {
    await client.end({ timeout: 5 })
  }
}

const migrateJobTables = async (databaseUrl: string): Promise<void> => {
  const pgPool = new pg.Pool({ connectionString: databaseUrl, max: 1, options: `-c role=${JOBS_ROLE}` })
  // A lost connection also fails the query that was using it, and that is where it is reported.
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  try {
    await runJobMigrations({ pgPool })
  } finally {
    await pgPool.end()
  }
}
