// What each program passes down as the first argument of its operations: one object, created here once for a process.
// Each folder says in its type what it needs of it. Some modules keep state of their own, of four kinds;
// test/tidy.test.ts lists them:
// - caches of costly results: the canonical text of an address, the bytes of a namespace, checked public keys,
//   the types of programs' payloads as a registry has read them, hashes of typed data's types and domains;
// - facts about an object, in a WeakMap: how many blocks a chain's node serves at once, the range read ahead, the
//   running balance check, the tries that were let through, and the address from which a request came;
// - the call that a vault runs, whose parts are measured;
// - the WebAssembly that signs with sr25519, whose memory is restored after each use.

import type { HasClose, HasDb } from '../../db/client.ts'
import { readCollectionNames } from '../../db/queries/collections.ts'
import { API_EVENTS, WORKER_EVENTS } from '../../db/words.ts'
import type { JobsCtx } from '../../jobs/ctx.ts'
import type { ApiCtx } from '../api/ctx.ts'
import { createAbiMemory } from '../assets/abis/added.ts'
import { createDisputeNotes, createFactsMemory } from '../assets/tokens/facts-memory.ts'
import type { ChainMemory } from '../chains/chain.ts'
import { type Chains, createChains } from '../chains/chains.ts'
import type { AroundCall } from '../chains/nodes.ts'
import { createAccessTokens } from '../identity/auth/access-token.ts'
import { createIssuers } from '../identity/issuers/admit.ts'
import { createMailer } from '../identity/mail/mailer.ts'
import { createSecurityEvents } from '../identity/security-events.ts'
import type { AskingCtx, AuditingCtx, OperatorCtx, ReadingCtx } from '../operators/ctx.ts'
import type { HasConfig, Process } from '../platform/config.ts'
import { createMetrics, type HasMetrics } from '../platform/metrics/metrics.ts'
import { createLog, type HasLog } from '../platform/process/log.ts'
import { createOrderedQueues } from '../platform/queue.ts'
import type { HasIdentity } from '../platform/sealing/sealer.ts'
import { watchSpace } from '../platform/space.ts'
import type { DropReason } from '../platform/tracing/exporter.ts'
import { createRequests } from '../platform/tracing/requests.ts'
import type { MeasureCall, Timing } from '../platform/tracing/timings.ts'
import { createTracer, type HasTracer, type Span, type Tracer } from '../platform/tracing/tracer.ts'
import { createObservationRecorder } from '../signing/transactions/record-observation.ts'
import { createWalletReader } from '../signing/wallets/get.ts'
import type { Remote } from '../vault/client/remote-vault.ts'
import { openVaults, openVaultsAsOperator, withVault } from '../vault/client/vaults.ts'
import type { HasVault, Vault } from '../vault/contract/vault.ts'
import { createIdentityCtx, createReadingCtx, createServiceCtx, openUnchecked } from './keyed-contexts.ts'

// Calls of nodes and of the vault as spans. A node's URL may contain a key, so only its position and host are shown. A
// vault sends no spans, as it has no way to the outside: it says how long the parts of a call took
// (platform/tracing/timings.ts), and they are placed in the middle of the call, because no clock of it is known.

const VAULT = 'strongroom-vault'
const SERVICE = 'strongroom.Vault'
const METHODS_SHOWN_MAX = 8

/** @param node its position and host. */
const traceNodeCalls =
  (tracer: Tracer, network: string): AroundCall =>
  ({ node, methods }, call) => {
    const distinct = [...new Set(methods)]
    const [name = 'batch'] = distinct
    return tracer.part(
      {
        name: distinct.length === 1 ? name : 'batch',
        kind: 'client',
        attributes: {
          'rpc.system': 'jsonrpc',
          'rpc.method': distinct.slice(0, METHODS_SHOWN_MAX).join(' '),
          'strongroom.network': network,
          'strongroom.node': node,
          'strongroom.batch_size': methods.length,
        },
      },
      call,
    )
  }

