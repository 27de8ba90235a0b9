import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { EVM_NETWORKS, type EvmNetwork } from '../../db/words.ts'
import { evmNetworkRow } from '../chains/networks.ts'
import { ANVIL_FUNDED_PRIVATE_KEY, type Anvil, startAnvil } from './anvil.ts'
import { deployCanonicalContracts } from './canonical-contracts.ts'
import { type DevDatabase, prepareDatabase } from './dev-database.ts'
import { type DevFolder, type DevProject, ensureKeys, parseProject, readProject, writeProject } from './dev-folder.ts'
import type { DevJson } from './dev-json.ts'
import { fundWallet, projectWallet } from './dev-project.ts'
import { startPostgres } from './postgres.ts'
import { startTethered, type TetheredProcess } from './tether.ts'

/** Everything that `bun run dev` runs. */
export type Stack = {
  /** Starts it all. @returns what there is to say about it. @throws Error when a part does not start */
  readonly start: () => Promise<DevJson>
  /** Resolves with a sentence when a part ends that nobody asked to end. */
  readonly failed: Promise<string>
  /** Ends what was started, in the opposite direction of the data: API and worker, then chains and database. */
  readonly stop: () => Promise<void>
}

/** Where, and for whom. */
export type StackOptions = {
  readonly folder: DevFolder
  readonly port: number
  /** What child processes take over from this one's environment: where to find programs and the home folder. */
  readonly inherited: Readonly<Record<string, string | undefined>>
}

type Chains = Readonly<Record<EvmNetwork, Anvil>>
type Stop = () => Promise<void>

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const BLOCK_TIME_SECONDS = 1
const READY_TIMEOUT_MS = 30_000
const POLL_MS = 20
const SERVICE_GRACE_MS = 3000
/** On a testnet every project has the same secret. */
const TESTNET_SECRET = 'testnet-secret'

/** Bun would otherwise read a `.env` file meant for something else. */
const BUN_FLAGS = ['--no-env-file']

const lastLines = async (logPath: string): Promise<string> =>
  (await readFile(logPath, 'utf8').catch(() => '')).trim().split('\n').slice(-5).join('\n')

const startChain = async (folder: DevFolder, network: EvmNetwork): Promise<Anvil> => {
  const { chainId } = evmNetworkRow({ network, environment: 'testnet', devnet: true })
  return await startAnvil({
    chainId,
    blockTimeSeconds: BLOCK_TIME_SECONDS,
    statePath: folder.stateOf(network),
    logPath: folder.logOf(network.toLowerCase()),
  })
}

const environmentOf = (options: StackOptions, chains: Chains): Record<string, string | undefined> => ({
  ...options.inherited,
  ENVIRONMENT: 'testnet',
  DEVNET: 'true',
  HOST: '127.0.0.1',
  PORT: String(options.port),
  PUBLIC_BASE_URL: `http://localhost:${options.port}`,
  SERVICE_KEY: `file:${options.folder.keyOf('service')}`,
  ETHEREUM_RPC_URL: chains.Ethereum.rpcUrl,
  POLYGON_RPC_URL: chains.Polygon.rpcUrl,
  BASE_RPC_URL: chains.Base.rpcUrl,
  AVALANCHE_RPC_URL: chains.Avalanche.rpcUrl,
  RATE_LIMIT_PER_SECOND: '1000',
  LOG_LEVEL: 'info',
})

const waitUntilReady = async (api: TetheredProcess, baseUrl: string, logPath: string): Promise<void> => {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (api.isRunning() && Date.now() < deadline) {
    const response = await fetch(`${baseUrl}/readyz`).catch(() => undefined)
    if (response?.status === 200) return
    await sleep(POLL_MS)
  }
  throw new Error(`The API did not become ready. ${logPath} ends:\n${await lastLines(logPath)}`)
}

const createProject = async (env: Record<string, string | undefined>): Promise<DevProject> => {
  const args = [...BUN_FLAGS, 'src/cli.ts', 'project', 'create', '--name', 'Dev project', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: REPOSITORY, env: { ...env } })
  return parseProject(stdout)
}

