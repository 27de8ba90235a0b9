import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { awaitPart, endOf } from './await-part.ts'
import { freePort } from './port.ts'
import { anyoneMayEnter, findPostgres, type SystemUser } from './postgres-binaries.ts'
import { readProcess } from './process-info.ts'
import { startTethered, type TetheredProcess } from './tether.ts'

/**
 * PostgreSQL from npm, for development and tests.
 *
 * PostgreSQL refuses to run as root. For root we run it as the user 65534 ("nobody"), who owns the data folder but
 * perhaps cannot enter the folders above it. On Linux we set the working directory while still root, and name the data
 * folder `/proc/self/cwd`, which needs no access to the folders above.
 */
export type PostgresServer = {
  /** The superuser's URL, password included. */
  readonly url: string
  readonly port: number
  readonly process: TetheredProcess
  /** Ends all sessions and the server; after `graceMs` with SIGKILL, from which the next start recovers. */
  readonly stop: (graceMs?: number) => Promise<void>
}

/** Options of a server. */
export type PostgresOptions = {
  /** Created if it does not exist. */
  readonly dataDirectory: string
  /** PostgreSQL's log; by default `<dataDirectory>.log`. */
  readonly logPath?: string
  /** A free port by default. */
  readonly port?: number
  /** False for tests: faster, but a crash of the machine may destroy the data. */
  readonly durable: boolean
  /** More settings of the server. */
  readonly settings?: Readonly<Record<string, string>>
}

const PASSWORD_FILE = 'strongroom.password'
const START_ATTEMPTS_MAX = 20
const START_ATTEMPT_PAUSE_MS = 250
const ORPHAN_TIMEOUT_MS = 60_000
const POLL_MS = 20
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' }

/** A cluster's folder, the user who owns it, and the name under which that user reaches it. */
type Cluster = { readonly directory: string; readonly binaries: string; readonly user: SystemUser | undefined }

const reachableName = async (cluster: Cluster, directory: string): Promise<string> => {
  if (cluster.user === undefined) return directory
  if (process.platform === 'linux') return '/proc/self/cwd'
  if (await anyoneMayEnter(dirname(directory))) return directory
  throw new Error(
    `PostgreSQL does not run as root, and the user ${cluster.user.uid}, as whom it runs for root, may not enter ` +
      `${dirname(directory)}: choose another folder, or start this as a normal user.`,
  )
}

/** Runs initdb. The password comes from standard input, so that its user needs no access to a file. */
const runInitdb = (cluster: Cluster, cwd: string, data: string, password: number): Promise<void> => {
  const args = [
    '-D',
    data,
    '-U',
    'postgres',
    '--pwfile',
    '/dev/stdin',
    '-A',
    'scram-sha-256',
    '-E',
    'UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-sync',
    '--no-instructions',
    '--set',
    'timezone=UTC',
    '--set',
    'log_timezone=UTC',
  ]
  return new Promise((done, fail) => {
    const child = spawn(join(cluster.binaries, 'bin', 'initdb'), args, {
      cwd,
      env: ENVIRONMENT,
      stdio: [password, 'ignore', 'pipe'],
      ...cluster.user,
    })
    let stderr = ''
    child.stderr?.on('data', (chunk) => {
      stderr += String(chunk)
    })
    child.once('error', fail)
    child.once('close', (code) => {
      if (code === 0) done()
      else fail(new Error(`initdb ended with exit code ${code}: ${stderr.trim()}`))
    })
  })
}

/** Creates the cluster under another name and renames it when it is complete, so an interrupted start leaves none. */
const initialise = async (cluster: Cluster): Promise<void> => {
  const prefix = `${basename(cluster.directory)}.new-`
  for (const name of await readdir(dirname(cluster.directory))) {
    // Remains of an interrupted start. If it still runs, the next start removes them.
    if (name.startsWith(prefix)) {
      await rm(join(dirname(cluster.directory), name), { recursive: true, force: true }).catch(() => undefined)
    }
  }
  const temporary = join(dirname(cluster.directory), `${prefix}${process.pid}`)
  await mkdir(temporary, { recursive: true, mode: 0o700 })
  const passwordPath = `${temporary}.password`
  await writeFile(passwordPath, randomBytes(24).toString('base64url'), { mode: 0o600 })
  if (cluster.user !== undefined) {
    await chown(temporary, cluster.user.uid, cluster.user.gid)
    await chown(passwordPath, cluster.user.uid, cluster.user.gid)
  }
  const password = await open(passwordPath)
  try {
    await runInitdb(cluster, temporary, await reachableName(cluster, temporary), password.fd)
  } finally {
    await password.close()
  }
  await rename(passwordPath, join(temporary, PASSWORD_FILE))
  await rename(temporary, cluster.directory)
}

