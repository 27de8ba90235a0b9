// What an operator reads when a process or a command cannot start, and how a worker waits that comes too early. Real
// processes; the commands run in this one, which is faster.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { migrate } from '../../db/migrate.ts'
import { freePort } from '../../devnet/port.ts'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { runCli } from '../support/cli.ts'
import { ROOT } from '../support/imports.ts'
import { isLeftOut, isLong, longTest, someOf } from '../support/long.ts'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { byTcp, createDatabase, type TestDatabase } from '../support/postgres.ts'
import { programPath } from '../support/programs.ts'
import { startService } from '../support/service.ts'
import { startVault, startVaultProcess } from '../support/vault.ts'
import { keyFile } from '../vault/support.ts'

const API = [programPath('src/main/api')]
const WORKER = [programPath('src/main/worker')]
const VAULT = [programPath('src/main/vault')]
const PROCESSES: readonly (readonly string[])[] = [API, WORKER, VAULT]
const COMMAND = ['project', 'list']
const MIGRATION = ['db', 'migrate']
const PASSWORD = 'a-password-that-nobody-may-see'

let migrated: TestDatabase
let superuser: Sql
let files: readonly ReturnType<typeof keyFile>[]
let folder: string
let rootKey: string
let keys: { SERVICE_KEY: string; IDENTITY_KEY: string; VAULT_SOCKET: string }
const emptyDatabase = `test_${randomBytes(6).toString('hex')}`

beforeAll(async () => {
  migrated = await createDatabase()
  superuser = postgres(migrated.url, { max: 1, onnotice: () => {} })
  await superuser`create database ${superuser(emptyDatabase)}`
  files = [1, 2, 3].map((fill) => keyFile(new Uint8Array(32).fill(fill)))
  const [root = '', service = '', identity = ''] = files.map(({ spec }) => spec)
  folder = await mkdtemp(join(tmpdir(), 'strongroom-start-'))
  rootKey = root
  keys = { SERVICE_KEY: service, IDENTITY_KEY: identity, VAULT_SOCKET: join(folder, 'vault.socket') }
})
afterAll(async () => {
  await superuser`drop database ${superuser(emptyDatabase)} with (force)`
  await superuser.end()
  for (const file of files) file.remove()
  await rm(folder, { recursive: true })
  await migrated.close()
})

const start = (args: readonly string[], variables: Readonly<Record<string, string>>) =>
  Bun.spawn(['bun', '--no-env-file', ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', ENVIRONMENT: 'testnet', PORT: '0', ...keys, ...variables },
    stdout: 'pipe',
    stderr: 'pipe',
  })

const run = async (args: readonly string[], variables: Readonly<Record<string, string>>) => {
  if (!PROCESSES.includes(args)) return runCli(args, { ENVIRONMENT: 'testnet', ...keys, ...variables })
  const child = start(args, { ...variables, ...(args === VAULT ? { ROOT_KEY: rootKey } : {}) })
  return { output: '', errors: await new Response(child.stderr).text(), exitCode: await child.exited }
}

/** What a process or a command that cannot start says, without its first words. */
const refusal = async (args: readonly string[], databaseUrl: string): Promise<string> => {
  const { errors, exitCode } = await run(args, { DATABASE_URL: databaseUrl })
  expect(exitCode).toBe(1)
  expect(errors).not.toContain(PASSWORD)
  expect(errors.trim().split('\n')).toHaveLength(1)
  return errors.trim().replace(/^The (?:server|worker|vault) cannot start: /, '')
}

const urlWith = (changes: { password?: string; port?: number; database?: string; query?: string; user?: string }) => {
  const url = byTcp(migrated.apiUrl)
  url.password = changes.password ?? url.password
  url.username = changes.user ?? url.username
  url.port = String(changes.port ?? url.port)
  url.pathname = changes.database ?? url.pathname
  url.search = changes.query ?? ''
  return url.href
}

describe.each([
  ['the API', API],
  ['the worker', WORKER],
  ['the vault', VAULT],
  ['a command', COMMAND],
  ['db migrate', MIGRATION],
] as const)('%s says in one sentence that', (_who, args) => {
  const oneOfProcesses = args === API || args === WORKER ? longTest : test

  oneOfProcesses('its password is wrong', async () => {
    expect(await refusal(args, urlWith({ password: PASSWORD }))).toStartWith(
      'PostgreSQL refuses the user or the password of DATABASE_URL: correct them',
    )
  })

  /** A command has no process of its own here, and what it says is made in the same place. */
  const inLongRun = isLong || !PROCESSES.includes(args) ? test : test.skip

  inLongRun('PostgreSQL is away', async () => {
    expect(await refusal(args, urlWith({ password: PASSWORD, port: await freePort() }))).toBe(
      'PostgreSQL cannot be reached: check that it runs, and the host and port in DATABASE_URL (ECONNREFUSED).',
    )
  })

  inLongRun('PostgreSQL has no socket in the folder of the URL', async () => {
    expect(await refusal(args, urlWith({ query: `?host=${folder}` }))).toBe(
      'PostgreSQL cannot be reached: check that it runs, and the host and port in DATABASE_URL (ENOENT).',
    )
  })

  inLongRun('there is no such database', async () => {
    expect(await refusal(args, urlWith({ database: '/nobody_made_it' }))).toStartWith(
      'The database of DATABASE_URL does not exist',
    )
  })

  inLongRun('the server has no TLS', async () => {
    expect(await refusal(args, urlWith({ query: '?sslmode=verify-full' }))).toStartWith(
      'PostgreSQL does not offer TLS, which the sslmode of DATABASE_URL demands',
    )
  })
})

