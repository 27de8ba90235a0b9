// The set-up for tests of activity, NFTs and metadata: a database, a chain, and contexts of both kinds of process.

import { randomBytes, randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { openDb } from '../../db/client.ts'
import { insertProject } from '../../db/queries/projects.ts'
import { insertKeyring } from '../../db/queries/vault/keyrings.ts'
import { insertWallet } from '../../db/queries/wallets.ts'
import { type Network, WORKER_EVENTS } from '../../db/words.ts'
import { backfillStep } from '../../src/assets/activity/backfill.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import { activityRoutes } from '../../src/assets/activity/routes.ts'
import { metadataRoutes } from '../../src/assets/metadata/routes.ts'
import { listNfts, shownNft } from '../../src/assets/nfts/list.ts'
import { afterOf, ListNftsQuery, Nft, nftPaging } from '../../src/assets/nfts/schema.ts'
import { createFactsMemory } from '../../src/assets/tokens/facts-memory.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { createEvmChain } from '../../src/chains/evm/chain.ts'
import { addApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { createAccessTokens } from '../../src/identity/auth/access-token.ts'
import { reachOf } from '../../src/identity/auth/caller.ts'
import { authentication } from '../../src/identity/auth/plugin.ts'
import { projectMac, walletMac } from '../../src/identity/auth/row-macs.ts'
import { createIssuers } from '../../src/identity/issuers/admit.ts'
import { createSecurityEvents } from '../../src/identity/security-events.ts'
import { createApiAudit, createWorkerAudit } from '../../src/platform/audit/audit.ts'
import { type Config, Secret } from '../../src/platform/config.ts'
import { AppError } from '../../src/platform/errors.ts'
import { describeError } from '../../src/platform/http/failure.ts'
import { checkNetwork, checkQuery } from '../../src/platform/http/text.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { evmNetworkRow, NETWORKS, networkRows } from '../../src/platform/networks.ts'
import { createLog } from '../../src/platform/process/log.ts'
import { createRequests } from '../../src/platform/tracing/requests.ts'
import { createTracer } from '../../src/platform/tracing/tracer.ts'
import { createTransactionReader } from '../../src/signing/transactions/broadcast.ts'
import { createObservationRecorder } from '../../src/signing/transactions/record-observation.ts'
import { requestBackfill } from '../../src/signing/wallets/create.ts'
import { createWalletReader } from '../../src/signing/wallets/get.ts'
import { startChain } from '../support/chains.ts'
import { createDatabase } from '../support/postgres.ts'
import type { WorkerCtx } from '../support/worker-here.ts'
import { openTestIdentity, openTestSealer } from '../vault/support.ts'
import type { Item } from './reckoning.ts'

export const PUBLIC_BASE_URL = 'https://custody.example'

type ConfigChanges = Partial<
  Pick<Config, 'devnet' | 'publicBaseUrl' | 'databaseMaxConnections' | 'balanceCheckPercent'>
>

const configOf = (databaseUrl: string, rpcUrl: string, changes: ConfigChanges = {}): Config => ({
  environment: 'testnet',
  devnet: true,
  hasApiPage: false,
  host: '127.0.0.1',
  port: 3000,
  publicBaseUrl: PUBLIC_BASE_URL,
  databaseUrl: new Secret(databaseUrl),
  databaseMaxConnections: 4,
  vaultSockets: [],
  vaultListen: null,
  vaultClientUids: null,
  vaultTls: null,
  vaultJournals: [],
  rootKey: null,
  nextRootKey: null,
  serviceKey: 'fd:0',
  networks: networkRows({ environment: 'testnet', devnet: true }),
  identityKey: null,
  otherServiceKey: null,
  otherIdentityKey: null,
  unknownVariables: [],
  rpcUrls: { Ethereum: [new Secret(rpcUrl)] },
  metadataPins: {},
  nodeTimeoutMs: 15_000,
  rateLimitPerSecond: 1_000_000,
  expectedWaitMaxMs: 1_000,
  rateLimitBytesPerSecond: 100_000_000,
  wrongPinsPerHour: 1_000,
  wrongSecretsPerMinute: 1_000,
  workerConcurrency: 1,
  balanceCheckPercent: null,
  logLevel: 'silent',
  accessLog: false,
  tracing: null,
  metricsToken: null,
  sessionDays: 90,
  eventDays: 30,
  metricsListener: null,
  workerMetricsListener: null,
  consoleHost: '127.0.0.1',
  consolePort: 0,
  consoleOrigin: null,
  accessTokenSeconds: 3_600,
  shutdownGraceSeconds: 0,
  trustedProxies: 0,
  mailUrl: null,
  mailFrom: 'Strongroom <no-reply@custody.example>',
  ipfsApiUrl: null,
  outgoingHosts: { isEmpty: true, has: () => false },
  ...changes,
})

const [sealer, identity] = [await openTestSealer(), await openTestIdentity()]

const contextOf = (config: Config, rpcUrl: string): WorkerCtx => {
  const db = openDb({
    url: config.databaseUrl.reveal(),
    maxConnections: config.databaseMaxConnections,
    applicationName: 'test',
  })
  const row = evmNetworkRow({ network: 'Ethereum', environment: config.environment, devnet: config.devnet })
  const chain = createEvmChain({
    row,
    rpcUrl,
    memory: {
      readAbiItems: async () => [],
      readCollectionNames: async () => new Map(),
      noteDispute: () => {},
      ...createFactsMemory({ db, identity: null }),
    },
  })
  const get = (network: Network) => {
    if (network === 'Ethereum') return chain
    throw new AppError('not_implemented', `${network} is not served by this deployment.`)
  }
  const now = () => new Date()
  const log = createLog({ config, process: 'test' })
  const metrics = createMetrics(['Ethereum'])
  const tracer = createTracer({ config, process: 'test', log, onDropped: () => {} })
  const audit = createWorkerAudit({ db, sealer, now })
  return {
    config,
    db,
    chains: { get, withNode: get, of: get, all: [chain], served: [chain], known: [chain] },
    now,
    metrics,
    tracer,
    recordObservation: createObservationRecorder({ db, metrics, tracer }),
    readTransaction: createTransactionReader({ db }),
    mailer: null,
    log,
    sealer,
    audit,
    securityEvents: createSecurityEvents({ written: WORKER_EVENTS, audit, metrics, log, now }),
    close: db.close,
  }
}

const createTestApp = (worker: WorkerCtx) => {
  const keyed = { ...worker, identity }
  const requests = createRequests(worker)
  const issuers = createIssuers({ ...keyed, audit: createApiAudit(keyed) })
  const ctx = { ...keyed, requests, issuers, tokens: createAccessTokens(keyed), wallets: createWalletReader(keyed) }
  return new Elysia({ normalize: false })
    .onTransform({ as: 'global' }, ({ request }) => checkQuery(request.url))
    .onBeforeHandle({ as: 'global' }, ({ query }) => checkNetwork(NETWORKS, query))
    .onError({ as: 'global' }, ({ error, set }) => {
      const answer = describeError(error)
      set.status = answer.status
      return answer.body
    })
    .use(activityRoutes(ctx, authentication(ctx)))
    .use(metadataRoutes(ctx))
    .use(
      new Elysia({ prefix: '/nfts', normalize: false }).use(authentication(ctx)).get(
        '/',
        async ({ query, caller }) =>
          (
            await listNfts(ctx, {
              ...reachOf(caller),
              network: query.network,
              walletAddress: query.wallet_address,
              contractAddress: query.contract_address,
              after: afterOf(query),
              ...nftPaging.of(query),
            })
          ).map(shownNft),
        { query: ListNftsQuery, response: { 200: Type.Array(Nft) } },
      ),
    )
}

export type Project = { readonly id: string; readonly apiKey: string }
export type Answer = {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  readonly json: unknown
}

export const startWorld = async () => {
  const database = await createDatabase({ withNetworks: true })
  const chain = await startChain('Ethereum')
  const { sql } = database
  const opened: WorkerCtx[] = []

  /** A worker process, or with `as: 'api'` an API process. */
  const open = (
    options: ConfigChanges & { readonly as?: 'api' | 'worker'; readonly rpcUrl?: string } = {},
  ): WorkerCtx => {
    const { as = 'worker', rpcUrl = chain.rpcUrl, ...changes } = options
    const url = as === 'api' ? database.apiUrl : database.workerUrl
    const ctx = contextOf(configOf(url, rpcUrl, changes), rpcUrl)
    opened.push(ctx)
    return ctx
  }
  const worker = open()
  const api = open({ as: 'api' })
  const vaultDb = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: 'test-vault' })
  const app = createTestApp(api)
  const audit = createApiAudit({ ...api, identity })

  const createProject = async (): Promise<Project> => {
    const id = randomUUID()
    const settings = { id, allowedOrigins: [], returnAddresses: [], passkeyRpId: null, anonymousLogin: false }
    const mac = projectMac(identity).of(settings)
    await insertProject(api.db, { ...settings, name: 'Test', activatedAt: null, mac })
    const key = { projectId: id, name: 'first', scopes: ['read'], expiresAt: null, actor: 'operator' } as const
    const { text } = await api.db.transaction((tx) => addApiKey({ ...api, identity, audit }, tx, key))
    return { id, apiKey: text }
  }

  /** A wallet's row. It never signs here, so its keys are random. */
  const watch = async (project: Project, address: string, network: Network = 'Ethereum'): Promise<void> => {
    const keyringId = randomUUID()
    const ownerId = randomUUID()
    await insertKeyring(vaultDb, {
      id: keyringId,
      projectId: project.id,
      ownerId,
      kind: 'key',
      sealed: randomBytes(32),
    })
    const facts = {
      id: randomUUID(),
      projectId: project.id,
      network,
      ownerId,
      address,
      controlMode: 'developer',
      type: 'eoa',
      keyringId,
      publicKey: randomBytes(65),
    } as const
    await insertWallet(api.db, { ...facts, name: 'Test', mac: walletMac(identity).of(facts) })
  }

  /** Runs steps of an indexer until it is at the chain's end. */
  const index = async (ctx: WorkerCtx = worker): Promise<number> => {
    for (let steps = 1; steps <= 500; steps += 1) {
      const result = await indexStep(ctx, ctx.chains.withNode('Ethereum'))
      if (result === 'caught_up') return steps
      if (result === 'overtaken') throw new Error('another follower moved the cursor')
    }
    throw new Error('the indexer did not catch up')
  }

  /** Runs steps of the backfill of an address. @returns the number of steps. */
  const walkBack = async (
    address: string,
    {
      ctx = worker,
      chain = ctx.chains.withNode('Ethereum'),
    }: { readonly ctx?: WorkerCtx; readonly chain?: Chain } = {},
  ): Promise<number> => {
    for (let steps = 1; steps <= 500; steps += 1) {
      if ((await backfillStep(ctx, { chain, address })) === 'done') return steps
    }
    throw new Error('the walk did not end')
  }

  /** Imports an address. */
  const own = async (project: Project, address: string, keyMadeAt: Date | null = null): Promise<void> => {
    await watch(project, address)
    await requestBackfill(api.db, { network: 'Ethereum', address, keyMadeAt })
  }

  const request = async (path: string, headers: Record<string, string> = {}, target = app): Promise<Answer> => {
    const response = await target.handle(new Request(`http://localhost${path}`, { headers }))
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    return { status: response.status, text, headers: response.headers, json: isJson ? JSON.parse(text) : null }
  }

  const asProject = (project: Project): Record<string, string> => ({
    authorization: `Bearer ${project.apiKey}`,
    'x-walletkit-project-id': project.id,
  })

  const get = (project: Project, path: string, target = app): Promise<Answer> =>
    request(path, asProject(project), target)

  /** All pages of a wallet's activity, newest first. */
  const listed = async (project: Project, address: string): Promise<readonly Item[]> => {
    const items: Item[] = []
    for (let page = 1; ; page += 1) {
      const path = `/activity?network=Ethereum&wallet_address=${address}&page=${page}&page_size=100`
      const { status, json, text } = await get(project, path)
      if (status !== 200) throw new Error(`${path} was answered with ${status}: ${text}`)
      items.push(...(json as Item[]))
      if ((json as Item[]).length < 100) return items
    }
  }

  const close = async (): Promise<void> => {
    await Promise.all([vaultDb, ...opened].map((each) => each.close({ timeoutSeconds: 2 })))
    await chain.stop()
    await database.close()
  }

  return {
    ...{ database, chain, sql, worker, api, app },
    ...{ open, createTestApp, createProject, watch, own, walkBack, index, request, get, listed, close },
  }
}

export type World = Awaited<ReturnType<typeof startWorld>>
