import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../../db/words.ts'
import { createApp } from '../../src/api/app.ts'
import { createOperatorCtx } from '../../src/main/contexts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { SUBSTRATE_NETWORKS } from '../../src/platform/networks.ts'
import { documentCheck } from './document.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { programPath } from './programs.ts'
import { LOCAL_METADATA_PINS } from './substrate.ts'
import { startVault } from './vault.ts'

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // Tests read the same JSON as a client.
  // biome-ignore lint/suspicious/noExplicitAny: a client has no types either
  readonly json: any
}

export type Call = {
  readonly method?: string
  readonly body?: unknown
  /** Sent unchanged, instead of `body`. */
  readonly rawBody?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Record<string, string | undefined>
}

const keyVariables = async (names: readonly string[], folder: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(
      names.map(async (name) => {
        const path = join(folder, name.toLowerCase())
        await writeFile(path, randomBytes(32), { mode: 0o600 })
        return [name, `file:${path}`] as const
      }),
    ),
  )

const variablesOf = async (input: {
  readonly database: TestDatabase
  readonly folder: string
  readonly rpcUrls: Partial<Record<Network, string>>
}): Promise<Record<string, string>> => {
  return {
    ENVIRONMENT: 'testnet',
    DEVNET: 'true',
    DATABASE_URL: input.database.apiUrl,
    ...(await keyVariables(['SERVICE_KEY', 'IDENTITY_KEY'], input.folder)),
    VAULT_SOCKET: join(input.folder, 'vault.socket'),
    RATE_LIMIT_PER_SECOND: '100000',
    RATE_LIMIT_BYTES_PER_SECOND: '999999999',
    // Tests send much at once on busy machines.
    EXPECTED_WAIT_MAX_MS: '60000',
    LOG_LEVEL: 'silent',
    PUBLIC_BASE_URL: 'http://localhost:3000',
    ...Object.fromEntries(
      SUBSTRATE_NETWORKS.map((each) => [`${each.toUpperCase()}_METADATA_PIN`, LOCAL_METADATA_PINS]),
    ),
    ...Object.fromEntries(
      Object.entries(input.rpcUrls).map(([network, url]) => [`${network.toUpperCase()}_RPC_URL`, url]),
    ),
  }
}