describe.skipIf(!hasPgBouncer())('by way of a pooler', () => {
  const ITSELF = 'onnect to PostgreSQL itself ("The database" in docs/deployment.md).'
  const DROPPED = 'extra_float_digits,options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout'

  test.each(
    someOf(
      [
        [
          'refuses our settings: its own words are kept',
          {},
          `PostgreSQL, or a proxy in between, refuses the connection: "unsupported startup parameter: statement_timeout". If it is a proxy, c${ITSELF}`,
        ],
        [
          'drops our settings: each is named',
          { pool_mode: 'session', ignore_startup_parameters: DROPPED },
          `These settings do not hold on connections to PostgreSQL: statement_timeout, lock_timeout, idle_in_transaction_session_timeout, search_path, row_security, plan_cache_mode. A proxy in between drops them, or DATABASE_URL has other "options": c${ITSELF}`,
        ],
        [
          'pools transactions',
          { pool_mode: 'transaction', ignore_startup_parameters: DROPPED },
          `A proxy between this process and PostgreSQL pools transactions, so what belongs to a session is lost or shared: c${ITSELF}`,
        ],
      ],
      3,
    ),
  )('no command starts, and doctor says why, if it %s', async (_what, settings, sentence) => {
    const pooler = await startPgBouncer(migrated.apiUrl, settings)
    try {
      expect(await refusal(COMMAND, pooler.url)).toBe(sentence)
      const { output, exitCode } = await run(['doctor', '--json'], { DATABASE_URL: pooler.url })
      expect(exitCode).toBe(1)
      expect(output).toContain(JSON.stringify(sentence))
    } finally {
      await pooler.stop()
    }
  })

  longTest('no vault starts either', async () => {
    const pooler = await startPgBouncer(migrated.vaultUrl, {})
    try {
      expect(await refusal(VAULT, pooler.url)).toContain('"unsupported startup parameter: statement_timeout"')
    } finally {
      await pooler.stop()
    }
  })
})

describe.skipIf(isLeftOut('a certificate of nobody'))('a certificate of nobody', () => {
  let folder: string
  let server: PostgresServer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-tls-'))
    // PostgreSQL may run as another user here, who must own the key.
    await chmod(folder, 0o755)
    const [key, certificate] = [join(folder, 'tls.key'), join(folder, 'tls.crt')]
    const subject = ['-subj', '/CN=db.example.org', '-days', '1', '-keyout', key, '-out', certificate]
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], { stdio: 'ignore' })
    if (process.getuid?.() === 0) await chown(key, 65534, 65534)
    server = await startPostgres({
      dataDirectory: join(folder, 'data'),
      durable: false,
      settings: { ssl: 'on', ssl_key_file: key, ssl_cert_file: certificate },
    })
  })
  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test.each([
    ['the API', API],
    ['the worker', WORKER],
    ['the vault', VAULT],
    ['a command', COMMAND],
  ] as const)('is refused by %s, which says so', async (_who, args) => {
    expect(await refusal(args, `${server.url}?sslmode=verify-full`)).toStartWith(
      "PostgreSQL's TLS certificate cannot be verified",
    )
  })
})

const NO_SCHEMA =
  /^The database does not have the schema of this version \(it lacks abi_items\.\w+ and \d+ more\): run "bun run cli db migrate" with this version\.$/

test.each(
  someOf(
    [
      ['a command', COMMAND],
      ['the API', API],
      ['the vault', VAULT],
    ] as const,
    3,
  ),
)('%s says that the database is not migrated', async (_who, args) => {
  expect(await refusal(args, urlWith({ database: `/${emptyDatabase}` }))).toMatch(NO_SCHEMA)
})

test('db migrate says that its user has too few rights', async () => {
  expect(await refusal(MIGRATION, urlWith({ database: `/${emptyDatabase}` }))).toStartWith(
    'The user of DATABASE_URL has too few rights',
  )
})

/** The lines of a process's log, as they come. */
const follow = (child: ReturnType<typeof start>) => {
  let text = ''
  const ended = (async () => {
    for await (const chunk of child.stdout) text += Buffer.from(chunk).toString()
  })()
  const lines = () =>
    text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
  return async (what: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const line = lines().find((each) => each.includes(what))
      if (line !== undefined) return JSON.parse(line)
      if (child.exitCode !== null)
        throw new Error(`The process ended: ${text} ${await new Response(child.stderr).text()}`)
      await Promise.race([ended, Bun.sleep(20)])
    }
  }
}

