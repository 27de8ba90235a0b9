// The first argument of every operation: created once per process and passed down. Some modules keep state of their own, of
// four kinds; test/tidy.test.ts lists them:
// - caches of costly results: the canonical text of an address, the bytes of a namespace, that a public key was checked,
//   the types of programs' payloads as a registry has read them, hashes of typed data's types and domains;
// - facts about an object, in a WeakMap: how many blocks a chain's node serves at once, the range that is read ahead, the
//   running balance check, the tries that were let through, and the address from which a request came;
// - the call that a vault runs, whose parts are measured;
// - the WebAssembly that signs with sr25519, whose memory is restored after each use.

import type { Db } from '../db/client.ts'
import { readCollectionNames } from '../db/queries/collections.ts'
import { API_EVENTS, type ApiAction, WORKER_EVENTS, type WorkerAction } from '../db/words.ts'
import { createAbiMemory } from './abis/memory.ts'
import { type AccessTokens, createAccessTokens } from './auth/access-token.ts'
import type { ChainMemory } from './chains/chain.ts'
import { type Chains, createChains } from './chains/chains.ts'
import type { Config } from './config.ts'
import type { Audit } from './custody/audit.ts'
import type { Remote } from './custody/remote-vault.ts'
import type { OperatorVault, Vault } from './custody/vault.ts'
import {
  createIdentityCtx,
  createReadingCtx,
  createServiceCtx,
  type IdentityCtx,
  openUnchecked,
  type Process,
  type ReadingCtx,
} from './environment/contexts.ts'
import { openVaults, openVaultsAsOperator, withVault } from './environment/vaults.ts'
import { type Space, watchSpace } from './health/space.ts'
import { createIssuers, type Issuers } from './issuers/admit.ts'
import { createMailer, type Mailer } from './mail/mailer.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import type { Sealer } from './platform/sealing/sealer.ts'
import { createOrderedQueues, type OrderedQueues } from './queue.ts'
import { createSecurityEvents, type SecurityEvents } from './security/events.ts'
import { createLog, type Log } from './security/log.ts'
import { createDisputeNotes } from './tokens/dispute-notes.ts'
import { createFactsMemory } from './tokens/facts-memory.ts'
import { traceNodeCalls, traceVaultCalls } from './tracing/calls.ts'
import type { DropReason } from './tracing/exporter.ts'
import { createRequests, type Requests } from './tracing/requests.ts'
import { createTracer, type Tracer } from './tracing/tracer.ts'
import { createObservationRecorder, type ObservationRecorder } from './transactions/record-observation.ts'
import { createOurWallets, type OurWallets } from './wallets/ours.ts'

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
  /** Tokens of projects' own identity providers. */
  readonly issuers: Issuers
  /** For actions that use no wallet's key. */
  readonly audit: Audit<ApiAction>
  /** Prepares transactions of one signer together, and records them in the order of the requests. */
  readonly signerQueues: OrderedQueues
  /** The wallets whose rows the service wrote. */
  readonly wallets: OurWallets
  /** Processes news about a transaction; simultaneous news shares a database transaction. */
  readonly recordObservation: ObservationRecorder
  /** null if no mail is sent. Only the worker connects to the server. */
  readonly mailer: Mailer | null
  /** The metrics of this process. */
  readonly metrics: Metrics
  /** Traces what this process does for a request. */
  readonly tracer: Tracer
  /** Logs and traces requests. */
  readonly requests: Requests
  /** Refusals that may be part of an attack. */
  readonly securityEvents: SecurityEvents
  readonly now: () => Date
  readonly log: Log
  /** Closes the connections to the database. */
  readonly close: Db['close']
}

/** The context of an operator's commands that ask the vault. */
export type OperatorCtx = Ctx & { readonly vault: OperatorVault }

type NotOfWorkers =
  | 'vault'
  | 'signerQueues'
  | 'wallets'
  | 'tokens'
  | 'issuers'
  | 'identity'
  | 'space'
  | 'audit'
  | 'requests'

/** The worker's context. It has no vault and no identity key, so no job can open a wallet or create a token. */
export type WorkerCtx = Omit<Ctx, NotOfWorkers> & {
  readonly audit: Audit<WorkerAction>
}

/** For commands that ask nodes, and need no key. */
export type AskingCtx = Omit<WorkerCtx, 'sealer' | 'audit' | 'securityEvents'>

type Remembering = Pick<AskingCtx, 'config' | 'db' | 'log'> & { readonly identity?: Sealer }

