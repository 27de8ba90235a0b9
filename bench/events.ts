// What events cost. Intents with their own events and without; with them beside 1,000 other causes of events a second,
// with and without the events of these, where the causes are transfers in blocks, or users one by one; and commits at
// 32 connections that each write an event, with and without the notification of those who wait. All in turns, because
// the machine may have other work.

import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { startApiProcess } from '../test/support/api.ts'
import type { TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import { headersOf, type LoadResult, load, median, repeat } from './load.ts'
import { start } from './processes.ts'
import { RECIPIENT } from './signers.ts'
import { measureCpu } from './usage.ts'

const SIGNERS = 64
const AT_ONCE = 4
const EVENTS_PER_SECOND = 1_000
const PROJECTS = 8
const WALLETS_A_PROJECT = 100
const COMMITTERS = 32
const INTENT_SECONDS = 1.5
const COMMIT_SECONDS = 2
const INTENT_ROUNDS = 15
const COMMIT_ROUNDS = 6

/** What causes the other events: the trigger that writes these, and the events themselves. */
const CAUSES = {
  transfers: { table: 'movements', trigger: 'strongroom_event_movement_seen', type: 'activity.created' },
  users: { table: 'users', trigger: 'strongroom_event_user_made', type: 'user.created' },
} as const
type Cause = keyof typeof CAUSES
const KINDS = Object.keys(CAUSES) as Cause[]

/**
 * `silent`: beside nothing, and without the triggers that write the events of transactions. `transfers` and `users`:
 * beside these rows, without the trigger that writes their events.
 */
const BESIDES = ['silent', 'nothing', 'transfers', 'transfersTold', 'users', 'usersTold'] as const
type Beside = (typeof BESIDES)[number]

/** `untold`: with events, without the notification of those who wait. */
const COMMITS = ['causes', 'untold', 'told'] as const
type Commit = (typeof COMMITS)[number]

type Commits = {
  readonly perSecond: number
  /** The database's CPU time of one. */
  readonly cpuMs: number
}

type IntentRound = Readonly<Record<Beside, LoadResult & { readonly eventsPerSecond: number }>>
type CommitRound = Readonly<Record<Commit, Commits>>

export type EventsBench = {
  readonly intents: readonly IntentRound[]
  /** Medians over the rounds: of an intent's p50, and of its ratios in a round. */
  readonly p50Ms: Readonly<Record<Beside, number>>
  readonly toSilent: number
  readonly besides: Readonly<
    Record<Cause, { readonly toNothing: number; readonly toCauses: number; readonly perSecond: number }>
  >
  readonly commits: readonly CommitRound[]
  readonly cpuMs: Readonly<Record<Commit, number>>
  readonly toldToUntold: number
}

const countEvents = async (sql: postgres.Sql, type: string): Promise<number> => {
  const [row] = await sql<{ n: number }[]>`select count(*)::int as n from events where type = ${type}`
  return row?.n ?? 0
}

const enable = (sql: postgres.Sql, input: { readonly table: string; readonly trigger: string; readonly is: boolean }) =>
  sql.unsafe(`alter table ${input.table} ${input.is ? 'enable' : 'disable'} trigger ${input.trigger}`)

const OF_INTENTS = ['made', 'changed'].map((what) => ({
  table: 'transactions',
  trigger: `strongroom_event_transaction_${what}`,
}))
const OF_NOTICES = { table: 'events', trigger: 'strongroom_event_told' } as const

const newProjects = async (sql: postgres.Sql): Promise<readonly string[]> => {
  const projects = Array.from({ length: PROJECTS }, () => randomUUID())
  for (const id of projects) await sql`insert into projects (id, name) values (${id}, 'Bench')`
  return projects
}

/** Wallets whose keys nobody has. */
const addWallets = async (sql: postgres.Sql, projects: readonly string[]): Promise<void> => {
  await sql`
    with keyring as (
      insert into keyrings (id, project_id, owner_id, kind, sealed)
      select gen_random_uuid(), project, 'bench', 'key', '\\x00' from unnest(${[...projects]}::uuid[]) project
      returning id, project_id
    )
    insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
    select gen_random_uuid(), project_id, 'Ethereum', 'bench ' || each, 'Bench',
      '0x' || left(encode(sha256((project_id::text || each)::bytea), 'hex'), 40), 'developer', 'eoa', id, '\\x00', '\\x00'
    from keyring, generate_series(1, ${WALLETS_A_PROJECT}::int) each`
}

type World = {
  readonly service: Service
  readonly sql: postgres.Sql
  readonly projects: readonly string[]
  readonly signers: readonly string[]
  /** Of an API that is a process of its own. */
  readonly url: string
  readonly postgresPid: number
}

const sendIntents = ({ service, signers, url }: World): Promise<LoadResult> =>
  load({
    url: `${url}/transactions/sign-and-send`,
    request: (index) => ({
      method: 'POST',
      headers: headersOf(service),
      body: JSON.stringify({
        network: 'Ethereum',
        signer_wallet_address: signers[index % signers.length],
        developer_secret: 'testnet-secret',
        unsigned_transaction: { to: RECIPIENT, value: '1' },
      }),
    }),
    atOnce: AT_ONCE,
    seconds: INTENT_SECONDS,
  })

/** @param input.pids of the writers. */
const intentsBeside = async (
  world: World,
  { beside, pids }: { readonly beside: Beside; readonly pids: Readonly<Record<Cause, number>> },
) => {
  const { sql } = world
  for (const each of OF_INTENTS) await enable(sql, { ...each, is: beside !== 'silent' })
  if (beside === 'silent' || beside === 'nothing') return { ...(await sendIntents(world)), eventsPerSecond: 0 }
  const kind = beside === 'transfers' || beside === 'transfersTold' ? 'transfers' : 'users'
  const cause = CAUSES[kind]
  await enable(sql, { ...cause, is: beside !== kind })
  process.kill(pids[kind], 'SIGUSR2')
  const before = await countEvents(sql, cause.type)
  const begun = performance.now()
  const intents = await sendIntents(world)
  const eventsPerSecond = (((await countEvents(sql, cause.type)) - before) / (performance.now() - begun)) * 1000
  process.kill(pids[kind], 'SIGUSR1')
  await enable(sql, { ...cause, is: true })
  return { ...intents, eventsPerSecond }
}

/** Commits of transactions with one cause each. */
const commit = async ({ service, sql, projects, postgresPid }: World, what: Commit): Promise<Commits> => {
  await enable(sql, { ...CAUSES.users, is: what !== 'causes' })
  await enable(sql, { ...OF_NOTICES, is: what === 'told' })
  const clients = Array.from({ length: COMMITTERS }, () => postgres(service.database.apiUrl, { max: 1 }))
  const work = async (index: number): Promise<void> => {
    const client = clients[index % COMMITTERS] ?? sql
    const project = projects[index % PROJECTS] ?? ''
    await client`insert into users (id, project_id, mac) values (${randomUUID()}, ${project}, '')`
  }
  await repeat({ work, atOnce: COMMITTERS, seconds: 0.3 })
  const { result, cpuMs } = await measureCpu({ postgres: postgresPid }, () =>
    repeat({ work, atOnce: COMMITTERS, seconds: COMMIT_SECONDS }),
  )
  await Promise.all(clients.map((client) => client.end()))
  await enable(sql, { ...OF_NOTICES, is: true })
  await enable(sql, { ...CAUSES.users, is: true })
  return { perSecond: result.perSecond, cpuMs: cpuMs.postgres / result.requests }
}

/** Another one is the first each time, as later ones meet a larger database. */
const inTurn = <Each>(all: readonly Each[], round: number): readonly Each[] => [
  ...all.slice(round % all.length),
  ...all.slice(0, round % all.length),
]

/** Does each of them once, and another one first each time. */
const roundOf = async <Each extends string, Result>(
  all: readonly Each[],
  { round, measure }: { readonly round: number; readonly measure: (each: Each) => Promise<Result> },
): Promise<Readonly<Record<Each, Result>>> => {
  const results: [Each, Result][] = []
  for (const each of inTurn(all, round)) results.push([each, await measure(each)])
  return Object.fromEntries(results) as Record<Each, Result>
}

const recordOf = <Key extends string, Value>(keys: readonly Key[], read: (key: Key) => Value) =>
  Object.fromEntries(keys.map((key) => [key, read(key)])) as Record<Key, Value>

/** @param input.postgresPid of the server itself, whose children serve the connections. */
export const benchEvents = async (input: {
  readonly service: Service
  readonly chain: TestChain
  readonly postgresPid: number
}): Promise<EventsBench> => {
  const { service, chain, postgresPid } = input
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  const wallets = await Promise.all(Array.from({ length: SIGNERS }, () => service.newWallet({ network: 'Ethereum' })))
  for (const { address } of wallets) await chain.fund(address)
  const api = await startApiProcess(service.variables)
  const projects = await newProjects(sql)
  const signers = wallets.map(({ address }) => address)
  const world: World = { service, sql, projects, signers, url: api.url, postgresPid }
  await addWallets(sql, projects)
  const startWriter = (kind: Cause, url: string) =>
    start({
      file: 'bench/events-writer.ts',
      variables: {},
      parameters: [kind, url, String(EVENTS_PER_SECOND), ...projects],
      until: /writing/,
    })
  const writers = {
    transfers: await startWriter('transfers', service.database.workerUrl),
    users: await startWriter('users', service.database.apiUrl),
  }
  const pids = { transfers: writers.transfers.pid, users: writers.users.pid }
  // Somebody waits, as there would be no reason to notify otherwise.
  const waiting = new AbortController()
  const stream = `${api.url}/events/stream?types=project.changed`
  await fetch(stream, { headers: headersOf(service), signal: waiting.signal })
  try {
    await sendIntents(world)
    const intents: IntentRound[] = []
    for (let round = 0; round < INTENT_ROUNDS; round += 1) {
      const measure = (beside: Beside) => intentsBeside(world, { beside, pids })
      intents.push(await roundOf(BESIDES, { round, measure }))
    }
    const commits: CommitRound[] = []
    for (let round = 0; round < COMMIT_ROUNDS; round += 1)
      commits.push(await roundOf(COMMITS, { round, measure: (what) => commit(world, what) }))
    const middle = (of: (round: IntentRound) => number) => median(intents.map(of))
    const cpuOf = (what: Commit) => median(commits.map(({ [what]: { cpuMs } }) => cpuMs))
    return {
      intents,
      p50Ms: recordOf(BESIDES, (beside) => middle(({ [beside]: { p50Ms } }) => p50Ms)),
      toSilent: middle(({ silent, nothing }) => nothing.p50Ms / silent.p50Ms),
      besides: recordOf(KINDS, (kind) => ({
        toNothing: middle((round) => round[`${kind}Told`].p50Ms / round.nothing.p50Ms),
        toCauses: middle((round) => round[`${kind}Told`].p50Ms / round[kind].p50Ms),
        perSecond: middle((round) => round[`${kind}Told`].eventsPerSecond),
      })),
      commits,
      cpuMs: recordOf(COMMITS, cpuOf),
      toldToUntold: median(commits.map(({ told, untold }) => told.perSecond / untold.perSecond)),
    }
  } finally {
    waiting.abort()
    for (const kind of KINDS) await writers[kind].stop()
    await api.stop()
    await sql.end()
  }
}

const fixed = (value: number, digits = 1) => value.toFixed(digits)

const INTENTS = {
  silent: 'without any event',
  nothing: 'with its own events',
  transfers: 'the same beside transfers to wallets, in 4 blocks a second',
  transfersTold: 'and beside their events',
  users: 'beside new users, each in a transaction of its own',
  usersTold: 'and beside their events',
} as const

export const eventsTable = ({ intents, commits, ...bench }: EventsBench): readonly string[] => [
  `\nIntents, ${AT_ONCE} at once, and ${EVENTS_PER_SECOND} other causes of events a second     p50 ms`,
  ...BESIDES.map((beside) => `  ${INTENTS[beside].padEnd(56)} ${fixed(bench.p50Ms[beside]).padStart(8)}`),
  `  an intent with its own events, in times of one without: ${fixed(bench.toSilent, 2)} (aim: at most 1.10)`,
  ...KINDS.map((kind) => {
    const { toCauses, toNothing, perSecond } = bench.besides[kind]
    return `  beside events of ${kind}, in times of these alone: ${fixed(toCauses, 2)} (aim: at most 1.10), of nothing ${fixed(toNothing, 2)}; written: ${fixed(perSecond, 0)}/s`
  }),
  `  in rounds: ${intents.map((round) => BESIDES.map((beside) => fixed(round[beside].p50Ms, 0)).join('/')).join(', ')} ms`,
  `\nCommits with a cause each, ${COMMITTERS} at once   per second, in rounds                  CPU ms of the database`,
  ...COMMITS.map(
    (what) =>
      `  ${{ causes: 'causes alone', untold: 'with events', told: 'and notified' }[what].padEnd(36)} ${commits.map(({ [what]: { perSecond } }) => fixed(perSecond, 0).padStart(5)).join(' ')} ${fixed(bench.cpuMs[what], 3).padStart(10)}`,
  ),
  `  notified to not notified ${fixed(bench.toldToUntold, 2)}`,
]