longTest(
  'a worker that comes before everybody waits for the migration, then for the first vault, and then works',
  async () => {
    const urlOf = (url: string) => {
      const at = new URL(url)
      at.pathname = `/${emptyDatabase}`
      return at.href
    }
    const unknown = { ETHERUM_RPC_URL: 'http://127.0.0.1:1', BASE_MAX_FEE_GWAI: '1', POLYGON_MAX_FEE_GWEI: '500' }
    const many = { DATABASE_MAX_CONNECTIONS: '400' }
    const own = { DATABASE_URL: urlOf(migrated.workerUrl), VAULT_SOCKET: '', IDENTITY_KEY: '' }
    const worker = start(WORKER, { ...own, ...unknown, ...many })
    const logged = follow(worker)
    try {
      expect(await logged('"the worker waits"')).toMatchObject({ level: 40, reason: expect.stringMatching(NO_SCHEMA) })
      await migrate(urlOf(migrated.url))
      expect(await logged('not set up yet')).toMatchObject({ msg: 'the worker waits' })
      const { url, apiUrl, vaultUrl, workerUrl } = migrated
      const [ofOwner, ofApi, ofVault, ofWorker] = [url, apiUrl, vaultUrl, workerUrl].map(urlOf)
      const urls = { url: ofOwner, apiUrl: ofApi, vaultUrl: ofVault, workerUrl: ofWorker }
      const database = { name: emptyDatabase, ...urls, close: async () => {} } as TestDatabase
      const service = await startService({
        database,
        variables: { ...keys, DEVNET: 'false' },
        vaultVariables: { ROOT_KEY: rootKey },
      })
      try {
        expect(await logged('"working"')).toMatchObject({ networks: [] })
        expect(await logged('unknown variables')).toMatchObject({
          level: 40,
          variables: ['BASE_MAX_FEE_GWAI', 'ETHERUM_RPC_URL'],
        })
        expect(await logged('more connections than PostgreSQL has free')).toMatchObject({ level: 40, most: 411 })
      } finally {
        await service.close()
      }
    } finally {
      worker.kill('SIGTERM')
      expect(await worker.exited).toBe(0)
    }
  },
  120_000,
)

test.each(
  someOf(
    [
      ['the API', API],
      ['the worker', WORKER],
    ] as const,
    2,
  ),
)('%s does not start where it finds a root key', async (_who, args) => {
  for (const name of isLong ? ['ROOT_KEY', 'ROOT_KEY_NEXT'] : ['ROOT_KEY']) {
    const { errors, exitCode } = await run(args, { DATABASE_URL: migrated.apiUrl, [name]: rootKey })
    expect(exitCode).toBe(1)
    expect(errors).toContain(`cannot start: ${name} must not be set in this process: only the vault may have it.`)
    expect(errors).not.toContain(rootKey)
  }
})

longTest('a worker that waits ends at once when it is told to', async () => {
  const worker = start(WORKER, { DATABASE_URL: migrated.workerUrl, VAULT_SOCKET: '', IDENTITY_KEY: '' })
  await follow(worker)('"the worker waits"')
  worker.kill('SIGTERM')
  expect(await worker.exited).toBe(0)
})

longTest('an API says which networks it serves, and which variables it does not know', async () => {
  const vault = await startVault({
    ...keys,
    ROOT_KEY: rootKey,
    ENVIRONMENT: 'testnet',
    DATABASE_URL: migrated.vaultUrl,
    LOG_LEVEL: 'silent',
  })
  const api = start(API, {
    DATABASE_URL: migrated.apiUrl,
    ETHEREUM_RPC_URL: 'http://127.0.0.1:1',
    ETHERUM_RPC_URL: 'http://127.0.0.1:1/secret',
    DATABASE_MAX_CONECTIONS: '5',
    METRICS_HOST: '::1',
    NODE_ENV: 'production',
  })
  const logged = follow(api)
  expect(await logged('"listening"')).toMatchObject({ networks: ['Ethereum'] })
  const most = { most: 16, usable: expect.any(Number), free: expect.any(Number) }
  expect(await logged('that this process may take')).toMatchObject(most)
  const warning = await logged('unknown variables')
  expect(warning).toMatchObject({ variables: ['DATABASE_MAX_CONECTIONS', 'ETHERUM_RPC_URL'] })
  expect(JSON.stringify(warning)).not.toContain('secret')
  api.kill('SIGTERM')
  expect(await api.exited).toBe(0)
  await vault.close()
})

longTest('a vault says how many connections it may take, and which variables it does not know', async () => {
  const vault = await startVaultProcess({
    ENVIRONMENT: 'testnet',
    ROOT_KEY: rootKey,
    DATABASE_URL: migrated.vaultUrl,
    VAULT_SOCKET: `${keys.VAULT_SOCKET}.own`,
    VAULT_JOURNEL: '/secret',
  })
  const lines = vault
    .output()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const connections = lines.find(({ msg }) => msg === 'connections to the database that this process may take')
  expect(connections).toMatchObject({ most: 9, usable: expect.any(Number), free: expect.any(Number) })
  expect(lines.find(({ variables }) => variables)).toMatchObject({ level: 40, variables: ['VAULT_JOURNEL'] })
  expect(vault.output()).not.toContain('secret')
  expect(await vault.stop()).toBe(0)
})
