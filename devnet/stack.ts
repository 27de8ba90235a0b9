import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Network } from '../db/words.ts'
import { type EvmNetworkRow, SUBSTRATE_NETWORKS, type SubstrateNetwork } from '../src/platform/networks.ts'
import { ANVIL_FUNDED_PRIVATE_KEY, type Anvil, startAnvil } from './anvil.ts'
import { awaitPart, endOf } from './await-part.ts'
import { deployCanonicalContracts } from './canonical-contracts.ts'
import {
  CHOPSTICKS_FUNDED_PRIVATE_KEY,
  CHOPSTICKS_FUNDED_PUBLIC_KEY,
  type Chopsticks,
  LOCAL_METADATA_PIN,
  startChopsticks,
} from './chopsticks.ts'
import { consoleLink } from './dev-console.ts'
import { type DevDatabase, prepareDatabase } from './dev-database.ts'
import { type DevFolder, type DevProject, ensureKeys, parseProject, readProject, writeProject } from './dev-folder.ts'
import type { DevJson } from './dev-json.ts'
import { readPorts, writePorts } from './dev-ports.ts'
import { addProjectWallet, fundSubstrateWallet, fundWallet, projectWallet, TESTNET_SECRET } from './dev-project.ts'
import { EVM_ROWS, NETWORKS_FILE } from './networks.ts'
import { createParts, type Parts } from './parts.ts'
import { startPostgres } from './postgres.ts'
import type { Progress } from './progress.ts'
import { startTethered, type TetheredProcess } from './tether.ts'

/** Everything that `bun run dev` runs. */
type Stack = {
  /**
   * Starts everything but the console.
   * @returns the details for users and programs, the variables of a command, and what starts the console afterwards and
   * gives a link to it, and its port. @throws Error if a part does not start
   */
  readonly start: () => Promise<{
    readonly dev: DevJson
    readonly commandEnv: Environment
    readonly startConsole: () => Promise<{ readonly link: string; readonly port: number }>
  }>
  /** Resolves with a sentence when a part ends unexpectedly. */
  readonly failed: Promise<string>
  /** Stops in the opposite direction of the data: API and worker first, then chains and database. */
  readonly stop: () => Promise<void>
}

/** Options of a stack. */
type StackOptions = {
  readonly folder: DevFolder
  readonly port: number
  /** How long the parts of a killed stack may still hold their ports. */
  readonly portGraceMs: number
  /** The environment variables that child processes inherit: where programs and the home folder are. */
  readonly inherited: Readonly<Record<string, string | undefined>>
  readonly progress: Progress
}

/** @param portBefore as `readPorts` says; the names are those of the logs. */
type Starting = StackOptions & { readonly portBefore: Awaited<ReturnType<typeof readPorts>> }

type Chains = {
  readonly evm: ReadonlyMap<Network, Anvil>
  readonly substrate: ReadonlyMap<SubstrateNetwork, Chopsticks>
}
type ServicePart = { readonly name: string; readonly process: TetheredProcess; readonly logPath: string }
type Environment = Readonly<Record<string, string | undefined>>

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const BLOCK_TIME_SECONDS = 1
const SUBSTRATE_BLOCK_TIME_SECONDS = 3
/** How long one question to the API may take. */
const ANSWER_TIMEOUT_MS = 5_000
const SERVICE_GRACE_MS = 3000
/** PostgreSQL can recover after this, and together with the services' own time the stack ends within 5 s. */
const DATABASE_GRACE_MS = 1500
/** Without this, Bun would read a `.env` file that is meant for something else. */
const BUN_FLAGS = ['--no-env-file']

const at = (port: number | undefined): { readonly port?: number } => (port === undefined ? {} : { port })

const baseUrlOf = (port: number): string => `http://localhost:${port}`

/** Waits for all, so that nothing is still starting after one has failed. @throws the first error */
const settled = async <Work extends readonly unknown[] | []>(work: Work) => {
  await Promise.allSettled(work)
  return await Promise.all(work)
}

