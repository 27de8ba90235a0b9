import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import postgres, { type Sql } from 'postgres'
import { API_ROLE, CONSOLE_ROLE, VAULT_ROLE, WORKER_ROLE } from '../../db/grants.ts'
import { migrate } from '../../db/migrate.ts'
import { type PostgresOptions, type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { isRunning } from '../../devnet/process-info.ts'
import { networkRows } from '../../src/platform/networks.ts'
import { madeAhead } from './made-ahead.ts'

/** A test's own database, with our tables and nothing else. */
export type TestDatabase = {
  readonly name: string
  /** The URL for the superuser. */
  readonly url: string
  /** The URL for a login user with only the API's rights. */
  readonly apiUrl: string
  /** The URL for a login user with only the vault's rights. */
  readonly vaultUrl: string
  /** The URL for a login user with only the worker's rights. */
  readonly workerUrl: string
  /** The URL for a login user with only the console's rights. */
  readonly consoleUrl: string
  /** The superuser's connections, made when they are used. */
  readonly sql: Sql
  /**
   * Drops the database.
   * @throws Error if a client is still connected: a test must end every pool and process that it started
   */
  readonly close: () => Promise<void>
}

const LOGIN_USERS = {
  strongroom_test_api: API_ROLE,
  strongroom_test_vault: VAULT_ROLE,
  strongroom_test_worker: WORKER_ROLE,
  strongroom_test_console: CONSOLE_ROLE,
}
/** These users can log in only to a test server on this machine, which has only test data. */
const LOGIN_PASSWORD = 'test'
/** If two processes create the template at once, the second waits. */
const TEMPLATE_LOCK = 7_215_002
const LEAK_GRACE_MS = 2000
const DB_FOLDER = new URL('../../db/', import.meta.url)

/** A folder in memory, on Linux. In a container it may be too small, or missing. */
const MEMORY_FOLDER = '/dev/shm'
/** What a whole run takes, with room. */
const MEMORY_MIN_BYTES = 2 * 1024 ** 3

/** In the checkout's own folder, so that two checkouts do not delete each other's. */
const CACHE_FOLDER = fileURLToPath(new URL('../../node_modules/.cache/strongroom-test/', import.meta.url))

/**
 * A stopped cluster with the migrated template in it, made by the first run and kept for the next ones: initdb and the
 * migrations take most of the time of a short test file.
 * @returns its folder, to be copied and never started
 */
const preparedCluster = async (): Promise<string> => {
  const name = templateName()
  const folder = join(CACHE_FOLDER, name)
  if (existsSync(folder)) return folder
  mkdirSync(CACHE_FOLDER, { recursive: true })
  const unfinished = `${folder}.${process.pid}`
  const started = await startPostgres({ dataDirectory: unfinished, durable: false })
  await buildTemplate(name, started.url)
  await started.stop()
  // Another process may have been faster.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }))
  await rm(`${unfinished}.log`, { force: true })
  // Deletes those of older migrations. Unfinished ones, with a process number at the end, may belong to another
  // process.
  for (const other of readdirSync(CACHE_FOLDER)) {
    const pid = /\.([0-9]+)(?:\.log)?$/.exec(other)?.[1]
    if (other !== name && (pid === undefined || !isRunning(Number(pid))))
      await rm(join(CACHE_FOLDER, other), { recursive: true, force: true })
  }
  return folder
}

/**
 * Where a test server's folder is made: in memory if there is room. Each test file makes and deletes a database of 600
 * files: 50 ms of CPU there, up to 350 ms on a disk.
 */
export const quickFolder = (): string => {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK)
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize < MEMORY_MIN_BYTES ? tmpdir() : MEMORY_FOLDER
  } catch {
    return tmpdir()
  }
}

const NOT_DURABLE = { durable: false, settings: { max_wal_size: '256MB' } } as const

/**
 * Starts a server on a copy of the prepared cluster, in a folder that does not exist yet; it ends with this process.
 */