const readLines = async (path: string): Promise<readonly string[]> =>
  (await readFile(path, 'utf8').catch(() => '')).split('\n')

/**
 * Makes sure that no other server uses this folder. PostgreSQL itself removes the pid file of a killed server, unless
 * its pid now belongs to another process of this user, which is common in containers. If a server's parent was killed,
 * the server is just shutting down, so we wait for it.
 */
const releasePidFile = async (directory: string): Promise<void> => {
  const path = join(directory, 'postmaster.pid')
  const deadline = Date.now() + ORPHAN_TIMEOUT_MS
  while (true) {
    const pid = Number((await readLines(path))[0])
    if (!(pid > 1)) return
    if (!/(^|\/)postgres(:| -D )/.test(readProcess(pid)?.command ?? '')) return await rm(path, { force: true })
    if (Date.now() > deadline)
      throw new Error(`Another PostgreSQL, process ${pid}, runs on ${directory}: stop it first.`)
    await sleep(POLL_MS)
  }
}

const serverSettings = (port: number, { durable, settings: further }: PostgresOptions): readonly string[] => {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    // A Unix socket needs a folder with a short path that both users can enter.
    unix_socket_directories: '',
    max_connections: 200,
    shared_preload_libraries: '',
    shared_buffers: '128MB',
    wal_level: 'minimal',
    max_wal_senders: 0,
    // Autovacuum sometimes enters a template database, and a database in use cannot be cloned.
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }),
    ...further,
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Resolves with undefined when the server is ready, or with its last messages if it fails. */
const waitUntilReady = async (
  server: TetheredProcess,
  cluster: Cluster,
  logPath: string,
): Promise<string | undefined> => {
  const waited = await awaitPart({ process: server, logPath }, async () => {
    // pg_ctl reads postmaster.pid like this: the pid on line 1, the state on line 8.
    const lines = await readLines(join(cluster.directory, 'postmaster.pid'))
    return Number(lines[0]) === server.pid && lines[7]?.trim() === 'ready' ? true : undefined
  })
  if ('found' in waited) return undefined
  await server.stop()
  return `It ${waited.failure}. ${await endOf(logPath)}`
}

const startServer = async (cluster: Cluster, options: PostgresOptions): Promise<PostgresServer> => {
  const logPath = options.logPath ?? `${cluster.directory}.log`
  const data = await reachableName(cluster, cluster.directory)
  const password = (await readFile(join(cluster.directory, PASSWORD_FILE), 'utf8')).trim()
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort())
    const server = await startTethered({
      program: join(cluster.binaries, 'bin', 'postgres'),
      args: ['-D', data, ...serverSettings(port, options)],
      env: ENVIRONMENT,
      cwd: cluster.directory,
      logPath,
      // PostgreSQL's fast shutdown ends sessions; SIGTERM would wait for them.
      stopSignal: 'SIGINT',
      ...(cluster.user === undefined ? {} : { user: cluster.user }),
    })
    const failure = await waitUntilReady(server, cluster, logPath)
    if (failure === undefined) {
      const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
      return { url, port, process: server, stop: server.stop }
    }
    // These failures pass: the last processes of a killed server end, and another free port can be chosen.
    const passes =
      /still in use/.test(failure) || (options.port === undefined && /Address already in use/.test(failure))
    if (!passes || attempt >= START_ATTEMPTS_MAX) {
      throw new Error(`PostgreSQL did not start. ${failure}`)
    }
    await sleep(START_ATTEMPT_PAUSE_MS)
  }
}

/**
 * Starts PostgreSQL on 127.0.0.1, and creates its data folder at first use. It ends with this process.
 * @throws Error with its last messages if it does not start
 */
export const startPostgres = async (options: PostgresOptions): Promise<PostgresServer> => {
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined
  const directory = resolve(options.dataDirectory)
  await mkdir(dirname(directory), { recursive: true })
  const cluster: Cluster = { directory, binaries: await findPostgres(user), user }
  const version = (await readLines(join(directory, 'PG_VERSION')))[0]
  if (version === '') await initialise(cluster)
  else await releasePidFile(directory)
  return await startServer(cluster, options)
}
