// What every metric is called and means, and how its lines come of what was read. Series that can be foreseen are there
// from the beginning, with 0: a rate over one that only appears with its first event would miss that event.

import { JOB_PAYLOADS } from '../../db/jobs.ts'
import { COUNTED_TAIL_MAX } from '../../db/queries/audit-chain.ts'
import type { Count, Labels, Numbers } from '../../db/queries/counts.ts'
import {
  type CounterName,
  CURSOR_PURPOSES,
  HINDRANCES,
  HISTOGRAMS,
  type HistogramName,
  type Network,
  SECURITY_EVENTS,
  TRANSACTION_KINDS,
  TRANSACTION_STATUSES,
} from '../../db/words.ts'
import type { NodeTrouble } from '../chains/node/rpc.ts'
import type { FailureCode } from '../transactions/transition.ts'
import type { Family, Sample } from './exposition.ts'
import { BUCKETS_SECONDS } from './tally.ts'

export const PREFIX = 'strongroom_'

const FAILURE_CODES = Object.keys({
  execution_reverted: true,
  contract_wallet_not_deployed: true,
  expired: true,
  nonce_taken: true,
} satisfies Record<Exclude<FailureCode, 'reorganised'>, true>)

const NODE_TROUBLES = Object.keys({
  unreachable: true,
  timeout: true,
  http: true,
  unreadable: true,
  too_large: true,
  refused: true,
  wrong_chain: true,
} satisfies Record<NodeTrouble, true>)

/** Of what a holding is. */
export const BALANCE_ASSETS = ['coin', 'token'] as const

const each = (label: string, values: readonly string[]): readonly Labels[] =>
  values.map((value) => ({ [label]: value }))

const TASKS = each('task', Object.keys(JOB_PAYLOADS))

/** Every combination. */
const all = (...lists: readonly (readonly Labels[])[]): readonly Labels[] =>
  lists.reduce((made, list) => made.flatMap((one) => list.map((other) => ({ ...one, ...other }))), [{}])

type Described = { readonly help: string; readonly series: (networks: readonly Labels[]) => readonly Labels[] }

const COUNTER_FAMILIES: Readonly<Record<CounterName, Described>> = {
  transactions_accepted_total: {
    help: 'Intents recorded, signed and answered as submitted.',
    series: (networks) => all(networks, each('kind', TRANSACTION_KINDS)),
  },
  transactions_broadcast_total: { help: 'Transactions that a node took for the first time.', series: all },
  transactions_mined_total: {
    help: 'Transactions found in a block; again where they were put back and mined again.',
    series: all,
  },
  transactions_put_back_total: { help: 'Transactions whose block a reorganisation took away.', series: all },
  transactions_succeeded_total: { help: 'Transactions that are final and succeeded.', series: all },
  transactions_failed_total: {
    help: 'Transactions that are final and failed.',
    series: (networks) => all(networks, each('code', FAILURE_CODES)),
  },
  ladder_steps_total: {
    help: 'Decisions to send the next rung of a fee ladder, or the cancelling transaction.',
    series: (networks) => all(networks, each('step', ['rung', 'cancel'])),
  },
  reorganisations_total: {
    help: 'Reorganisations that a follower of blocks went back for.',
    series: (networks) => all(networks, each('purpose', CURSOR_PURPOSES)),
  },
  deep_reorganisations_total: {
    help: 'Reorganisations that took away blocks that were final.',
    series: all,
  },
  reorganised_blocks_total: {
    help: 'Blocks that reorganisations took away: how deep they were, added up.',
    series: (networks) => all(networks, each('purpose', CURSOR_PURPOSES)),
  },
  node_failures_total: {
    help: 'Requests that a node did not answer as it should.',
    series: (networks) => all(networks, each('trouble', NODE_TROUBLES)),
  },
  security_events_total: {
    help: 'Refusals that may be part of an attack.',
    series: () => each('kind', SECURITY_EVENTS),
  },
  balance_checks_total: {
    help: 'Holdings of wallets that were held against what was told of a block.',
    series: all,
  },
  balance_differences_total: {
    help: 'Holdings of wallets that a block changed otherwise than by what was told of it.',
    series: (networks) => all(networks, each('asset', BALANCE_ASSETS)),
  },
  job_errors_total: { help: 'Runs of jobs that ended with an error; they are tried again.', series: () => TASKS },
}