export const startTestPostgres = async (
  dataDirectory: string,
  options: Omit<PostgresOptions, 'dataDirectory'> = NOT_DURABLE,
): Promise<PostgresServer> => {
  // cp keeps the owner, which Node's own copy does not.
  await promisify(execFile)('cp', ['-a', await preparedCluster(), dataDirectory])
  return startPostgres({ dataDirectory, ...options })
}

/** The longest path of a Unix socket on macOS; on Linux it may be four bytes longer. */
const SOCKET_PATH_MAX = 103

type RunServer = {
  /** The superuser's, by TCP. */
  readonly url: string
  /** The folder with the server's Unix socket; '' if its path would be too long. */
  readonly sockets: string
}

/**
 * Starts the server of a whole run. The service reaches it by a Unix socket in its folder: by TCP a statement takes a
 * third more CPU time of both sides.
 */
export const startRunPostgres = async (dataDirectory: string): Promise<PostgresServer & RunServer> => {
  const settings = { ...NOT_DURABLE.settings, unix_socket_directories: '.' }
  const server = await startTestPostgres(dataDirectory, { ...NOT_DURABLE, settings })
  const isShort = `${dataDirectory}/.s.PGSQL.${server.port}`.length <= SOCKET_PATH_MAX
  return { ...server, sockets: isShort ? dataDirectory : '' }
}

/** The same by TCP: for a proxy before the server, and for the library `postgres`, which takes no URL of a socket. */
export const byTcp = (url: string): URL => {
  const changed = new URL(url)
  if (changed.hostname.startsWith('%2F')) changed.hostname = '127.0.0.1'
  return changed
}

/**
 * Starts a server for this process only. It ends with the process, but bun test does not say when it ends. So the
 * folder's name has the process's number, and the next process deletes it.
 */
const startOwnServer = async (): Promise<RunServer> => {
  for (const parent of new Set([tmpdir(), quickFolder()])) {
    for (const name of readdirSync(parent)) {
      const pid = /^strongroom-test-([0-9]+)-/.exec(name)?.[1]
      if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(parent, name), { recursive: true, force: true })
    }
  }
  const folder = await mkdtemp(join(quickFolder(), `strongroom-test-${process.pid}-`))
  return startRunPostgres(join(folder, 'postgres'))
}

let runServer: Promise<RunServer> | undefined

/** The run's server. A test that runs by itself starts one for its process. */
const server = (): Promise<RunServer> => {
  const { STRONGROOM_TEST_POSTGRES_URL: url, STRONGROOM_TEST_POSTGRES_SOCKETS: sockets = '' } = process.env
  runServer ??= url ? Promise.resolve({ url, sockets }) : startOwnServer()
  return runServer
}