const describe = (baseUrl: string, project: DevProject, database: DevDatabase, chains: Chains): DevJson => ({
  base_url: baseUrl,
  ...project,
  developer_secret: TESTNET_SECRET,
  database_url: database.ownerUrl,
  networks: Object.fromEntries(
    EVM_NETWORKS.map((network) => [
      network,
      {
        rpc_url: chains[network].rpcUrl,
        chain_id: chains[network].chainId,
        funded_private_key: ANVIL_FUNDED_PRIVATE_KEY,
      },
    ]),
  ),
})

/** The dev stack of one folder; nothing runs before `start`. */
export const createStack = (options: StackOptions): Stack => {
  const { folder, port } = options
  const baseUrl = `http://localhost:${port}`
  const services: Stop[] = []
  const foundations: Stop[] = []
  const failure = Promise.withResolvers<string>()
  let ended = false

  /** Watches a process that was started, and remembers how it is stopped. Too late for a stack that is ending. */
  const keep = async (name: string, child: TetheredProcess, stop: Stop, stops: Stop[]): Promise<void> => {
    if (ended) {
      await stop()
      throw new Error('The stack was stopped while it was starting.')
    }
    stops.push(stop)
    void child.exited.then(async (reason) => {
      if (!ended)
        failure.resolve(`Warning: ${name} ended unexpectedly (${reason}). Its messages: ${folder.logOf(name)}`)
    })
  }

  const startDatabase = async (): Promise<DevDatabase> => {
    const logPath = folder.logOf('postgres')
    const server = await startPostgres({ dataDirectory: folder.postgres, logPath, durable: true })
    await keep('postgres', server.process, server.stop, foundations)
    return await prepareDatabase(server.url)
  }

  const startChains = async (): Promise<Chains> => {
    const started = await Promise.allSettled(
      EVM_NETWORKS.map(async (network) => {
        const anvil = await startChain(folder, network)
        await keep(network.toLowerCase(), anvil.process, anvil.stop, foundations)
        await deployCanonicalContracts(anvil.rpcUrl)
        return [network, anvil] as const
      }),
    )
    const entries = started.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return result.value
    })
    return Object.fromEntries(entries) as Chains
  }

  const startService = async (name: string, script: string, env: Record<string, string | undefined>) => {
    const child = await startTethered({
      program: process.execPath,
      args: [...BUN_FLAGS, script],
      env,
      cwd: REPOSITORY,
      logPath: folder.logOf(name),
      stopSignal: 'SIGTERM',
    })
    await keep(name, child, () => child.stop(SERVICE_GRACE_MS), services)
    return child
  }

  /** The project of an earlier start where the database still knows it, else a new one, with money on every network. */
  const prepareProject = async (chains: Chains, env: Record<string, string | undefined>): Promise<DevProject> => {
    let project = await readProject(folder)
    if (project !== undefined && !(await projectWallet({ baseUrl, project, network: 'Ethereum' }))) project = undefined
    if (project === undefined) {
      project = await createProject(env)
      await writeProject(folder, project)
    }
    for (const network of EVM_NETWORKS) {
      const address = await projectWallet({ baseUrl, project, network })
      if (address === undefined) throw new Error(`The new project has no project wallet on ${network}.`)
      await fundWallet(chains[network], address)
    }
    return project
  }

  const start = async (): Promise<DevJson> => {
    await ensureKeys(folder)
    const [databaseResult, chainsResult] = await Promise.allSettled([startDatabase(), startChains()])
    if (databaseResult.status === 'rejected') throw databaseResult.reason
    if (chainsResult.status === 'rejected') throw chainsResult.reason
    const [database, chains] = [databaseResult.value, chainsResult.value]

    const env = environmentOf(options, chains)
    const withRootKey = { ...env, ROOT_KEY: `file:${folder.keyOf('root')}` }
    const api = await startService('api', 'src/server.ts', { ...withRootKey, DATABASE_URL: database.apiUrl })
    await waitUntilReady(api, baseUrl, folder.logOf('api'))
    // A worker has no root key, and so refuses a database that no API has bound to one yet.
    await startService('worker', 'jobs/worker.ts', { ...env, DATABASE_URL: database.workerUrl })
    const project = await prepareProject(chains, { ...withRootKey, DATABASE_URL: database.ownerUrl })
    return describe(baseUrl, project, database, chains)
  }

  const stop = async (): Promise<void> => {
    ended = true
    await Promise.allSettled(services.map((each) => each()))
    await Promise.allSettled(foundations.map((each) => each()))
  }
  return { start, failed: failure.promise, stop }
}
