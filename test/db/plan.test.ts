// What `db check` and `db migrate --dry-run` say of a database, and that they change nothing.

import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { isOutside, migrate, readMigrations } from '../../db/migrate.ts'
import { planMigration } from '../../db/plan.ts'
import { runCli } from '../support/cli.ts'
import { longTest } from '../support/long.ts'
import { withMigrations } from '../support/migrations.ts'
import { createDatabase } from '../support/postgres.ts'
import { scannedTables } from '../support/scanned-tables.ts'
import { shared } from '../support/shared.ts'

const database = await shared(createDatabase())
const { sql } = database

const cli = (...args: readonly string[]) => runCli(['db', ...args], { DATABASE_URL: database.url })

test('a database that is up to date has nothing to do', async () => {
  expect(await planMigration(database.url)).toMatchObject({
    statements: [],
    outside: [],
    jobMigrations: 0,
    objects: [],
    tables: [],
    invalidIndexes: [],
  })
  expect(await cli('check')).toEqual({ exitCode: 0, output: 'The database has the newest schema.\n', errors: '' })
  const { exitCode, output } = await cli('migrate', '--dry-run')
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: '' })
})

test('an empty database needs everything, and gets nothing by being looked at', async () => {
  const name = `${database.name}_empty`
  await sql.unsafe(`create database ${name}`)
  const url = new URL(database.url)
  url.pathname = `/${name}`
  try {
    const plan = await planMigration(url.href)
    expect(plan.statements.length).toBeGreaterThan(50)
    expect(plan.jobMigrations).toBeGreaterThan(0)
    expect(plan.objects).toContain('views')
    const { exitCode, output } = await runCli(['db', 'migrate', '--dry-run'], { DATABASE_URL: url.href })
    expect(exitCode).toBe(0)
    expect(output).toContain('CREATE TABLE "wallets"')
    const own = postgres(url.href, { max: 1 })
    expect([
      ...(await own`select count(*)::int as n from pg_class where relnamespace = 'public'::regnamespace`),
    ]).toEqual([{ n: 0 }])
    await own.end()
  } finally {
    await sql.unsafe(`drop database ${name}`)
  }
})

longTest('what was dropped by hand is named, and the check ends with 1', async () => {
  await sql`drop trigger append_only on audit`
  await sql`drop function strongroom_drop_archived`
  const { exitCode, output } = await cli('check')
  expect({ exitCode, output }).toEqual({
    exitCode: 1,
    output: 'To be made again: audit.\nRun "bun run cli db migrate"; with --dry-run it prints the statements.\n',
  })
  const dryRun = await cli('migrate', '--dry-run')
  expect(dryRun).toEqual({ exitCode: 0, output: '-- in one transaction\n-- made again: audit\n', errors: '' })
  const triggers = sql`select from pg_trigger where tgname = 'append_only' and tgrelid = 'audit'::regclass`
  expect(await triggers).toHaveLength(0)
  await migrate(database.url)
  expect((await cli('check')).exitCode).toBe(0)
})

longTest('a plan has the statements in order, the large tables that they name, and who may hold a lock', async () => {
  const folder = await withMigrations(
    'alter table projects add column later text;',
    '-- outside of a transaction\ncreate index concurrently if not exists later on projects (later);',
  )
  await sql`insert into projects (id, name) select gen_random_uuid(), 'P' from generate_series(1, 50)`
  await sql`analyze projects`
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const reader = sql.begin(async (tx) => {
    await tx`set local application_name = 'a dump'`
    await tx`select from projects limit 1`
    opened.resolve()
    await ended.promise
  })
  await opened.promise
  let plan = await planMigration(database.url, folder)
  for (; plan.open.length === 0; plan = await planMigration(database.url, folder)) await Bun.sleep(100)
  ended.resolve()
  await reader
  expect(plan).toMatchObject({
    statements: ['alter table projects add column later text;'],
    outside: [expect.stringContaining('create index concurrently if not exists later')],
    tables: [{ name: 'projects', rows: 50 }],
    open: [{ application: 'a dump' }],
  })
  expect(await sql`select from pg_attribute where attname = 'later'`).toHaveLength(0)
})

test('an index that was not finished is named', async () => {
  await sql`insert into projects (id, name) select gen_random_uuid(), 'P' from generate_series(1, 2)`
  await expect(sql`create unique index concurrently same_names on projects (name)`.execute()).rejects.toThrow()
  const { exitCode, output } = await cli('check')
  expect({ exitCode, output }).toEqual({
    exitCode: 1,
    output: 'An index was not finished. Run: reindex index concurrently same_names;\n',
  })
  await sql`drop index same_names`
})

// The claim at 10,000,000 rows, with the time that others wait, is tested in slow-migrations.test.ts.
test('no migration after the baseline goes through a table under a lock', async () => {
  const [, ...later] = readMigrations()
  const statements = later.filter((each) => !isOutside(each)).flatMap((migration) => migration.sql)
  expect(await scannedTables(database.url, statements)).toEqual([])
})

const FAST = [
  'alter table projects add column later text',
  'alter table projects add column later integer not null default 7',
  'alter table projects add constraint named check (length(name) > 0) not valid',
  'create table later (id uuid primary key, project_id uuid references projects (id))',
  'alter table projects rename column name to called',
]
const SLOW = [
  'create index by_name on projects (name)',
  'alter table projects add constraint named check (length(name) > 0)',
  'alter table projects alter column name type varchar(99)',
  'alter table api_keys alter column expires_at set not null',
  'alter table projects add column later uuid default gen_random_uuid()',
  "update projects set name = 'Q'",
  'alter table wallets add constraint later foreign key (name) references later (name)',
  'alter table projects add unique (name, id)',
]

for (const statement of FAST) {
  test(`goes through no table: ${statement}`, async () => {
    expect(await scannedTables(database.url, [statement])).toEqual([])
  })
}

for (const statement of SLOW) {
  test(`goes through a table: ${statement}`, async () => {
    const needed = 'create table later (name text primary key)'
    expect(await scannedTables(database.url, [needed, statement])).not.toEqual([])
  })
}
