// The contexts of the worker, and of commands that ask nodes and open no wallet. They load nothing of the vault, and
// nothing of users' logins.

import type { HasClose, HasDb } from '../../db/client.ts'
import { readCollectionNames } from '../../db/queries/collections.ts'
import { WORKER_EVENTS } from '../../db/words.ts'
import type { JobsCtx } from '../../jobs/ctx.ts'
import { createAbiMemory } from '../assets/abis/added.ts'
import { createDisputeNotes, createFactsMemory } from '../assets/tokens/facts-memory.ts'
import type { ChainMemory } from '../chains/chain.ts'
import { type Chains, createChains } from '../chains/chains.ts'
import type { AroundCall } from '../chains/nodes.ts'
import { createMailer } from '../identity/mail/mailer.ts'
import { createSecurityEvents } from '../identity/security-events.ts'
import type { AskingCtx, AuditingCtx, ReadingCtx } from '../operators/ctx.ts'
import type { HasConfig, Process } from '../platform/config.ts'
import { createMetrics, type HasMetrics } from '../platform/metrics/metrics.ts'
import { createLog, type HasLog } from '../platform/process/log.ts'
import type { HasIdentity } from '../platform/sealing/sealer.ts'
import type { DropReason } from '../platform/tracing/exporter.ts'
import { createTracer, type HasTracer, type Tracer } from '../platform/tracing/tracer.ts'
import { createTransactionReader } from '../signing/transactions/broadcast.ts'
import { createObservationRecorder } from '../signing/transactions/record-observation.ts'
import { createIdentityCtx, createReadingCtx, createServiceCtx, openUnchecked } from './keyed-contexts.ts'

const METHODS_SHOWN_MAX = 8

/** Calls of nodes as spans. A node's URL may contain a key, so only its position and host are shown, as `node`. */
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

export const watchOf = (input: Process): HasMetrics & HasLog & HasTracer => {
  const metrics = createMetrics(Object.keys(input.config.rpcUrls))
  const log = createLog(input)
  const onDropped = (reason: DropReason, spans: number) => metrics.spansDropped.inc({ reason }, spans)
  return { metrics, log, tracer: createTracer({ ...input, log, onDropped }) }
}

export const withChains = async <Of extends ReadingCtx & Partial<HasIdentity>>(
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

/** The worker's context. @throws NotReadyYet if the worker comes before the first vault. */
export const createWorkerCtx = async (input: Process): Promise<JobsCtx & HasClose> => {
  const base = await withChains(await createServiceCtx(input), watchOf(input))
  const securityEvents = createSecurityEvents({ ...base, written: WORKER_EVENTS })
  return { ...base, securityEvents, readTransaction: createTransactionReader(base) }
}

export const createAskingIdentityCtx = async (input: Process): Promise<AskingCtx & AuditingCtx> =>
  withChains(await createIdentityCtx(input), watchOf(input))

export const createExaminedCtx = async (input: Process): Promise<AskingCtx> =>
  withChains(openUnchecked(input), watchOf(input))

export const createAskingCtx = async (input: Process): Promise<AskingCtx> =>
  withChains(await createReadingCtx(input), watchOf(input))