/** Connects for one piece of work: a test that restarts the server cannot keep a connection. */
export const onServer = async <Result>(url: string, work: (sql: Sql) => Promise<Result>): Promise<Result> => {
  const sql = connect(url, 1)
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

let superuser: Promise<Sql> | undefined

/** On the run's server, by one connection that lasts as long as this process: 15 ms of CPU less for each use. */
const asSuperuser = async <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> => {
  superuser ??= server().then(({ url }) => connect(url, 1))
  return work(await superuser)
}

const urlOn = (serverUrl: string, database: string, user?: keyof typeof LOGIN_USERS): string => {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  if (user !== undefined) {
    url.username = user
    url.password = LOGIN_PASSWORD
  }
  return url.href
}

const connect = (url: string, max: number): Sql => postgres(url, { max, onnotice: () => {} })

/** @param server.sockets where the login users find it; '' to reach it by TCP */
const accessTo = ({ url: serverUrl, sockets }: RunServer, database: string): TestDatabase => {
  const sql = connect(urlOn(serverUrl, database), 4)
  const urlFor = (user: keyof typeof LOGIN_USERS): string => {
    const url = urlOn(serverUrl, database, user)
    return sockets === '' ? url : url.replace('@127.0.0.1:', `@${encodeURIComponent(sockets)}:`)
  }
  return {
    name: database,
    url: urlOn(serverUrl, database),
    apiUrl: urlFor('strongroom_test_api'),
    vaultUrl: urlFor('strongroom_test_vault'),
    workerUrl: urlFor('strongroom_test_worker'),
    consoleUrl: urlFor('strongroom_test_console'),
    sql,
    close: () => sql.end(),
  }
}

/** Each attempt as a row, for tests: our tables have them in lists. */
const TEST_VIEWS = `
create schema tests;
create view tests.attempts as
select ladder.network, '0x' || encode(each.hash, 'hex') as hash, ladder.transaction_id,
  case sign(place - rungs - 1) when -1 then 'rung' when 0 then 'cancel' else 'former_cancel' end as kind,
  (case sign(place - rungs - 1) when -1 then place - 1 when 0 then 0 else place - rungs - 2 end)::int as rung,
  '0x' || encode(each.raw, 'hex') as raw, each.max_fee_per_gas, each.broadcast_at, each.last_error
from public.ladders ladder join public.transactions transaction on transaction.id = ladder.transaction_id,
  unnest(hashes, raws, max_fees_per_gas, accepted_at, last_errors)
    with ordinality as each(hash, raw, max_fee_per_gas, broadcast_at, last_error, place)`

/** The same for the same migrations, so that a server that outlives a run never serves an old template. */
const templateName = (): string => {
  const digest = createHash('sha256').update(TEST_VIEWS)
  for (const path of readdirSync(DB_FOLDER, { recursive: true }).map(String).sort()) {
    if (/\.(ts|sql)$/.test(path)) digest.update(path).update(readFileSync(new URL(path, DB_FOLDER)))
  }
  return `strongroom_template_${digest.digest('hex').slice(0, 16)}`
}

/** Makes the login users, and gives the superuser its own password again, with one round as theirs. */
const makeLoginUsers = async (sql: Sql): Promise<void> => {
  // They protect test data on this machine only, and each connection would wait for 4096 rounds.
  await sql`select set_config(name, '1', false) from pg_settings where name = 'scram_iterations'`
  for (const [user, role] of Object.entries(LOGIN_USERS)) {
    const [known] = await sql`select from pg_roles where rolname = ${user}`
    if (known === undefined) await sql`create role ${sql(user)} login in role ${sql(role)}`
    await sql.unsafe(`alter role ${user} password '${LOGIN_PASSWORD}'`)
  }
  await sql.unsafe(`alter role current_user password '${sql.options.pass}'`)
}

const buildTemplate = async (name: string, serverUrl: string): Promise<void> => {
  await onServer(serverUrl, async (sql) => {
    await sql`select pg_advisory_lock(${TEMPLATE_LOCK})`
    const [existing] = await sql`select from pg_database where datname = ${name}`
    if (existing !== undefined) return
    const unfinished = `${name}_unfinished`
    await sql`drop database if exists ${sql(unfinished)} with (force)`
    await sql`create database ${sql(unfinished)}`
    await migrate(urlOn(serverUrl, unfinished))
    await onServer(urlOn(serverUrl, unfinished), (made) => made.unsafe(TEST_VIEWS))
    await makeLoginUsers(sql)
    await sql`alter database ${sql(unfinished)} rename to ${sql(name)}`
  })
}

let template: Promise<string> | undefined

const migratedTemplate = (): Promise<string> => {
  const name = templateName()
  template ??= server()
    .then(({ url }) => buildTemplate(name, url))
    .then(() => name)
  return template
}

const connections = async (sql: Sql, database: string): Promise<readonly string[]> => {
  const rows = await sql<{ application_name: string; query: string }[]>`
    select application_name, query from pg_stat_activity where datname = ${database} and backend_type = 'client backend'`
  return rows.map((row) => `${row.application_name || 'a connection'} (last query: ${row.query.slice(0, 80)})`)
}

let dropping: Promise<void> | undefined

const dropDatabase = async (name: string): Promise<void> => {
  const leaked = await asSuperuser(async (sql) => {
    const deadline = Date.now() + LEAK_GRACE_MS
    // A closed connection is still listed for a moment.
    while (Date.now() < deadline && (await connections(sql, name)).length > 0) await sleep(20)
    return connections(sql, name)
  })
  const before = dropping
  dropping = asSuperuser(async (sql) => void (await sql`drop database ${sql(name)} with (force)`))
  // The close of the next database reports it.
  dropping.catch(() => {})
  await before
  if (leaked.length > 0) throw new Error(`The test left connections to its database open: ${leaked.join('; ')}.`)
}

const bindNetworks = async (sql: Sql): Promise<void> => {
  for (const row of networkRows({ environment: 'testnet', devnet: true })) {
    const chainId = row.family === 'evm' ? row.chainId : null
    await sql`insert into networks (name, family, chain_id) values (${row.network}, ${row.family}, ${chainId})`
  }
}

/** Nobody connects to it, so that others can be dropped and copied from there. */
const MAINTENANCE_DATABASE = 'template1'

/**
 * Makes the first database of a test's own server, which the test may restart, a copy of the template. It is deleted
 * with the server.
 * @param serverUrl of `startTestPostgres`
 */
export const createDatabaseOn = async (serverUrl: string): Promise<TestDatabase> => {
  const name = new URL(serverUrl).pathname.slice(1)
  await onServer(urlOn(serverUrl, MAINTENANCE_DATABASE), async (sql) => {
    await sql`drop database ${sql(name)}`
    await sql`create database ${sql(name)} template ${sql(templateName())} strategy file_copy`
  })
  return { ...accessTo({ url: serverUrl, sockets: '' }, name), url: serverUrl }
}

/**
 * Makes the tables in an empty database of a server that is no copy of the prepared cluster. @param url the
 * superuser's, with the database.
 */
export const fillDatabase = async (url: string): Promise<TestDatabase> => {
  await migrate(url)
  await onServer(url, makeLoginUsers)
  return accessTo({ url, sockets: '' }, new URL(url).pathname.slice(1))
}

const copyTemplate = madeAhead(async () => {
  const from = await migratedTemplate()
  const name = `test_${randomBytes(6).toString('hex')}`
  // Copying files is faster if nothing is flushed to the disk.
  await asSuperuser((sql) => sql`create database ${sql(name)} template ${sql(from)} strategy file_copy`)
  return name
})

/** A fresh database, copied from a template that holds the migrated schema. */
export const createDatabase = async (
  input: {
    /** Binds the built-in networks, as a process does at its start, for tests that write rows without a process. */
    readonly withNetworks?: boolean
    /** Its login users reach it by TCP, for what a Unix socket lacks. */
    readonly isByTcp?: boolean
  } = {},
): Promise<TestDatabase> => {
  const [name, run] = await Promise.all([copyTemplate(), server()])
  if (input.withNetworks) await onServer(urlOn(run.url, name), bindNetworks)
  const access = accessTo(input.isByTcp ? { ...run, sockets: '' } : run, name)
  const close = async () => {
    await access.close()
    await dropDatabase(name)
  }
  return { ...access, close }
}

/** A connection with the rights of each kind of process, and one of the superuser. */
export const connectAsEach = (database: TestDatabase) => {
  const as = (url: string) => connect(byTcp(url).href, 1)
  const { url, apiUrl, vaultUrl, workerUrl, consoleUrl } = database
  const each = {
    owner: as(url),
    api: as(apiUrl),
    vault: as(vaultUrl),
    worker: as(workerUrl),
    operators: as(consoleUrl),
  }
  return { ...each, end: () => Promise.all(Object.values(each).map((sql) => sql.end())) }
}
