import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as runDrizzleMigrations } from 'drizzle-orm/node-postgres/migrator'
import { runMigrations as runJobMigrations } from 'graphile-worker'
import pg from 'pg'
import { CREATE_ROLES, GRANTS, JOBS_ROLE } from './grants.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url))
const VIEWS = readFileSync(new URL('./views.sql', import.meta.url), 'utf8')

/** An advisory lock: only one process migrates at a time. */
const MIGRATION_LOCK = 7_215_001

/** Refuses a database that is older than the baseline (another first migration, or another owner of the queue). */
const refuseOtherHistory = async (client: pg.Client): Promise<void> => {
  const { rows: tables } = await client.query("select to_regclass('drizzle.__drizzle_migrations') as name")
  if (tables[0]?.name == null) return
  const { rows: history } = await client.query('select hash from drizzle.__drizzle_migrations order by id limit 1')
  const { rows: queues } = await client.query(
    "select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = 'graphile_worker'",
  )
  const [first, queue] = [history[0], queues[0]]
  const [baseline] = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER })
  // Another owner of the queue may still own functions that our roles call.
  const isOurs = queue === undefined || queue.owner === JOBS_ROLE
  if (isOurs && (first === undefined || first.hash === baseline?.hash)) return
  throw new Error(
    'This database was made by an unreleased version and cannot be migrated: use an empty database (for `bun run dev`, delete its folder, `.dev` by default).',
  )
}

/**
 * Brings a database to the newest schema: our tables, graphile-worker's, roles, grants, and the operators' views. Idempotent;
 * several processes may run it at once.
 * @param databaseUrl of a role that may create roles and owns the database.
 * @throws Error for a database from before the baseline.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  // A lost connection also fails its running statement, which reports it.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await refuseOtherHistory(client)
    // A migration cannot change columns that a view uses, so the views are dropped and created again.
    await client.query('drop schema if exists strongroom_views cascade')
    await runDrizzleMigrations(drizzle(client), { migrationsFolder: MIGRATIONS_FOLDER })
    await client.query(CREATE_ROLES)
    const { rows } = await client.query<{ database: string }>('select current_database() as database')
    const database = client.escapeIdentifier(rows[0]?.database ?? '')
    // The role needs CREATE only while it makes its schema.
    await client.query(`grant ${JOBS_ROLE} to current_user; grant create on database ${database} to ${JOBS_ROLE}`)
    await migrateJobTables(databaseUrl)
    await client.query(`revoke create on database ${database} from ${JOBS_ROLE}`)
    await client.query(GRANTS)
    await client.query(VIEWS)
  } finally {
    await client.end()
  }
}

const migrateJobTables = async (databaseUrl: string): Promise<void> => {
  const pgPool = new pg.Pool({ connectionString: databaseUrl, max: 1, options: `-c role=${JOBS_ROLE}` })
  pgPool.on('error', () => {})
  pgPool.on('connect', (client) => client.on('error', () => {}))
  try {
    await runJobMigrations({ pgPool })
  } finally {
    await pgPool.end()
  }
}