const addTimings = (tracer: Tracer, input: { span: Span; name: string; timings: readonly Timing[] }): void => {
  const { span, name, timings } = input
  const [whole, ...parts] = timings
  if (whole === undefined) return
  const endMs = span.nowMs()
  const startMs = span.startMs + Math.max(0, endMs - span.startMs - whole.tookMs) / 2
  const attributes = { 'rpc.system': 'strongroom', 'rpc.service': SERVICE }
  const past = { service: VAULT, startMs, endMs: startMs + whole.tookMs, attributes } as const
  const run = tracer.add(span, { ...past, name, kind: 'server' })
  for (const { name: part, beganMs, tookMs } of parts) {
    const partStartMs = startMs + beganMs
    const times = { startMs: partStartMs, endMs: partStartMs + tookMs }
    tracer.add(run, { service: VAULT, name: part, kind: 'internal', attributes: {}, ...times })
  }
}

const traceVaultCalls =
  (tracer: Tracer): MeasureCall =>
  (method, call) => {
    const name = `${SERVICE}/${method}`
    const attributes = { 'rpc.system': 'strongroom', 'rpc.service': SERVICE, 'rpc.method': method }
    return tracer.part({ name, kind: 'client', attributes }, (span) =>
      call((timings) => {
        if (span !== null) addTimings(tracer, { span, name, timings })
      }),
    )
  }

type Remembering = HasConfig & HasDb & HasLog & Partial<HasIdentity>

const memoryOf = ({ db, log, identity = undefined }: Remembering): ChainMemory => ({
  ...createFactsMemory({ db, identity: identity ?? null }),
  ...createAbiMemory({ db, identity: identity ?? null }),
  readCollectionNames: (query) => readCollectionNames(db, query),
  noteDispute: createDisputeNotes({ log }),
})

const chainsOf = ({ config, metrics, tracer, ...base }: Remembering & HasMetrics & HasTracer): Promise<Chains> =>
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

const watchOf = (input: Process): HasMetrics & HasLog & HasTracer => {
  const metrics = createMetrics(Object.keys(input.config.rpcUrls))
  const log = createLog(input)
  const onDropped = (reason: DropReason, spans: number) => metrics.spansDropped.inc({ reason }, spans)
  return { metrics, log, tracer: createTracer({ ...input, log, onDropped }) }
}

const withChains = async <Of extends ReadingCtx & Partial<HasIdentity>>(
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
/** The database refuses a wait for a signer's lock after ten seconds (db/client.ts), and later waits soon after. */
const TURN_WAIT_MAX_MS = 15_000

/** @throws NotReadyYet before the first vault, Error if a key, the environment or a chain id is of another database. */
export const createApiCtx = (input: Process): Promise<ApiCtx & HasClose> => createCtxWith(openVaults, input)

export const createOperatorCtx = (input: Process): Promise<ApiCtx & OperatorCtx> =>
  createCtxWith(openVaultsAsOperator, input)

const createCtxWith = async <AnyVault extends Vault>(
  reach: (input: Parameters<typeof openVaults>[0]) => Remote<AnyVault>,
  input: Process,
): Promise<ApiCtx & HasClose & { readonly vault: AnyVault }> => {
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
    wallets: createWalletReader({ ...base, securityEvents }),
    requests: createRequests(base),
    space: watchSpace(base),
  }
}

/** The worker's context. @throws NotReadyYet if the worker comes before the first vault. */
export const createWorkerCtx = async (input: Process): Promise<JobsCtx & HasClose> => {
  const base = await withChains(await createServiceCtx(input), watchOf(input))
  return { ...base, securityEvents: createSecurityEvents({ ...base, written: WORKER_EVENTS }) }
}

export const createAskingVaultCtx = (input: Process): Promise<AskingCtx & HasVault> =>
  withVault(openVaults(input), () => createAskingCtx(input))

export const createAskingIdentityCtx = async (input: Process): Promise<AskingCtx & AuditingCtx> =>
  withChains(await createIdentityCtx(input), watchOf(input))

export const createExaminedCtx = async (input: Process): Promise<AskingCtx> =>
  withChains(openUnchecked(input), watchOf(input))

export const createAskingCtx = async (input: Process): Promise<AskingCtx> =>
  withChains(await createReadingCtx(input), watchOf(input))