/** The URL of each node. Substrate clients use WebSocket, on the same port as HTTP. */
const nodesOf = ({ evm, substrate }: Chains) => [
  ...[...evm].map(([network, { rpcUrl }]) => [network, rpcUrl] as const),
  ...[...substrate].map(([network, { wsUrl }]) => [network, wsUrl] as const),
]

const environmentOf = (options: StackOptions, chains: Chains): Environment => ({
  ...options.inherited,
  ENVIRONMENT: 'testnet',
  DEVNET: 'true',
  NETWORKS_FILE,
  HOST: '127.0.0.1',
  PORT: String(options.port),
  PUBLIC_BASE_URL: baseUrlOf(options.port),
  ...Object.fromEntries(nodesOf(chains).map(([network, rpcUrl]) => [`${network.toUpperCase()}_RPC_URL`, rpcUrl])),
  ...Object.fromEntries(SUBSTRATE_NETWORKS.map((each) => [`${each.toUpperCase()}_METADATA_PIN`, LOCAL_METADATA_PIN])),
  RATE_LIMIT_PER_SECOND: '1000',
  LOG_LEVEL: 'info',
  OUTGOING_ALLOWED_HOSTS: 'localhost,127.0.0.0/8,::1',
})

/**
 * Resolves with what a service shows when it is ready. @throws Error with its last messages if it does not get there
 */
const ready = async <Shown>(part: ServicePart, look: () => Promise<Shown | undefined>): Promise<Shown> => {
  const waited = await awaitPart(part, look)
  if ('found' in waited) return waited.found
  const { name, logPath } = part
  throw new Error(`The ${name} is not ready: it ${waited.failure}. ${await endOf(logPath)}`)
}

const isReady = async (baseUrl: string): Promise<true | undefined> => {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
  const response = await fetch(`${baseUrl}/readyz`, { signal }).catch(() => undefined)
  return response?.status === 200 ? true : undefined
}

const isListening = async ({ logPath }: ServicePart): Promise<true | undefined> =>
  (await readFile(logPath, 'utf8').catch(() => '')).includes('"msg":"listening"') || undefined

/** The worker chooses a free port and logs it; a port that we choose could be taken by then. */
const readMetricsUrl = async ({ logPath }: ServicePart): Promise<string | undefined> =>
  /"metricsUrl":"([^"]+)"/.exec(await readFile(logPath, 'utf8').catch(() => ''))?.[1]

/** The console chooses a free port, too. */
const readOrigin = async ({ logPath }: ServicePart): Promise<string | undefined> =>
  /"origin":"([^"]+)"/.exec(await readFile(logPath, 'utf8').catch(() => ''))?.[1]

const createProject = async (env: Environment): Promise<DevProject> => {
  const args = [...BUN_FLAGS, 'src/main/cli.ts', 'project', 'create', '--name', 'Dev project', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: REPOSITORY, env: { ...env } })
  return parseProject(stdout)
}

const describe = (
  service: { readonly baseUrl: string; readonly workerMetricsUrl: string },
  project: DevProject,
  database: DevDatabase,
  chains: Chains,
): DevJson => ({
  base_url: service.baseUrl,
  metrics_urls: [`${service.baseUrl}/metrics`, service.workerMetricsUrl],
  ...project,
  developer_secret: TESTNET_SECRET,
  database_url: database.ownerUrl,
  networks: Object.fromEntries([
    ...[...chains.evm].map(([network, { rpcUrl, chainId }]) => [
      network,
      { rpc_url: rpcUrl, chain_id: chainId, funded_private_key: ANVIL_FUNDED_PRIVATE_KEY },
    ]),
    ...[...chains.substrate].map(([network, { wsUrl }]) => [
      network,
      { rpc_url: wsUrl, chain_id: 0, funded_private_key: CHOPSTICKS_FUNDED_PRIVATE_KEY },
    ]),
  ]),
})

const startDatabase = async (
  { folder, progress, portBefore }: Starting,
  parts: Parts,
): Promise<DevDatabase & { readonly port: number }> => {
  const logPath = folder.logOf('postgres')
  const server = await progress.step('PostgreSQL', async () =>
    startPostgres({
      dataDirectory: folder.postgres,
      logPath,
      durable: true,
      ...at(await portBefore('postgres')),
    }),
  )
  const stop = () => server.stop(DATABASE_GRACE_MS)
  await parts.keep({ name: 'postgres', kind: 'foundation', process: server.process, logPath, stop })
  const urls = await progress.step('tables of the database', () => prepareDatabase(server.url))
  return { ...urls, port: server.port }
}

