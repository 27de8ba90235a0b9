// The first argument of every operation: created once per process and passed down. Some modules keep state of their own, of
// two kinds; test/tidy.test.ts lists them:
// - caches of costly results: the canonical text of an address, the bytes of a namespace, that a public key was checked,
//   whether a runtime reports fees;
// - facts about an object, in a WeakMap: how many blocks a chain's node serves at once, the range that is read ahead, the
//   running balance check, and the address from which a request came.

import type { Db } from '../db/client.ts'
import { openDb } from '../db/client.ts'
import { readAbiItems } from '../db/queries/abis.ts'
import { readCollectionNames } from '../db/queries/collections.ts'
import { readFacts, writeFacts } from '../db/queries/facts.ts'
import { type WalletPlace, type WalletRow, walletsAt } from '../db/queries/wallets.ts'
import type { Network } from '../db/words.ts'
import { type AccessTokens, createAccessTokens } from './auth/access-token.ts'
import type { ChainMemory } from './chains/chain.ts'
import { type Chains, createChains } from './chains/chains.ts'
import type { Config } from './config.ts'
import { type Audit, createAudit } from './custody/audit.ts'
import { checkDeployment, requireEnvironment } from './custody/deployment.ts'
import { openSealer, type Sealer } from './custody/sealer.ts'
import { createVault, openRootKey, type Vault } from './custody/vault.ts'
import { requireSchema } from './environment/schema.ts'
import { type Space, watchSpace } from './health/space.ts'
import { createMailer, type Mailer } from './mail/mailer.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { createBatcher, createQueues, type Queues } from './queue.ts'
import { createSecurityEvents, type SecurityEvents } from './security/events.ts'
import { createLog, type Log } from './security/log.ts'
import { createObservationRecorder, type ObservationRecorder } from './transactions/record-observation.ts'

export type Ctx = {
  readonly config: Config
  readonly db: Db
  readonly chains: Chains
  readonly vault: Vault
  /** Sealed with `SERVICE_KEY`, which opens no wallet. */
  readonly sealer: Sealer
  /** Sealed with `IDENTITY_KEY`, which protects identities. The worker does not have it. */
  readonly identity: Sealer
  /** Whether the database has space left. */
  readonly space: Space
  /** Users' access tokens. */
  readonly tokens: AccessTokens
  /** For actions that use no wallet's key. */
  readonly audit: Audit
  /** Records transactions of one signer one after the other. */
  readonly signerQueues: Queues
  /** A project's wallet at an address; simultaneous requests share a query. */
  readonly walletAt: (place: WalletPlace) => Promise<WalletRow | null>
  /** Processes news about a transaction; simultaneous news shares a database transaction. */
  readonly recordObservation: ObservationRecorder
  /** null if no mail is sent. Only the worker connects to the server. */
  readonly mailer: Mailer | null
  /** The metrics of this process. */
  readonly metrics: Metrics
  /** Refusals that may be part of an attack. */
  readonly securityEvents: SecurityEvents
  readonly now: () => Date
  readonly log: Log
}

/** The worker's context. It has no vault and no identity key, so no job can open a wallet or create a token. */
export type WorkerCtx = Omit<Ctx, 'vault' | 'signerQueues' | 'walletAt' | 'tokens' | 'identity' | 'space'>

/** For commands about identities that open no wallet. */
export type IdentityCtx = WorkerCtx & Pick<Ctx, 'identity'>

const memoryOf = (db: Db): ChainMemory => ({
  readAbiItems: (query) => readAbiItems(db, query),
  readFacts: (query: { network: Network; addresses: readonly string[] }) => readFacts(db, query),
  writeFacts: (facts: Parameters<typeof writeFacts>[1]) => writeFacts(db, facts),
  readCollectionNames: (query) => readCollectionNames(db, query),
})

const chainsOf = ({ config, db, metrics }: { config: Config; db: Db; metrics: Metrics }): Chains =>
  createChains({
    rows: config.networks,
    memory: memoryOf(db),
    nodeOf: (network) => {
      const [first, ...further] = config.rpcUrls[network] ?? []
      return first === undefined
        ? null
        : {
            rpcUrl: first.reveal(),
            furtherRpcUrls: further.map((each) => each.reveal()),
            timeoutMs: config.nodeTimeoutMs,
            onTrouble: (trouble) => metrics.chains.nodeFailures.inc({ network, trouble }),
            onNodeTrouble: (node, trouble) => metrics.chains.nodeTroubles.inc({ network, node, trouble }),
            metadataPins: config.metadataPins[network],
            secondRpcUrl: config.secondRpcUrls[network]?.reveal(),
          }
    },
  })

type Process = { readonly config: Config; readonly process: string }

/** For commands that only read and need no key. */
export type ReadingCtx = Omit<WorkerCtx, 'sealer' | 'audit' | 'securityEvents'>

