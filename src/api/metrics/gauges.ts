// Gauges: the state at the moment of a scrape, read from the database, the nodes and this process. Only the API exposes
// them.

import { Gauge, Registry } from 'prom-client'
import { COUNTED_TAIL_MAX } from '../../../db/queries/audit-rows.ts'
import type { Numbers } from '../../../db/queries/numbers.ts'
import { BACKFILL_HINDRANCES, type Network, TRANSACTION_STATUSES } from '../../../db/words.ts'
import type { BlockRef, Chain, NodeView } from '../../chains/chain.ts'
import { type LabelValues, namesOf, PREFIX, seriesOf, TASKS } from '../../platform/metrics/metrics.ts'

type NodeViews = readonly (NodeView & { readonly network: Network })[]

export type Heads = ReadonlyMap<Network, { readonly isUp: boolean; readonly latest: BlockRef | null }>

type AgeLimits = readonly Pick<Chain, 'network' | 'stalledAfterMs'>[]

/** How many PINs the vault is verifying, and how many wait; null if it did not answer in time. */
type Argon2Load = { readonly running: number; readonly waiting: number } | null

const BACKFILL_STATES = ['not_begun', 'walking', ...BACKFILL_HINDRANCES]
const LIVE = ['submitted', 'pending']

/** @param from.labels the known values of each label. Their combinations are exposed with 0 if they have no row. */
const gaugeIn =
  (registry: Registry) =>
  <Label extends string, Row extends Readonly<Record<NoInfer<Label>, string>>>(
    name: string,
    help: string,
    from: {
      readonly labels: LabelValues<Label>
      readonly rows: readonly Row[]
      readonly value: (row: Row) => number
    },
  ): void => {
    const labelNames = namesOf(from.labels)
    const gauge = new Gauge({ name: PREFIX + name, help, labelNames, registers: [registry] })
    for (const series of seriesOf(from.labels)) gauge.set(series, 0)
    for (const row of from.rows) gauge.labels(...labelNames.map((label) => row[label])).set(from.value(row))
  }

type AddGauge = ReturnType<typeof gaugeIn>

/** A gauge without labels; null: it is not exposed. */
const addNumber = (gauge: AddGauge, name: string, help: string, value: number | null): void =>
  gauge(name, help, { labels: {}, rows: value === null ? [] : [{ value }], value: (row) => row.value })

const addTransactions = (gauge: AddGauge, { unfinished }: Numbers, network: readonly Network[]): void => {
  gauge('transactions_unfinished', 'Transactions that are not final yet, by status.', {
    labels: { network, status: TRANSACTION_STATUSES },
    rows: unfinished,
    value: ({ transactions }) => transactions,
  })
  gauge('transactions_oldest_age_seconds', 'Age of the oldest submitted or pending transaction; 0 if there is none.', {
    labels: { network, status: LIVE },
    rows: unfinished.filter(({ status }) => LIVE.includes(status)),
    value: ({ oldestSeconds }) => oldestSeconds,
  })
}

const addFollowers = (gauge: AddGauge, { followed }: Numbers, heads: Heads): void => {
  const labels = { network: [], purpose: [] }
  const behind = followed.flatMap(({ network, purpose, blockNumber }) => {
    const latest = heads.get(network)?.latest?.number ?? null
    if (latest === null) return []
    return [{ network, purpose, blocks: latest > blockNumber ? Number(latest - blockNumber) : 0 }]
  })
  gauge('blocks_behind', "Blocks between a follower's cursor and the node's newest block.", {
    labels,
    rows: behind,
    value: ({ blocks }) => blocks,
  })
  gauge('cursor_age_seconds', "Time since a follower's cursor last moved.", {
    labels,
    rows: followed,
    value: ({ quietSeconds }) => quietSeconds,
  })
}

const addJobs = (gauge: AddGauge, { jobs: rows }: Numbers): void => {
  const labels = { task: TASKS }
  gauge('jobs_ready', 'Jobs that are due and not taken by a worker.', { labels, rows, value: ({ ready }) => ready })
  gauge('jobs_failed', 'Jobs that have used up their attempts.', { labels, rows, value: ({ failed }) => failed })
  gauge(
    'jobs_oldest_ready_age_seconds',
    'Time since the oldest job that no worker has taken was due; 0 if there is none.',
    { labels, rows, value: ({ oldestReadySeconds }) => oldestReadySeconds ?? 0 },
  )
}

const addActivity = (gauge: AddGauge, { backfills, doubtful }: Numbers, network: readonly Network[]): void => {
  const value = ({ rows }: { readonly rows: number }) => rows
  gauge('backfills_open', 'Unfinished backfills of the earlier activity of a new wallet, by what they wait for.', {
    labels: { network, state: BACKFILL_STATES },
    rows: backfills,
    value,
  })
  gauge(
    'doubtful_contracts',
    'Contracts whose token standard could not be read when their transfers were recorded; they are read again.',
    { labels: { network }, rows: doubtful, value },
  )
}

