// Counters and histograms of a process. Each process has one registry and is scraped by itself; Prometheus adds the
// processes up. Every series with known label values starts at 0, because `rate` misses the first event of a new
// series.

import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { JOB_PAYLOADS } from '../../../db/jobs.ts'
import {
  type ATTEMPT_KINDS,
  CURSOR_PURPOSES,
  FAILURE_CODES,
  type Network,
  NODE_TROUBLES,
  POST_FAILURES,
  SECURITY_EVENTS,
  TRANSACTION_KINDS,
} from '../../../db/words.ts'

import { DROP_REASONS } from '../tracing/exporter.ts'

export const PREFIX = 'strongroom_'

/** Upper bounds of the buckets, in seconds. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const JOB_BUCKETS = [...REQUEST_BUCKETS, 30, 60, 300]

export const TASKS = Object.keys(JOB_PAYLOADS)

/** Only an operator's command sets the other code. */
const COUNTED_FAILURES = FAILURE_CODES.filter((code) => code !== 'reorganised')

/**
 * prom-client's default metrics that we leave out: those that are right only on Node (heap spaces, handles, version),
 * and those that are not numbers before the first measurement (some of the event loop's lag).
 */
const NOT_SHOWN =
  /^(?:nodejs_(?:active_|heap_space_|gc_|version_|eventloop_lag_(?:mean|stddev|min)_)|process_heap_bytes$)/

export type LabelValues<Label extends string> = Readonly<Record<Label, readonly string[]>>

/** Every combination of the labels' values. */
export const seriesOf = <Label extends string>(values: LabelValues<Label>): readonly Record<Label, string>[] =>
  Object.entries<readonly string[]>(values).reduce<readonly Record<string, string>[]>(
    (made, [label, each]) => made.flatMap((one) => each.map((value) => ({ ...one, [label]: value }))),
    [{}],
  )

export const namesOf = <Label extends string>(values: LabelValues<Label>): Label[] => Object.keys(values) as Label[]

const counterIn =
  (registry: Registry) =>
  <Label extends string>(name: string, help: string, labels: LabelValues<Label>): Counter<Label> => {
    const registers = [registry]
    const counter = new Counter({ name: PREFIX + name, help, labelNames: namesOf(labels), registers })
    for (const series of seriesOf(labels)) counter.inc(series, 0)
    return counter
  }

const ofTransactions = (registry: Registry, network: readonly Network[]) => {
  const counter = counterIn(registry)
  const step: readonly (typeof ATTEMPT_KINDS)[number][] = ['rung', 'cancel']
  return {
    accepted: counter(
      'transactions_accepted_total',
      'Transactions that were recorded, signed and answered as submitted.',
      { network, kind: TRANSACTION_KINDS },
    ),
    broadcast: counter('transactions_broadcast_total', 'Transactions that a node accepted for the first time.', {
      network,
    }),
    mined: counter(
      'transactions_mined_total',
      'Transactions found in a block; counted again if they are put back and mined again.',
      { network },
    ),
    putBack: counter('transactions_put_back_total', 'Transactions whose block a reorganisation removed.', { network }),
    succeeded: counter('transactions_succeeded_total', 'Transactions that are final and succeeded.', { network }),
    failed: counter('transactions_failed_total', 'Transactions that are final and failed.', {
      network,
      code: COUNTED_FAILURES,
    }),
    ladderSteps: counter(
      'ladder_steps_total',
      'Decisions to send the next rung of a fee ladder, or the cancelling transaction.',
      { network, step },
    ),
  }
}

const ofChains = (registry: Registry, network: readonly Network[]) => {
  const counter = counterIn(registry)
  const purpose = CURSOR_PURPOSES
  return {
    reorganisations: counter('reorganisations_total', 'Reorganisations that made a follower of blocks go back.', {
      network,
      purpose,
    }),
    deepReorganisations: counter('deep_reorganisations_total', 'Reorganisations that removed final blocks.', {
      network,
    }),
    reorganisedBlocks: counter('reorganised_blocks_total', 'Blocks that reorganisations removed.', {
      network,
      purpose,
    }),
    nodeFailures: counter('node_failures_total', 'Requests to a node that failed.', {
      network,
      trouble: NODE_TROUBLES,
    }),
    nodeTroubles: counter(
      'node_troubles_total',
      'Requests to one node of a network that failed, also if another node then answered.',
      { network: [], node: [], trouble: NODE_TROUBLES },
    ),
    balanceChecks: counter(
      'balance_checks_total',
      'Balances of wallets that were compared with the activity recorded for a block.',
      { network },
    ),
    balanceDifferences: counter(
      'balance_differences_total',
      'Balances of wallets that a block changed differently from its recorded activity.',
      { network, asset: ['coin', 'token'] },
    ),
  }
}

const ofJobs = (registry: Registry) => {
  const histogram = (name: string, help: string) => {
    const options = { labelNames: ['task'] as const, buckets: JOB_BUCKETS, registers: [registry] }
    const times = new Histogram({ name: PREFIX + name, help, ...options })
    for (const task of TASKS) times.zero({ task })
    return times
  }
  return {
    wait: histogram('job_wait_seconds', 'Time from when a job was due until it began.'),
    duration: histogram(
      'job_duration_seconds',
      'How long jobs ran. A follower of blocks runs for half a minute at a time.',
    ),
    errors: counterIn(registry)(
      'job_errors_total',
      'Runs of jobs that failed. A failed job is retried while it has attempts left.',
      { task: TASKS },
    ),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

export type HasMetrics = { readonly metrics: Metrics }

/** Every process has all of them; what it never does stays 0. @param networks the networks that have a node. */
export const createMetrics = (networks: readonly Network[]) => {
  const registry = new Registry()
  let isCollecting = false
  return {
    transactions: ofTransactions(registry, networks),
    chains: ofChains(registry, networks),
    jobs: ofJobs(registry),
    webhooks: counterIn(registry)(
      'webhook_requests_total',
      'Requests to receivers of webhooks, by what became of them.',
      {
        outcome: ['delivered', ...POST_FAILURES],
      },
    ),
    securityEvents: counterIn(registry)('security_events_total', 'Refusals that may be part of an attack.', {
      kind: SECURITY_EVENTS,
    }),
    spansDropped: counterIn(registry)('spans_dropped_total', 'Spans of traces that no collector got.', {
      reason: DROP_REASONS,
    }),
    requestsRefused: counterIn(registry)(
      'http_requests_refused_total',
      'Requests that were refused as busy before anything was done for them.',
      {},
    ),
    requestDuration: new Histogram({
      name: `${PREFIX}http_request_duration_seconds`,
      help: 'Time from receiving a request until its answer was sent.',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: REQUEST_BUCKETS,
      registers: [registry],
    }),
    contentType: registry.contentType,
    text: (): Promise<string> => {
      // The default metrics watch the event loop once they are collected, so we begin only at the first scrape.
      if (!isCollecting) {
        collectDefaultMetrics({ register: registry })
        for (const { name } of registry.getMetricsAsArray()) if (NOT_SHOWN.test(name)) registry.removeSingleMetric(name)
        isCollecting = true
      }
      return registry.metrics()
    },
  }
}