const startChain = async (
  { folder, portBefore }: Starting,
  parts: Parts,
  { network, chainId, maxTransactionGas }: EvmNetworkRow,
): Promise<Anvil> => {
  const name = network.toLowerCase()
  const logPath = folder.logOf(name)
  const anvil = await startAnvil({
    chainId,
    maxTransactionGas,
    blockTimeSeconds: BLOCK_TIME_SECONDS,
    statePath: folder.stateOf(network),
    logPath,
    ...at(await portBefore(name)),
  })
  await parts.keep({ name, kind: 'foundation', process: anvil.process, logPath, stop: anvil.stop })
  await deployCanonicalContracts(anvil.rpcUrl)
  return anvil
}

const startSubstrateChain = async (
  { folder, portBefore }: Starting,
  parts: Parts,
  network: SubstrateNetwork,
): Promise<Chopsticks> => {
  const name = network.toLowerCase()
  const logPath = folder.logOf(name)
  const chain = await startChopsticks({
    network,
    blockTimeSeconds: SUBSTRATE_BLOCK_TIME_SECONDS,
    statePath: folder.archiveOf(network),
    logPath,
    ...at(await portBefore(name)),
  })
  const part = { name, process: chain.process, logPath, stop: chain.stop }
  await parts.keep({ ...part, kind: 'foundation', isDispensable: true })
  return chain
}

const startChains = async (options: Starting, parts: Parts): Promise<Chains> => {
  const { progress } = options
  const [evm, substrate] = await settled([
    settled(
      EVM_ROWS.map(async (row) => {
        const chain = await progress.step(`chain ${row.network}`, () => startChain(options, parts, row))
        return [row.network, chain] as const
      }),
    ),
    settled(
      SUBSTRATE_NETWORKS.map(async (network) => {
        const chain = await progress.step(`chain ${network}`, () => startSubstrateChain(options, parts, network))
        return [network, chain] as const
      }),
    ),
  ])
  return { evm: new Map(evm), substrate: new Map(substrate) }
}

const startService = async (
  { folder }: StackOptions,
  parts: Parts,
  service: { readonly name: string; readonly script: string; readonly env: Environment },
): Promise<ServicePart> => {
  const { name, script, env } = service
  const logPath = folder.logOf(name)
  const child = await startTethered({
    program: process.execPath,
    args: [...BUN_FLAGS, script],
    env,
    cwd: REPOSITORY,
    logPath,
    stopSignal: 'SIGTERM',
  })
  await parts.keep({ name, kind: 'service', process: child, logPath, stop: () => child.stop(SERVICE_GRACE_MS) })
  return { name, process: child, logPath }
}

/** The project of an earlier start if the database still has it, else a new one. */
const prepareProject = async ({ folder, port }: StackOptions, environment: Environment): Promise<DevProject> => {
  const project = await readProject(folder)
  const isKept = async (found: DevProject) =>
    (await projectWallet({ baseUrl: baseUrlOf(port), project: found, network: 'Ethereum' })) !== undefined
  if (project !== undefined && (await isKept(project))) return project
  const created = await createProject(environment)
  await writeProject(folder, created)
  return created
}

/** Gives the project a wallet with coins on every network. */
const fundProject = async ({ port }: StackOptions, chains: Chains, project: DevProject): Promise<void> => {
  const addressOn = async (network: Network): Promise<string> => {
    const place = { baseUrl: baseUrlOf(port), project, network }
    return (await projectWallet(place)) ?? (await addProjectWallet(place))
  }
  for (const [network, chain] of chains.evm) await fundWallet(chain, await addressOn(network))
  for (const [network, chain] of chains.substrate) {
    for (const account of [CHOPSTICKS_FUNDED_PUBLIC_KEY, await addressOn(network)]) {
      await fundSubstrateWallet(chain, account)
    }
  }
}

