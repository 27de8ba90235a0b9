// How things stand at the moment of a scrape: of the whole deployment, as the database and the nodes tell it, and of this
// process. Only the API shows them.

import { Gauge, Registry } from 'prom-client'
import { COUNTED_TAIL_MAX } from '../../db/queries/audit-chain.ts'
import type { Numbers } from '../../db/queries/numbers.ts'
import { BACKFILL_OBSTACLES, type Network, TRANSACTION_STATUSES } from '../../db/words.ts'
import { type LabelValues, namesOf, PREFIX, seriesOf, TASKS } from './metrics.ts'

export type Heads = ReadonlyMap<Network, { readonly isUp: boolean; readonly latest: bigint | null }>

/** PINs that this process verifies. */
type Argon2Load = { readonly running: number; readonly waiting: number }

const BACKFILL_STATES = ['not_begun', 'walking', ...BACKFILL_OBSTACLES]
const LIVE = ['submitted', 'pending']

/** @param from.labels a series that their values foresee is there with 0 where it has no row. */
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

const addTransactions = (registry: Registry, { unfinished }: Numbers, network: readonly Network[]): void => {
  const gauge = gaugeIn(registry)
  gauge('transactions_unfinished', 'Transactions that are not final yet, by the status that is told.', {
    labels: { network, status: TRANSACTION_STATUSES },
    rows: unfinished,
    value: ({ transactions }) => transactions,
  })
  gauge(
    'transactions_oldest_age_seconds',
    'Age of the oldest transaction that is not settled; 0 where there is none.',
    {
      labels: { network, status: LIVE },
      rows: unfinished.filter(({ status }) => LIVE.includes(status)),
      value: ({ oldestSeconds }) => oldestSeconds,
    },
  )
}

const addFollowers = (registry: Registry, { followed }: Numbers, heads: Heads): void => {
  const gauge = gaugeIn(registry)
  const labels = { network: [], purpose: [] }
  const behind = followed.flatMap(({ network, purpose, blockNumber }) => {
    const latest = heads.get(network)?.latest ?? null
    if (latest === null) return []
    return [{ network, purpose, blocks: latest > blockNumber ? Number(latest - blockNumber) : 0 }]
  })
  gauge('blocks_behind', "Blocks from where a follower stands to the node's newest one.", {
    labels,
    rows: behind,
    value: ({ blocks }) => blocks,
  })
  gauge('cursor_age_seconds', 'How long ago a follower of blocks last moved.', {
    labels,
    rows: followed,
    value: ({ quietSeconds }) => quietSeconds,
  })
}

const addJobs = (registry: Registry, { jobs: rows }: Numbers): void => {
  const gauge = gaugeIn(registry)
  const labels = { task: TASKS }
  gauge('jobs_ready', 'Jobs that are due and that no worker has taken.', { labels, rows, value: ({ ready }) => ready })
  gauge('jobs_failed', 'Jobs that failed so often that they are not tried again.', {
    labels,
    rows,
    value: ({ failed }) => failed,
  })
  gauge(
    'jobs_oldest_ready_age_seconds',
    'Since when the oldest job that no worker has taken is due; 0 where there is none.',
    { labels, rows, value: ({ oldestReadySeconds }) => oldestReadySeconds ?? 0 },
  )
}

const addActivity = (registry: Registry, { backfills, doubtful }: Numbers, network: readonly Network[]): void => {
  const gauge = gaugeIn(registry)
  const value = ({ rows }: { readonly rows: number }) => rows
  gauge(
    'backfills_open',
    'Walks back through what an address moved before it became a wallet, by what they wait for.',
    { labels: { network, state: BACKFILL_STATES }, rows: backfills, value },
  )
  gauge(
    'doubtful_contracts',
    'Contracts that did not say of what standard they are when movements of theirs were kept; they are asked again.',
    { labels: { network }, rows: doubtful, value },
  )
}

const addAudit = (registry: Registry, { audit }: Numbers): void => {
  const gauge = gaugeIn(registry)
  gauge('audit_unchained_rows', `Audit rows that no chain holds yet; counted up to ${COUNTED_TAIL_MAX}.`, {
    labels: {},
    rows: [audit],
    value: ({ rows }) => rows,
  })
  gauge('audit_unchained_age_seconds', 'Age of the oldest of them; 0 where there is none.', {
    labels: {},
    rows: [audit],
    value: ({ oldestSeconds }) => oldestSeconds ?? 0,
  })
}

const addProcess = (registry: Registry, { heads, argon2 }: { readonly heads: Heads; readonly argon2: Argon2Load }) => {
  const gauge = gaugeIn(registry)
  gauge('node_up', "Whether the network's node told its newest block in time.", {
    labels: { network: [] },
    rows: [...heads].map(([network, { isUp }]) => ({ network, isUp })),
    value: ({ isUp }) => Number(isUp),
  })
  gauge('argon2_running', 'PINs that are being verified.', {
    labels: {},
    rows: [argon2],
    value: ({ running }) => running,
  })
  gauge('argon2_waiting', 'PINs that wait to be verified.', {
    labels: {},
    rows: [argon2],
    value: ({ waiting }) => waiting,
  })
}

/** In Prometheus' text format. @param input.numbers null where the database did not answer. */
export const gaugesText = (input: {
  readonly numbers: Numbers | null
  readonly heads: Heads
  readonly networks: readonly Network[]
  readonly argon2: Argon2Load
}): Promise<string> => {
  const { numbers, heads, networks } = input
  // A new one each time: what is no longer found must not stay as it was.
  const registry = new Registry()
  gaugeIn(registry)('database_up', 'Whether the database answered this scrape.', {
    labels: {},
    rows: [{}],
    value: () => Number(numbers !== null),
  })
  addProcess(registry, input)
  if (numbers !== null) {
    addTransactions(registry, numbers, networks)
    addFollowers(registry, numbers, heads)
    addJobs(registry, numbers)
    addActivity(registry, numbers, networks)
    addAudit(registry, numbers)
  }
  return registry.metrics()
}
