import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { migrate } from '../../db/migrate.ts'
import * as schema from '../../db/schema.ts'
import { TableAccess } from '../../db/tables.ts'
import { longTest } from '../support/long.ts'
import { connectAsEach, createDatabase, type TestDatabase } from '../support/postgres.ts'
import { migratedCatalogue } from './migrated-catalogue.ts'

let database: TestDatabase
let owner: Sql
let api: Sql
let vault: Sql
let worker: Sql
let end: () => Promise<unknown>

beforeAll(async () => {
  database = await createDatabase({ withNetworks: true })
  ;({ owner, api, vault, worker, end } = connectAsEach(database))
})

afterAll(async () => {
  await end()
  await database.close()
})

const denied = async (query: Promise<unknown>) => {
  await expect(query.then(() => 'allowed')).rejects.toMatchObject({ code: '42501' })
}

/** The SQL that creates the schema files' tables. */
const declaredSchema = async (): Promise<string> => {
  const root = new URL('../..', import.meta.url).pathname
  const child = Bun.spawn(['bun', 'node_modules/.bin/drizzle-kit', 'export', '--sql'], {
    cwd: root,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return text.slice(text.indexOf('CREATE TABLE'))
}

/**
 * Every column, constraint and index of our tables, a line each. Triggers are not part of the schema (db/events.ts).
 */
const describeDatabase = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ line: string }[]>`
    select format('column %s.%s %s %s default %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
             coalesce(pg_get_expr(d.adbin, d.adrelid), '-') || a.attidentity::text) as line
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    union all
    select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
      from pg_constraint where connamespace = 'public'::regnamespace and contype <> 't'
    union all
    select 'index ' || indexdef from pg_indexes where schemaname = 'public'
    order by 1`
  return rows.map((row) => row.line)
}

describe('the schema', () => {
  test('is what the migrations create in an empty database', async () => {
    const [row] = await owner<{ name: string }[]>`select current_database() || '_declared' as name`
    const name = row?.name ?? ''
    await owner.unsafe(`create database ${name}`)
    const url = new URL(database.url)
    url.pathname = `/${name}`
    const declared = postgres(url.href, { max: 1, onnotice: () => {} })
    try {
      await declared.unsafe(await declaredSchema())
      const [migrated, wanted] = await Promise.all([describeDatabase(owner), describeDatabase(declared)])
      expect(wanted.length).toBeGreaterThan(200)
      expect(migrated).toEqual(wanted)
    } finally {
      await declared.end()
      await owner.unsafe(`drop database ${name}`)
    }
  })

  test('has the catalogue that processes expect: after a change run "bun run build"', async () => {
    expect(await Bun.file('db/catalogue.generated.ts').text()).toBe(await migratedCatalogue())
  })

  longTest('has checks and indexes whose text is the same after a dump and its restore', async () => {
    const defined = (name: 'public' | 'restored') => owner<{ table: string; add: string }[]>`
      select relname as "table", format('alter table restored.%s add constraint %s %s', relname, conname, pg_get_constraintdef(c.oid)) as add
      from pg_constraint c join pg_class r on r.oid = conrelid where contype = 'c' and connamespace = ${name}::regnamespace
      union all
      select tablename, replace(indexdef, format(' ON %s.', schemaname), ' ON restored.') from pg_indexes where schemaname = ${name}
      order by 2`
    const migrated = await defined('public')
    expect(migrated.length).toBeGreaterThan(200)
    const tables = new Set(migrated.map(({ table }) => `create table restored.${table} (like public.${table})`))
    await owner.unsafe(['create schema restored', ...tables, ...migrated.map(({ add }) => add)].join(';'))
    const restored = await defined('restored')
    await owner`drop schema restored cascade`
    expect([...restored]).toEqual([...migrated])
  })

  longTest('can be migrated repeatedly, also by several processes at once', async () => {
    await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)])
    await denied(worker`select from keyrings`)
  })

  longTest('refuses to migrate a database whose first migration is another', async () => {
    const older = await createDatabase()
    const sql = postgres(older.url, { max: 1 })
    try {
      await sql`update drizzle.__drizzle_migrations set hash = 'of another first migration'`
      await expect(migrate(older.url)).rejects.toThrow('use an empty database')
    } finally {
      await sql.end()
      await older.close()
    }
  })
})