/** The whole service on its own database: the API in this process over real HTTP, and worker processes on demand. */
export const startService = async (
  input: {
    readonly rpcUrls?: Partial<Record<Network, string>>
    readonly variables?: Record<string, string>
    readonly vaultVariables?: Record<string, string>
    /** false: `variables` name the socket of another one. */
    readonly hasVault?: boolean
    /** By default a fresh one. */
    readonly database?: TestDatabase
    /** By default a free one. */
    readonly port?: number
  } = {},
) => {
  const database = input.database ?? (await createDatabase())
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-service-'))
  const variables = { ...(await variablesOf({ database, folder, rpcUrls: input.rpcUrls ?? {} })), ...input.variables }
  const vaultVariables: Record<string, string> = {
    ...variables,
    ...{ SERVICE_KEY: '', IDENTITY_KEY: '', DATABASE_URL: database.vaultUrl },
    ...(await keyVariables(['ROOT_KEY'], folder)),
    ...input.vaultVariables,
  }
  const vault = input.hasVault === false ? null : await startVault(vaultVariables)
  const ctx = await createOperatorCtx({ config: readConfig(variables), process: 'test' })
  const app = createApp(ctx)
  const check = documentCheck(ctx, app)
  const server = listen({
    fetch: ctx.requests.watch(app.fetch),
    hostname: '127.0.0.1',
    port: input.port ?? 0,
    log: ctx.log,
  })
  const baseUrl = `http://127.0.0.1:${server.port}`
  const project = await createProject(ctx, { name: 'Test', actor: 'operator' })
  const workers = new Set<ReturnType<typeof Bun.spawn>>()

  const startWorker = (changes: Record<string, string> = {}) => {
    const worker = Bun.spawn(['bun', '--no-env-file', programPath('src/main/worker')], {
      env: {
        PATH: process.env.PATH ?? '',
        ...variables,
        IDENTITY_KEY: '',
        VAULT_SOCKET: '',
        DATABASE_URL: database.workerUrl,
        LOG_LEVEL: 'warn',
        ...changes,
      },
      stdout: 'inherit',
      stderr: 'inherit',
    })
    workers.add(worker)
    return worker
  }

  return {
    baseUrl,
    ctx,
    database,
    project,
    /** For an API's process, and a command's. */
    variables,
    /** For a vault's process. */
    vaultVariables,
    startWorker,
    /** The vault writes the refusals that it has only counted. */
    flushRefusals: async () => vault?.flushRefusals(),
    /** The vault looks at the catalogue of the database, as it does every minute. */
    lookAtCatalogue: async () => vault?.lookAtCatalogue(),
    /** @param at another API process. */
    as: (who: { readonly projectId: string; readonly apiKey: string }, at = baseUrl) => clientOf(at, who, check),
    ...clientOf(baseUrl, project, check),
    close: async () => {
      for (const worker of workers) {
        if (worker.exitCode === null) worker.kill('SIGTERM')
        await worker.exited
      }
      await server.stop(true)
      await ctx.tracer.close()
      await ctx.close({ timeoutSeconds: 5 })
      await vault?.close()
      await database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type Service = Awaited<ReturnType<typeof startService>>

/** src/platform/queue.ts. */
const TURN_REFUSED = /^Too many requests are waiting/
const POSTED_MAX = 20

const clientOf = (
  baseUrl: string,
  who: { readonly projectId: string; readonly apiKey: string },
  check: ReturnType<typeof documentCheck>,
) => {
  const call = async (path: string, { method, body, rawBody, headers = {} }: Call = {}): Promise<Answer> => {
    const sent: Record<string, string | undefined> = {
      authorization: `Bearer ${who.apiKey}`,
      'x-walletkit-project-id': who.projectId,
      ...(body === undefined && rawBody === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const payload = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
    const verb = method ?? (payload === undefined ? 'GET' : 'POST')
    const response = await fetch(baseUrl + path, {
      method: verb,
      headers: Object.fromEntries(
        Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
      ),
      ...(payload === undefined ? {} : { body: payload }),
    })
    const text = await response.text()
    const answer = { status: response.status, headers: response.headers, text, json: parsed(text) }
    check({ method: verb, path, answer })
    return answer
  }

  const postOnce = (path: string, body: unknown, headers?: Record<string, string | undefined>) =>
    call(path, { body, ...(headers === undefined ? {} : { headers }) })

  /**
   * Does what a refusal tells, as clients do: on a slow machine the service refuses some of those that wait for one
   * owner or signer.
   */
  const post: typeof postOnce = async (...request) => {
    for (let tries = 1; ; tries += 1) {
      const answer = await postOnce(...request)
      const isRefusedTurn = answer.json?.code === 'busy' && TURN_REFUSED.test(answer.json.error)
      if (!isRefusedTurn || tries === POSTED_MAX) return answer
      await sleep(Number(answer.headers.get('retry-after')) * 1000)
    }
  }

  const get = (path: string, query: Record<string, string> = {}) =>
    call(Object.keys(query).length === 0 ? path : `${path}?${new URLSearchParams(query)}`)

  /** Polls a transaction's status until it is final for callers. */
  const settled = async (transactionId: string, timeoutMs = 120_000): Promise<Answer> => {
    const deadline = Date.now() + timeoutMs
    for (;;) {
      const answer = await get('/transactions/status-by-id', { id: transactionId })
      if (['success', 'failed'].includes(answer.json?.status) || Date.now() > deadline) return answer
      await sleep(100)
    }
  }

  /** The address of a new wallet; developer-controlled unless a PIN is given. */
  const newWallet = async (wallet: { readonly network: Network; readonly ownerId?: string; readonly pin?: string }) => {
    const control =
      wallet.pin === undefined
        ? { control_mode: 'developer', developer_secret: 'testnet-secret' }
        : { control_mode: 'user', user_pin: wallet.pin }
    const owner = wallet.ownerId === undefined ? {} : { owner_id: wallet.ownerId }
    const answer = await post('/wallets', { network: wallet.network, name: 'A wallet', ...owner, ...control })
    if (answer.status !== 200) throw new Error(`no wallet: ${answer.text}`)
    return answer.json as { id: string; address: `0x${string}`; owner_id: string; network: Network }
  }

  return { call, post, postOnce, get, settled, newWallet }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