const portIn = (url: string): number => Number(new URL(url).port)

type Foundations = {
  readonly database: Awaited<ReturnType<typeof startDatabase>>
  readonly chains: Chains
}

/** The variables of each process and of a command. */
const environmentsOf = (options: StackOptions, { database, chains }: Foundations) => {
  const { folder } = options
  const environment = environmentOf(options, chains)
  const ofWorker = { ...environment, SERVICE_KEY: `file:${folder.keyOf('service')}` }
  const ofApi = { ...ofWorker, IDENTITY_KEY: `file:${folder.keyOf('identity')}`, VAULT_SOCKET: folder.vaultSocket }
  return {
    vault: {
      ...environment,
      ROOT_KEY: `file:${folder.keyOf('root')}`,
      VAULT_SOCKET: folder.vaultSocket,
      VAULT_JOURNAL: folder.vaultJournal,
      DATABASE_URL: database.vaultUrl,
    },
    api: { ...ofApi, DATABASE_URL: database.apiUrl },
    worker: { ...ofWorker, DATABASE_URL: database.workerUrl },
    console: { ...ofApi, DATABASE_URL: database.consoleUrl },
    owner: { ...ofApi, DATABASE_URL: database.ownerUrl },
  }
}

type Environments = ReturnType<typeof environmentsOf>

/** @returns the project, and where the worker's metrics are. */
const startServices = async (
  options: Starting,
  parts: Parts,
  { env, chains }: { env: Environments; chains: Chains },
) => {
  const { port, progress, portBefore } = options
  await progress.step('vault', async () => {
    const vault = await startService(options, parts, { name: 'vault', script: 'src/main/vault.ts', env: env.vault })
    await ready(vault, () => isListening(vault))
  })
  await progress.step('API', async () => {
    const api = await startService(options, parts, { name: 'api', script: 'src/main/api.ts', env: env.api })
    await ready(api, () => isReady(baseUrlOf(port)))
  })
  const workerEnv = { ...env.worker, WORKER_METRICS_PORT: String((await portBefore('worker')) ?? 0) }
  const worker = await startService(options, parts, { name: 'worker', script: 'src/main/worker.ts', env: workerEnv })
  const prepare = async (): Promise<DevProject> => {
    const project = await progress.step('project', () => prepareProject(options, env.owner))
    await progress.step('coins on all networks', () => fundProject(options, chains, project))
    return project
  }
  return await settled([prepare(), progress.step('worker', () => ready(worker, () => readMetricsUrl(worker)))])
}

/** The dev stack of one folder. Nothing runs before `start`. */
export const createStack = (options: StackOptions): Stack => {
  const { folder, port, portGraceMs } = options
  const parts = createParts()

  const start: Stack['start'] = async () => {
    await ensureKeys(folder)
    const starting = { ...options, portBefore: await readPorts(folder, { graceMs: portGraceMs }) }
    const [database, chains] = await settled([startDatabase(starting, parts), startChains(starting, parts)])
    const env = environmentsOf(options, { database, chains })
    const [project, workerMetricsUrl] = await startServices(starting, parts, { env, chains })
    const ports = {
      postgres: database.port,
      ...Object.fromEntries(nodesOf(chains).map(([network, url]) => [network.toLowerCase(), portIn(url)])),
      worker: portIn(workerMetricsUrl),
    }

    const startConsole = async () => {
      const consoleEnv = { ...env.console, CONSOLE_PORT: String((await starting.portBefore('console')) ?? 0) }
      const service = { name: 'console', script: 'src/main/console.ts', env: consoleEnv }
      const console = await startService(options, parts, service)
      const origin = await ready(console, () => readOrigin(console))
      await writePorts(folder, { ...ports, console: portIn(origin) })
      return { link: await consoleLink(env.api, origin), port: portIn(origin) }
    }
    return {
      dev: describe({ baseUrl: baseUrlOf(port), workerMetricsUrl }, project, database, chains),
      commandEnv: Object.fromEntries(Object.entries(env.api).filter(([name]) => !(name in options.inherited))),
      startConsole,
    }
  }
  return { start, failed: parts.failed, stop: parts.stop }
}
