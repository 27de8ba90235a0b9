// What the next `db migrate` would do, and what it would wait for. Changes nothing, and locks nothing.

import { asOwner } from './client.ts'
import {
  isOutside,
  jobMigrationOf,
  newestJobMigration,
  pendingOf,
  readMigrations,
  refuseOtherHistory,
} from './migrate.ts'
import { changedObjects, objectNames } from './objects.ts'

export type MigrationPlan = {
  /** Run in one transaction. */
  readonly statements: readonly string[]
  /** Run after that, one by one, without a transaction. */
  readonly outside: readonly string[]
  /** Migrations of the job queue's own. */
  readonly jobMigrations: number
  /** Parts of grants, functions, triggers and views that are made again. */
  readonly objects: readonly string[]
  /** The tables with rows that the statements name. `rows` is the planner's estimate. */
  readonly tables: readonly { readonly name: string; readonly rows: number; readonly size: string }[]
  /** Transactions that have been open for a while: a statement would wait for their locks. */
  readonly open: readonly { readonly pid: number; readonly application: string; readonly seconds: number }[]
  /** Indexes that were not finished. */
  readonly invalidIndexes: readonly string[]
}

const OPEN_SECONDS_MIN = 2

const textsOf = (migrations: readonly { readonly sql: readonly string[] }[]): readonly string[] =>
  migrations.flatMap(({ sql }) => sql.map((statement) => statement.trim()))

/** @param databaseUrl of the database's owner. @throws Error for a database from before the baseline. */
export const planMigration = (databaseUrl: string, migrationsFolder?: string): Promise<MigrationPlan> =>
  asOwner({ url: databaseUrl, applicationName: 'strongroom-db-plan' }, async (client) => {
    await client.query('begin transaction read only')
    const migrations = readMigrations(migrationsFolder)
    await refuseOtherHistory(client, migrations)
    const { rows: made } = await client.query("select to_regclass('drizzle.strongroom_objects') is not null as is")
    const isMade = made[0]?.is === true
    const pending = isMade ? await pendingOf(client, migrations) : migrations
    const statements = textsOf(pending.filter((each) => !isOutside(each)))
    const outside = textsOf(pending.filter(isOutside))
    const all = [...statements, ...outside].join('\n')
    const { rows: tables } = await client.query<MigrationPlan['tables'][number]>(
      `select relname as name, reltuples::float8 as rows, pg_size_pretty(pg_total_relation_size(oid)) as size
       from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and reltuples > 0
         and $1 ~ ('\\y' || relname || '\\y') order by pg_total_relation_size(oid) desc`,
      [all],
    )
    const { rows: open } = await client.query<MigrationPlan['open'][number]>(
      `select pid, application_name as application, extract(epoch from now() - xact_start)::int as seconds
       from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and xact_start < now() - make_interval(secs => $1) order by xact_start`,
      [OPEN_SECONDS_MIN],
    )
    const { rows: invalid } = await client.query<{ name: string }>(
      `select relname as name from pg_index join pg_class on pg_class.oid = indexrelid
       where relnamespace = 'public'::regnamespace and not indisvalid order by 1`,
    )
    return {
      statements,
      outside,
      jobMigrations: newestJobMigration() - (await jobMigrationOf(client)),
      objects: isMade ? [...(await changedObjects(client)).keys()] : objectNames,
      tables,
      open,
      invalidIndexes: invalid.map(({ name }) => name),
    }
  })