describe('the roles', () => {
  test('have the rights declared next to each table, and every table declares some', async () => {
    const tables = await owner<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
    const told = Object.values(schema).flatMap((each) => (each instanceof TableAccess ? [each.table] : []))
    expect(told.toSorted()).toEqual(tables.map(({ name }) => name))
  })

  test("the worker can record a transaction's progress, but not change what it does", async () => {
    for (const column of [
      '"to"',
      'value',
      'input',
      'nonce',
      'gas_limit',
      'worst_cost',
      'signer_address',
      'wallet_id',
    ]) {
      await denied(worker.unsafe(`update transactions set ${column} = null`))
    }
    for (const column of ['hashes', 'hash_keys', 'network', 'max_fees_per_gas', 'transaction_id']) {
      await denied(worker.unsafe(`update ladders set ${column} = null`))
    }
    for (const table of ['transactions', 'ladders', 'signers']) {
      await denied(worker.unsafe(`insert into ${table} default values`))
    }
    await worker`update transactions set status = status, updated_at = now()`
  })

  test('the worker cannot read API keys', () => denied(worker`select from api_keys`))

  test('none can create tables or switch to another role', async () => {
    for (const sql of [api, vault, worker]) {
      await denied(sql`create table mine (id int)`)
      await denied(sql`set role postgres`)
    }
  })

  test('no process’s role owns a function or table, so none can change what others call', async () => {
    const owned = await owner`
      select pg_describe_object(classid, objid, 0) as what from pg_shdepend
      where deptype = 'o' and dbid = (select oid from pg_database where datname = current_database())
        and refobjid in (select oid from pg_roles where rolname in ('strongroom_api', 'strongroom_vault', 'strongroom_worker', 'strongroom_console', 'strongroom_viewer'))`
    expect([...owned]).toEqual([])
    for (const sql of [api, vault, worker]) {
      await denied(sql`alter function public.add_strongroom_job security invoker`)
      await denied(sql`create function graphile_worker.mine() returns int language sql as 'select 1'`)
      await denied(sql`create function strongroom_views.mine() returns int language sql as 'select 1'`)
      await denied(sql`create trigger mine before insert on graphile_worker._private_jobs
        for each row execute function suppress_redundant_updates_trigger()`)
      await denied(sql`set role strongroom_jobs`)
    }
    await denied(worker`alter function graphile_worker.add_job rename to other`)
    await denied(worker`alter table graphile_worker._private_jobs add column mine int`)
    await denied(worker`create or replace view strongroom_views.jobs as select 1`)
    await denied(worker`insert into graphile_worker.migrations (id) values (1000000)`)
  })

  test('the worker can delete only expired rows of logins, throttles and idempotency keys', async () => {
    const clear = async (table: string) =>
      (await worker`select public.strongroom_clear_expired(${table}) as cleared`)[0]?.cleared
    for (const table of ['email_codes', 'nonces', 'session_challenges', 'sessions']) expect(await clear(table)).toBe(0)
    for (const table of ['throttles', 'idempotency_keys']) await denied(worker.unsafe(`delete from ${table}`))
    for (const sql of [api, vault]) await denied(sql`select public.strongroom_clear_expired('throttles')`)
    await expect(clear('wallets')).rejects.toMatchObject({ code: '20000' })
    const throttle = (key: string, seconds: number) =>
      api`insert into throttles (key, tries, window_ends_at) values (${Buffer.from(key)}, 1, now() + make_interval(secs => ${seconds}))`
    await throttle('live', 600)
    await throttle('over', -600)
    expect(await clear('throttles')).toBe(1)
    const project = '00000000-0000-4000-8000-00000000000a'
    await owner`insert into projects (id, name) values (${project}, 'P')`
    for (const [key, hours] of [['live', 1] as const, ['over', 25] as const]) {
      await owner`insert into idempotency_keys (project_id, principal, path, key, fingerprint, answer, mac, created_at)
        values (${project}, 'p', '/p', ${key}, '', '{}', '', now() - make_interval(hours => ${hours}))`
    }
    expect(await clear('idempotency_keys')).toBe(1)
    expect([...(await owner`select key from idempotency_keys`)]).toEqual([{ key: 'live' }])
    expect((await api`update throttles set tries = 2`).count).toBe(1)
    expect((await api`delete from throttles`).count).toBe(1)
  })

  test('the API can add jobs, but neither read nor change them', async () => {
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', 'once', 'replace', now(), 1)`
    await denied(api`select from graphile_worker._private_jobs`)
    await denied(api`delete from graphile_worker._private_jobs`)
    const [row] = await worker`select task_identifier from graphile_worker.jobs where key = 'once'`
    expect(row).toEqual({ task_identifier: 'reconcile' })
  })

  test('no role can change or delete an audit row, not even the owner', async () => {
    for (const sql of [api, vault, worker]) {
      await denied(sql`update audit set actor = 'x'`)
      await denied(sql`delete from audit`)
      await denied(sql`truncate audit`)
    }
    await expect(owner`delete from audit`.then(() => 'allowed')).rejects.toMatchObject({
      message: 'audit is append-only',
    })
    await expect(owner`truncate audit cascade`.then(() => 'allowed')).rejects.toMatchObject({
      message: 'audit is append-only',
    })
  })

  test('the API can read numbers of jobs, but no job', async () => {
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', null, null, now() - interval '1 minute', 1)`
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', null, null, now() + interval '1 minute', 1)`
    await api`select public.add_strongroom_job('reconcile', '{"again":true}', null, null, now(), 1)`
    await owner`
      update graphile_worker._private_jobs set attempts = max_attempts, last_error = 'It failed.'
      where payload->>'again' = 'true'`
    // A new job with the same key replaced it while it ran; the queue marks such a job in the same way.
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', 'once', 'replace', now(), 1)`
    await owner`update graphile_worker._private_jobs set attempts = max_attempts, key = null where key = 'once'`
    const [row] =
      await api`select task, ready::int, failed::int, oldest_ready_seconds as age from strongroom_job_numbers()`
    expect(row).toEqual({ task: 'reconcile', ready: 1, failed: 1, age: expect.closeTo(60, -1) })
    await expect(api`select from graphile_worker._private_jobs`.then(() => 'allowed')).rejects.toMatchObject({
      code: '42501',
    })
  })
})