const withService = (base: ReadingCtx, sealer: Sealer): WorkerCtx => {
  const audit = createAudit({ ...base, sealer })
  return { ...base, sealer, audit, securityEvents: createSecurityEvents({ ...base, audit }) }
}

const createBase = (input: Process): ReadingCtx => {
  const db = openDb({
    url: input.config.databaseUrl.reveal(),
    maxConnections: input.config.databaseMaxConnections,
    applicationName: `strongroom-${input.process}`,
  })
  const log = createLog(input)
  const metrics = createMetrics(Object.keys(input.config.rpcUrls))
  return {
    config: input.config,
    db,
    chains: chainsOf({ config: input.config, db, metrics }),
    metrics,
    recordObservation: createObservationRecorder({ db, metrics }),
    mailer: createMailer(input.config),
    now: () => new Date(),
    log,
  }
}

const LOOKED_UP_TOGETHER_MAX = 500

const createWalletAt = (db: Db): Ctx['walletAt'] => {
  const keyOf = (place: WalletPlace) => `${place.projectId} ${place.network} ${place.address}`
  const readTogether = createBatcher({
    sizeMax: LOOKED_UP_TOGETHER_MAX,
    run: async (places: readonly WalletPlace[]) =>
      new Map((await walletsAt(db, places)).map((row) => [keyOf(row), row])),
  })
  return async (place) => (await readTogether(place)).get(keyOf(place)) ?? null
}

const openServiceKey = ({ serviceKey: spec }: Config): Promise<Sealer> => {
  if (spec === null) throw new Error('SERVICE_KEY must be where the service key is: file:/path or fd:N.')
  return openSealer({ name: 'SERVICE_KEY', spec })
}

const openIdentityKey = ({ identityKey: spec }: Config): Promise<Sealer> => {
  if (spec === null) throw new Error('IDENTITY_KEY must say where the identity key is: file:/path or fd:N.')
  return openSealer({ name: 'IDENTITY_KEY', spec })
}

/**
 * Creates the context of a process that opens wallets.
 * @param input.process the process's name in the log and in pg_stat_activity.
 * @throws Error if a key, the environment or a chain id does not belong to the database.
 */
export const createCtx = async (input: Process): Promise<Ctx> => {
  const { config } = input
  if (config.rootKey === null) throw new Error('ROOT_KEY must say where the root key is: file:/path or fd:N.')
  const base = createBase(input)
  const { environment } = config
  const [sealer, identity] = [await openServiceKey(config), await openIdentityKey(config)]
  const rootKey = await openRootKey(config.rootKey)
  const nextRootKey = config.nextRootKey && (await openRootKey(config.nextRootKey))
  const networks = bindingsOf(config)
  await requireSchema(base.db)
  await checkDeployment({ db: base.db, environment, networks, rootKey, nextRootKey, sealer, identity })
  const vault = createVault({
    db: base.db,
    rootKey,
    nextRootKey,
    sealer,
    environment,
    limits: config,
    now: base.now,
    familyOf: (network) => base.chains.of(network).family,
  })
  const signerQueues = createQueues()
  const tokens = createAccessTokens({ ...base, identity })
  const service = withService(base, sealer)
  const space = watchSpace(base)
  return { ...service, identity, vault, tokens, signerQueues, walletAt: createWalletAt(base.db), space }
}

/** A context without a vault. It checks that the keys of the process belong to the database. */
const createServiceCtx = async (input: Process, identity: Sealer | null): Promise<WorkerCtx> => {
  const { config } = input
  const base = createBase(input)
  const { environment } = config
  const sealer = await openServiceKey(config)
  try {
    await requireSchema(base.db)
    await checkDeployment({ db: base.db, environment, networks: bindingsOf(config), rootKey: null, sealer, identity })
  } catch (error) {
    // A worker tries again.
    await base.db.close({ timeoutSeconds: 1 })
    throw error
  }
  return withService(base, sealer)
}

/**
 * The worker's context.
 * @throws NotReadyYet if the worker comes before the first API, and Error if the service key or the environment does not
 * belong to the database.
 */
export const createWorkerCtx = (input: Process): Promise<WorkerCtx> => createServiceCtx(input, null)

/** The context of a command that only reads. @throws Error if the environment does not belong to the database. */
export const createReadingCtx = async (input: Process): Promise<ReadingCtx> => {
  const base = createBase(input)
  await requireSchema(base.db)
  await requireEnvironment({ db: base.db, environment: input.config.environment })
  return base
}

/** The context of a command about identities. @throws Error like createWorkerCtx, and for the identity key. */
export const createIdentityCtx = async (input: Process): Promise<IdentityCtx> => {
  const identity = await openIdentityKey(input.config)
  return { ...(await createServiceCtx(input, identity)), identity }
}

/** The networks of this process that the database is bound to, with or without a node. */
const bindingsOf = ({ networks }: Config) =>
  networks.map((row) => ({
    name: row.network,
    family: row.family,
    chainId: 'chainId' in row ? row.chainId : null,
  }))