const HISTOGRAM_HELP: Readonly<Record<HistogramName, string>> = {
  job_wait_seconds: 'How long jobs waited from when they were due until they began.',
  job_duration_seconds: 'How long jobs ran; a follower of blocks runs in shifts of half a minute.',
}

const labelsIn = (order: readonly string[], labels: Labels): Labels =>
  Object.fromEntries(order.map((name) => [name, labels[name] ?? '']))

/** What is foreseen, with what was found in its place, then what was found besides. */
const filledIn = (foreseen: readonly Labels[], found: readonly Sample[]): readonly Sample[] => {
  const order = Object.keys(foreseen[0] ?? found[0]?.labels ?? {})
  const samples = new Map<string, Sample>()
  for (const sample of [...foreseen.map((labels) => ({ labels, value: 0 })), ...found]) {
    const labels = labelsIn(order, sample.labels)
    samples.set(JSON.stringify(labels), { labels, value: sample.value })
  }
  return [...samples.values()]
}

const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({
  name: PREFIX + name,
  type: 'gauge',
  help,
  samples,
})

const totalsOf = (totals: readonly Count[], name: CounterName | HistogramName): readonly Sample[] =>
  totals.filter((total) => total.name === name).map(({ labels, amount }) => ({ labels, value: amount }))

/** Buckets are counted apart and shown added up, each with all below it. */
const distribution = (labels: Labels, found: readonly Sample[]): readonly Sample[] => {
  const inBuckets = found.filter(({ labels: { le } }) => le !== undefined)
  const upTo = (bound: number) =>
    inBuckets.reduce(
      (sum, { labels: { le }, value }) =>
        sum + ((le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)) <= bound ? value : 0),
      0,
    )
  const total = upTo(Number.POSITIVE_INFINITY)
  const sum = found.find(({ labels: { le } }) => le === undefined)?.value ?? 0
  return [
    ...BUCKETS_SECONDS.map((bound) => ({
      suffix: '_bucket',
      labels: { ...labels, le: String(bound) },
      value: upTo(bound),
    })),
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: total },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: total },
  ]
}

const histogramOf = (totals: readonly Count[], name: HistogramName): Family => {
  const found = totalsOf(totals, name)
  const tasks = new Set(found.map(({ labels }) => labels.task ?? ''))
  const samples = [...tasks].sort().flatMap((task) =>
    distribution(
      { task },
      found.filter(({ labels }) => labels.task === task),
    ),
  )
  return { name: PREFIX + name, type: 'histogram', help: HISTOGRAM_HELP[name], samples }
}

/** The totals of the whole deployment. */
const totalFamilies = ({ totals }: Numbers, networks: readonly Labels[]): readonly Family[] => [
  ...Object.entries(COUNTER_FAMILIES).map(([name, { help, series }]) => ({
    name: PREFIX + name,
    type: 'counter' as const,
    help,
    samples: filledIn(series(networks), totalsOf(totals, name as CounterName)),
  })),
  ...HISTOGRAMS.map((name) => histogramOf(totals, name)),
]

const jobFamilies = ({ jobs }: Numbers): readonly Family[] => {
  const of = (value: (job: Numbers['jobs'][number]) => number) =>
    filledIn(
      TASKS,
      jobs.map((job) => ({ labels: { task: job.task }, value: value(job) })),
    )
  return [
    gauge(
      'jobs_ready',
      'Jobs that are due and that no worker has taken.',
      of((job) => job.ready),
    ),
    gauge(
      'jobs_failed',
      'Jobs that failed so often that they are not tried again.',
      of((job) => job.failed),
    ),
    gauge(
      'jobs_oldest_ready_age_seconds',
      'Since when the oldest job that no worker has taken is due; 0 where there is none.',
      of((job) => job.oldestReadySeconds ?? 0),
    ),
  ]
}