describe('the tables refuse', () => {
  const project = '00000000-0000-4000-8000-000000000001'
  const keyring = '00000000-0000-4000-8000-000000000002'
  const wallet = '00000000-0000-4000-8000-000000000003'

  beforeAll(async () => {
    await owner`insert into projects (id, name) values (${project}, 'P')`
    await owner`insert into keyrings (id, project_id, owner_id, kind, sealed) values (${keyring}, ${project}, 'o', 'seed', '')`
    await owner`insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
      values (${wallet}, ${project}, 'Ethereum', 'o', 'W', '0xA', 'user', 'eoa', ${keyring}, '', '')`
    await owner`insert into signers (network, address) values ('Ethereum', '0xA')`
  })

  const refuses = async (query: Promise<unknown>, constraint: string) => {
    await expect(query.then(() => 'taken')).rejects.toMatchObject({ constraint_name: constraint })
  }

  const transaction = (row: Record<string, unknown>) => ({
    id: crypto.randomUUID(),
    project_id: project,
    wallet_id: wallet,
    network: 'Ethereum',
    signer_address: '0xA',
    kind: 'send',
    nonce: 7,
    value: '0',
    input: '0x',
    gas_limit: '21000',
    worst_cost: '0',
    rungs: 1,
    ...row,
  })

  const insert = (row: Record<string, unknown>) => owner`insert into transactions ${owner(transaction(row))}`

  test('a second seed of one owner', () =>
    refuses(
      owner`insert into keyrings (id, project_id, owner_id, kind, sealed) values (${crypto.randomUUID()}, ${project}, 'o', 'seed', '')`,
      'keyrings_one_seed',
    ))

  test('a wallet, a signer or a transaction on a network that is not bound', async () => {
    const network = 'Nowhere'
    await refuses(
      owner`update wallets set network = ${network} where id = ${wallet}`,
      'wallets_network_networks_name_fk',
    )
    await refuses(
      owner`insert into signers (network, address) values (${network}, '0xA')`,
      'signers_network_networks_name_fk',
    )
    await refuses(insert({ network, nonce: 9 }), 'transactions_signer')
  })

  test('two transactions that hold one nonce, unless one no longer holds it', async () => {
    await insert({ nonce: 7 })
    await refuses(insert({ nonce: 7 }), 'transactions_one_a_nonce')
    await insert({ nonce: 7, holds_nonce: false, status: 'failed', error_code: 'expired', error: 'x' })
  })

  test('a live transaction that holds no nonce', () =>
    refuses(insert({ nonce: 8, holds_nonce: false }), 'transactions_live_holds_nonce'))

  test('a failure without a reason, and a reason without a failure', async () => {
    await refuses(insert({ nonce: 9, status: 'failed' }), 'transactions_failed_says_why')
    await refuses(insert({ nonce: 9, error_code: 'expired' }), 'transactions_failed_says_why')
  })

  test('an unknown value of a closed list', async () => {
    await refuses(insert({ nonce: 10, status: 'done' }), 'transactions_status')
    await refuses(insert({ nonce: 10, status: 'failed', error_code: 'broken' }), 'transactions_error_code')
  })

  test('more than five wrong PINs in a row', async () => {
    await owner`insert into user_keys (project_id, owner_id, salt, sealed) values (${project}, 'o', '', '')`
    await refuses(
      owner`insert into pin_guesses (project_id, owner_id, fails, mac) values (${project}, 'o', 6, '')`,
      'pin_guesses_bounds',
    )
  })
})