const memoryOf = ({ db, log, identity = undefined }: Remembering): ChainMemory => ({
  ...createFactsMemory({ db, identity: identity ?? null }),
  ...createAbiMemory({ db, identity: identity ?? null }),
  readCollectionNames: (query) => readCollectionNames(db, query),
  noteDispute: createDisputeNotes({ log }),
})

const chainsOf = ({
  config,
  metrics,
  tracer,
  ...base
}: Remembering & Pick<Ctx, 'metrics' | 'tracer'>): Promise<Chains> =>
  createChains({
    rows: config.networks,
    memory: memoryOf({ config, ...base }),
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
            ...(tracer.isOn && { aroundCall: traceNodeCalls(tracer, network) }),
          }
    },
  })

/** What measures, logs and traces a process. */
const watchOf = (input: Process): Pick<Ctx, 'metrics' | 'log' | 'tracer'> => {
  const metrics = createMetrics(Object.keys(input.config.rpcUrls))
  const log = createLog(input)
  const onDropped = (reason: DropReason, spans: number) => metrics.spansDropped.inc({ reason }, spans)
  return { metrics, log, tracer: createTracer({ ...input, log, onDropped }) }
}

/** Adds what asks nodes, and what measures and logs it. */
const withChains = async <Of extends ReadingCtx & Partial<Pick<Ctx, 'identity'>>>(
  base: Of,
  watch: ReturnType<typeof watchOf>,
): Promise<Of & AskingCtx> => {
  const { config, db } = base
  return {
    ...base,
    ...watch,
    chains: await chainsOf({ ...base, ...watch }),
    recordObservation: createObservationRecorder({ db, ...watch }),
    mailer: await createMailer(config),
  }
}

/** Transactions of one signer that are prepared at the same time. Each of them has the signer's key open meanwhile. */
const PREPARED_TOGETHER_MAX = 16
/** A request that waits for a signer's lock is refused after ten seconds (db/client.ts), and those behind it soon after. */
const TURN_WAIT_MAX_MS = 15_000

/**
 * The context of a process that asks the vault.
 * @throws NotReadyYet before the first vault, and Error if a key, the environment or a chain id does not belong to the database.
 */
export const createCtx = (input: Process): Promise<Ctx> => createCtxWith(openVaults, input)

/** The context of an operator's commands, which may call more of the vault's methods than an API. */
export const createOperatorCtx = (input: Process): Promise<OperatorCtx> => createCtxWith(openVaultsAsOperator, input)

const createCtxWith = async <AnyVault extends Vault>(
  reach: (input: Parameters<typeof openVaults>[0]) => Remote<AnyVault>,
  input: Process,
): Promise<Ctx & { readonly vault: AnyVault }> => {
  const watch = watchOf(input)
  const { tracer } = watch
  const vault = reach({ ...input, ...(tracer.isOn && { measure: traceVaultCalls(tracer) }) })
  const base = await withVault(vault, async () => withChains(await createIdentityCtx(input), watch))
  const securityEvents = createSecurityEvents({ ...base, written: API_EVENTS })
  return {
    ...base,
    securityEvents,
    tokens: createAccessTokens({ ...base, securityEvents }),
    issuers: createIssuers({ ...base, securityEvents }),
    signerQueues: createOrderedQueues({ atOnce: PREPARED_TOGETHER_MAX, waitMaxMs: TURN_WAIT_MAX_MS }),
    wallets: createOurWallets({ ...base, securityEvents }),
    requests: createRequests(base),
    space: watchSpace(base),
  }
}

/** The worker's context. @throws NotReadyYet if the worker comes before the first vault. */
export const createWorkerCtx = async (input: Process): Promise<WorkerCtx> => {
  const base = await withChains(await createServiceCtx(input), watchOf(input))
  return { ...base, securityEvents: createSecurityEvents({ ...base, written: WORKER_EVENTS }) }
}

/** The context of a command that asks nodes, and the vault what an API may ask. */
export const createAskingVaultCtx = (input: Process): Promise<AskingCtx & Pick<Ctx, 'vault'>> =>
  withVault(openVaults(input), () => createAskingCtx(input))

/** The context of a command that asks nodes, and writes the audit. */
export const createAskingIdentityCtx = async (input: Process): Promise<AskingCtx & IdentityCtx> =>
  withChains(await createIdentityCtx(input), watchOf(input))

/** The context of a command that asks nodes, and looks itself whether the database can be used. */
export const createExaminedCtx = async (input: Process): Promise<AskingCtx> =>
  withChains(openUnchecked(input), watchOf(input))

/** The context of a command that asks nodes, and needs no key. */
export const createAskingCtx = async (input: Process): Promise<AskingCtx> =>
  withChains(await createReadingCtx(input), watchOf(input))