const transactionFamilies = ({ unfinished }: Numbers, networks: readonly Labels[]): readonly Family[] => {
  const live = ['submitted', 'pending']
  const labelled = unfinished.map((row) => ({ ...row, labels: { network: row.network, status: row.status } }))
  return [
    gauge(
      'transactions_unfinished',
      'Transactions that are not final yet, by the status that is told.',
      filledIn(
        all(networks, each('status', TRANSACTION_STATUSES)),
        labelled.map(({ labels, transactions }) => ({ labels, value: transactions })),
      ),
    ),
    gauge(
      'transactions_oldest_age_seconds',
      'Age of the oldest transaction that is not settled; 0 where there is none.',
      filledIn(
        all(networks, each('status', live)),
        labelled
          .filter(({ status }) => live.includes(status))
          .map(({ labels, oldestSeconds }) => ({ labels, value: oldestSeconds })),
      ),
    ),
  ]
}

export type Heads = ReadonlyMap<Network, { readonly isUp: boolean; readonly latest: bigint | null }>

const followerFamilies = ({ followed }: Numbers, heads: Heads): readonly Family[] => {
  const rows = followed.map((row) => ({ ...row, labels: { network: row.network, purpose: row.purpose } }))
  const behind = rows.flatMap(({ labels, network, blockNumber }) => {
    const latest = heads.get(network)?.latest ?? null
    if (latest === null) return []
    return [{ labels, value: latest > blockNumber ? Number(latest - blockNumber) : 0 }]
  })
  return [
    gauge('blocks_behind', "Blocks from where a follower stands to the node's newest one.", behind),
    gauge(
      'cursor_age_seconds',
      'How long ago a follower of blocks last moved.',
      rows.map(({ labels, quietSeconds }) => ({ labels, value: quietSeconds })),
    ),
  ]
}

const BACKFILL_STATES = ['not_begun', 'walking', ...HINDRANCES]

const activityFamilies = ({ backfills, doubtful }: Numbers, networks: readonly Labels[]): readonly Family[] => [
  gauge(
    'backfills_open',
    'Walks back through what an address moved before it became a wallet, by what they wait for.',
    filledIn(
      all(networks, each('state', BACKFILL_STATES)),
      backfills.map(({ network, state, rows }) => ({ labels: { network, state }, value: rows })),
    ),
  ),
  gauge(
    'doubtful_contracts',
    'Contracts that did not say of what standard they are when movements of theirs were kept; they are asked again.',
    filledIn(
      networks,
      doubtful.map(({ network, rows }) => ({ labels: { network }, value: rows })),
    ),
  ),
]

const auditFamilies = ({ audit }: Numbers): readonly Family[] => [
  gauge('audit_unchained_rows', `Audit rows that no chain holds yet; counted up to ${COUNTED_TAIL_MAX}.`, [
    { labels: {}, value: audit.rows },
  ]),
  gauge('audit_unchained_age_seconds', 'Age of the oldest of them; 0 where there is none.', [
    { labels: {}, value: audit.oldestSeconds ?? 0 },
  ]),
]

/** Of the whole deployment, whoever is asked; null where the database did not answer. */
export const deploymentFamilies = (input: {
  readonly numbers: Numbers | null
  readonly heads: Heads
  readonly networks: readonly Network[]
}): readonly Family[] => {
  const { numbers, heads } = input
  const up = gauge('database_up', 'Whether the database answered this scrape.', [
    { labels: {}, value: numbers === null ? 0 : 1 },
  ])
  if (numbers === null) return [up]
  const networks = each('network', input.networks)
  return [
    up,
    ...totalFamilies(numbers, networks),
    ...transactionFamilies(numbers, networks),
    ...followerFamilies(numbers, heads),
    ...jobFamilies(numbers),
    ...activityFamilies(numbers, networks),
    ...auditFamilies(numbers),
  ]
}

/** As this process alone sees it. */
export const processFamilies = (input: {
  readonly heads: Heads
  readonly argon2: { readonly running: number; readonly waiting: number }
}): readonly Family[] => [
  gauge(
    'node_up',
    "Whether the network's node told its newest block in time.",
    [...input.heads].map(([network, { isUp }]) => ({ labels: { network }, value: isUp ? 1 : 0 })),
  ),
  gauge('argon2_running', 'PINs that are being verified.', [{ labels: {}, value: input.argon2.running }]),
  gauge('argon2_waiting', 'PINs that wait to be verified.', [{ labels: {}, value: input.argon2.waiting }]),
]