const addAudit = (gauge: AddGauge, { audit: { rows, oldestSeconds } }: Numbers): void => {
  addNumber(
    gauge,
    'audit_unchained_rows',
    `Audit rows that are not chained yet, counted up to ${COUNTED_TAIL_MAX}.`,
    rows,
  )
  const age = 'Age of the oldest audit row that is not chained yet; 0 if there is none.'
  addNumber(gauge, 'audit_unchained_age_seconds', age, oldestSeconds ?? 0)
}

const addWebhooks = (gauge: AddGauge, { webhooks }: Numbers): void => {
  addNumber(
    gauge,
    'webhooks_disabled',
    'Webhooks that get no events: somebody disabled them, or three days without a success, or an answer 410.',
    webhooks.disabled,
  )
  addNumber(
    gauge,
    'webhook_oldest_waiting_seconds',
    'Age of the oldest delivery to an enabled webhook that was not taken; 0 if there is none.',
    webhooks.oldestSeconds,
  )
  addNumber(
    gauge,
    'webhook_oldest_untried_seconds',
    'The same where the oldest delivery of a webhook was never sent: workers are behind.',
    webhooks.oldestUntriedSeconds,
  )
}

const addNodes = (gauge: AddGauge, nodes: NodeViews): void => {
  const labels = { network: [], node: [] }
  const rows = nodes.map((view) => ({ ...view, node: view.name }))
  gauge('node_ready', 'Whether questions go to this node: it is up, of the right chain, and not behind.', {
    labels,
    rows,
    value: ({ state }) => Number(state === 'up' || state === 'stalled'),
  })
  gauge('node_behind_seconds', 'For how long another node of the network has had a block that this one lacks.', {
    labels,
    rows,
    value: ({ behindSeconds }) => behindSeconds,
  })
  gauge('node_latency_seconds', 'The moving average of the time of an answer of this node.', {
    labels,
    rows: rows.filter(({ latencyMs }) => latencyMs !== null),
    value: ({ latencyMs }) => (latencyMs ?? 0) / 1_000,
  })
}

const addHeadAges = (
  gauge: AddGauge,
  { heads, ageLimits }: { readonly heads: Heads; readonly ageLimits: AgeLimits },
) => {
  const labels = { network: [] }
  gauge('head_age_seconds', "The age of the network's newest block that is known here, by the block's own time.", {
    labels,
    rows: [...heads].flatMap(([network, { latest }]) => (latest === null ? [] : [{ network, latest }])),
    value: ({ latest }) => Math.max(Date.now() - latest.timestampMs, 0) / 1_000,
  })
  gauge('head_age_limit_seconds', 'Above this age the chain, or its node, is stalled.', {
    labels,
    rows: ageLimits.flatMap(({ network, stalledAfterMs }) =>
      stalledAfterMs === null ? [] : [{ network, stalledAfterMs }],
    ),
    value: ({ stalledAfterMs }) => stalledAfterMs / 1_000,
  })
}

const addProcess = (gauge: AddGauge, { heads, argon2 }: { readonly heads: Heads; readonly argon2: Argon2Load }) => {
  gauge('node_up', "Whether the network's node returned its newest block in time.", {
    labels: { network: [] },
    rows: [...heads].map(([network, { isUp }]) => ({ network, isUp })),
    value: ({ isUp }) => Number(isUp),
  })
  addNumber(gauge, 'argon2_running', 'PINs that are being verified.', argon2?.running ?? null)
  addNumber(gauge, 'argon2_waiting', 'PINs that wait to be verified.', argon2?.waiting ?? null)
}

/** All gauges in Prometheus' text format. @param input.numbers null if the database did not answer. */
export const gaugesText = (input: {
  readonly numbers: Numbers | null
  readonly isFull: boolean | null
  readonly heads: Heads
  readonly nodes: NodeViews
  readonly networks: readonly Network[]
  readonly ageLimits: AgeLimits
  readonly argon2: Argon2Load
}): Promise<string> => {
  const { numbers, heads, networks } = input
  // A new registry for each scrape, so that a series without a row disappears.
  const registry = new Registry()
  const gauge = gaugeIn(registry)
  addNumber(gauge, 'database_up', 'Whether the database answered this scrape.', Number(numbers !== null))
  const full = 'Whether the database had no space or memory left when this process last tried.'
  addNumber(gauge, 'database_full', full, input.isFull === null ? null : Number(input.isFull))
  addProcess(gauge, input)
  addNodes(gauge, input.nodes)
  addHeadAges(gauge, input)
  if (numbers !== null) {
    addTransactions(gauge, numbers, networks)
    addFollowers(gauge, numbers, heads)
    addJobs(gauge, numbers)
    addActivity(gauge, numbers, networks)
    addAudit(gauge, numbers)
    addWebhooks(gauge, numbers)
  }
  return registry.metrics()
}
