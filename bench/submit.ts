// Intents a second through the whole service, from the request until the last is told as mined: load, API, vault,
// worker, PostgreSQL and node as processes of their own on one machine. Beside it what the node alone can do, in the
// same run.

import { availableParallelism } from 'node:os'
import postgres from 'postgres'
import type { TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import { type NodeCounts, startCountingNode } from './counting-node.ts'
import { headersOf, median, percentile } from './load.ts'
import { createRawSender } from './node-limit.ts'
import { RECIPIENT } from './signers.ts'
import { type Stack, startStack } from './stack.ts'
import { countStatements, type StatementCounts } from './statements.ts'
import { measureCpu } from './usage.ts'

const SIGNERS = 128
const AT_ONCE = 64
/** The first intents cost twice as much as those after 2,700. */
const WARM_UP_INTENTS = 3_000
const SEND_MS = 6_000
const ONE_SIGNER_AT_ONCE = 32
const ONE_SIGNER_INTENTS = 1_000
const ROUNDS = 3
const COUNTED = 400
const COUNTED_AT_ONCE = 16
const ASKED = 2_000
const DRAIN_DEADLINE_MS = 30_000
const POLL_MS = 20

/** What takes the machine's time. */
type Part = 'load' | 'api' | 'vault' | 'worker' | 'postgres' | 'node'

type Round = {
  readonly intents: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMs: Readonly<Record<Part, number>>
  readonly wallMs: number
  /** Transactions a second of the node alone, as many as there were intents. */
  readonly nodePerSecond: number
  readonly nodeCpuMs: number
}

export type SubmitBench = {
  readonly rounds: readonly Round[]
  /** Medians over the rounds, as is all that follows. */
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU time of one intent. */
  readonly cpuMs: Readonly<Record<Part, number>>
  /** Accepted requests of one signer, while the worker sends them. */
  readonly oneSigner: { readonly perSecond: number; readonly p50Ms: number }
  /** How much of the machine's time was used. */
  readonly busy: number
  readonly nodePerSecond: number
  /** CPU time of the node for one transaction that is pushed at it. */
  readonly nodeCpuMs: number
  /** Submissions a second whose questions the node could answer. */
  readonly nodeAsksPerSecond: number
  /** For one intent, from the request until its status is known. */
  readonly counted: {
    readonly requests: number
    readonly calls: number
    readonly bytes: number
    readonly statements: number
    readonly databaseMs: number
    readonly node: NodeCounts
    readonly database: StatementCounts
  }
}

const startStackAt = (service: Service, rpcUrl: string): Promise<Stack> =>
  startStack(service, { variables: { ETHEREUM_RPC_URL: rpcUrl }, hasWorker: true })

/** Sends intents until `isOver`, so many at once, each signer in its turn. @returns the latencies of the answers. */
const sendIntents = async (input: {
  readonly service: Service
  readonly stack: Stack
  readonly signers: readonly string[]
  readonly atOnce: number
  readonly isOver: (sent: number) => boolean
}): Promise<readonly number[]> => {
  const { service, stack, signers } = input
  const headers = headersOf(service)
  const latencies: number[] = []
  let sent = 0
  const client = async () => {
    while (!input.isOver(sent)) {
      const body = JSON.stringify({
        network: 'Ethereum',
        signer_wallet_address: signers[sent++ % signers.length],
        developer_secret: 'testnet-secret',
        unsigned_transaction: { to: RECIPIENT, value: '1' },
      })
      const begun = performance.now()
      const response = await fetch(`${stack.url}/transactions/sign-and-send`, { method: 'POST', headers, body })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`answered ${response.status}: ${text}`)
      latencies.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: input.atOnce }, client))
  return latencies
}

/** Waits until everything is told. @throws Error where something failed. */
const drain = async (sql: postgres.Sql): Promise<void> => {
  const deadline = performance.now() + DRAIN_DEADLINE_MS
  const isDrained = async () =>
    (await sql`select from transactions where not final and status in ('submitted', 'pending') limit 1`).length === 0
  while (!(await isDrained())) {
    if (performance.now() > deadline) throw new Error('not all transactions were mined')
    await Bun.sleep(POLL_MS)
  }
  const failed = await sql`select error from transactions where status = 'failed' limit 1`
  if (failed.length > 0) throw new Error(`a transaction failed: ${failed[0]?.error}`)
}

type World = {
  readonly service: Service
  readonly chain: TestChain
  readonly signers: readonly string[]
  readonly sql: postgres.Sql
}

/** A calm run with somebody in between who counts. */
const countOne = async (world: World): Promise<SubmitBench['counted']> => {
  const { service, chain, signers, sql } = world
  const counter = startCountingNode(chain.rpcUrl)
  const statements = await countStatements({ url: service.database.url, database: service.database.name })
  const stack = await startStackAt(service, counter.rpcUrl)
  try {
    // The first intent of a signer and of a connection costs more.
    await sendIntents({ ...world, stack, atOnce: COUNTED_AT_ONCE, isOver: (sent) => sent >= signers.length })
    await drain(sql)
    counter.take()
    await statements.take()
    await sendIntents({ ...world, stack, atOnce: COUNTED_AT_ONCE, isOver: (sent) => sent >= COUNTED })
    await drain(sql)
    const [node, database] = [counter.take(), await statements.take()]
    return {
      requests: node.requests / COUNTED,
      calls: node.calls / COUNTED,
      bytes: node.bytes / COUNTED,
      statements: database.statements / COUNTED,
      databaseMs: database.ms / COUNTED,
      node,
      database,
    }
  } finally {
    await stack.stop()
    await statements.close()
    counter.stop()
  }
}

const mediansOf = (rounds: readonly Round[]) => {
  const middle = (of: (round: Round) => number) => median(rounds.map(of))
  const cpuOf = (part: Part) => middle(({ cpuMs, intents }) => cpuMs[part] / intents)
  const usedMs = ({ cpuMs }: Round) => Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0)
  return {
    perSecond: middle(({ perSecond }) => perSecond),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
    cpuMs: {
      load: cpuOf('load'),
      api: cpuOf('api'),
      vault: cpuOf('vault'),
      worker: cpuOf('worker'),
      postgres: cpuOf('postgres'),
      node: cpuOf('node'),
    },
    busy: middle((round) => usedMs(round) / (round.wallMs * availableParallelism())),
    nodePerSecond: middle(({ nodePerSecond }) => nodePerSecond),
    nodeCpuMs: middle(({ nodeCpuMs, intents }) => nodeCpuMs / intents),
  }
}

/** @param input.postgresPid of the server itself, whose children serve the connections. */
export const benchSubmit = async (input: {
  readonly service: Service
  readonly chain: TestChain
  readonly postgresPid: number
}): Promise<SubmitBench> => {
  const { service, chain, postgresPid } = input
  const sql = postgres(service.database.url, { max: 1 })
  const wallets = await Promise.all(Array.from({ length: SIGNERS }, () => service.newWallet({ network: 'Ethereum' })))
  for (const { address } of wallets) await chain.fund(address)
  const world: World = { service, chain, signers: wallets.map(({ address }) => address), sql }
  const rawSender = await createRawSender(chain, { signers: SIGNERS })
  const counted = await countOne(world)
  const stack = await startStackAt(service, chain.rpcUrl)
  const { workerPid: worker } = stack
  if (worker === null) throw new Error('the stack has no worker')
  const pids = { ...stack.pids, worker, postgres: postgresPid, node: chain.pid, load: process.pid }

  const round = async (): Promise<Round> => {
    const begun = performance.now()
    const isOver = () => performance.now() - begun > SEND_MS
    const served = await measureCpu(pids, async () => {
      const latencies = await sendIntents({ ...world, stack, atOnce: AT_ONCE, isOver })
      await drain(sql)
      return latencies
    })
    const sorted = [...served.result].sort((a, b) => a - b)
    const pushed = await measureCpu({ node: chain.pid }, () => rawSender.push(sorted.length))
    return {
      intents: sorted.length,
      perSecond: (sorted.length / served.wallMs) * 1000,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      cpuMs: served.cpuMs,
      wallMs: served.wallMs,
      nodePerSecond: pushed.result,
      nodeCpuMs: pushed.cpuMs.node,
    }
  }

  const ofOneSigner = async () => {
    const begun = performance.now()
    const isOver = (sent: number) => sent >= ONE_SIGNER_INTENTS
    const one = { ...world, signers: world.signers.slice(0, 1), atOnce: ONE_SIGNER_AT_ONCE }
    const latencies = await sendIntents({ ...one, stack, isOver })
    const wallMs = performance.now() - begun
    await drain(sql)
    const p50Ms = percentile(
      latencies.toSorted((a, b) => a - b),
      0.5,
    )
    return { perSecond: (latencies.length / wallMs) * 1000, p50Ms }
  }

  try {
    await sendIntents({ ...world, stack, atOnce: AT_ONCE, isOver: (sent) => sent >= WARM_UP_INTENTS })
    await drain(sql)
    const rounds: Round[] = []
    for (let index = 0; index < ROUNDS; index += 1) rounds.push(await round())
    const ones: Awaited<ReturnType<typeof ofOneSigner>>[] = []
    for (let index = 0; index < ROUNDS; index += 1) ones.push(await ofOneSigner())
    const oneSigner = {
      perSecond: median(ones.map(({ perSecond }) => perSecond)),
      p50Ms: median(ones.map(({ p50Ms }) => p50Ms)),
    }
    return { rounds, ...mediansOf(rounds), oneSigner, nodeAsksPerSecond: await rawSender.ask(ASKED), counted }
  } finally {
    await stack.stop()
    await sql.end()
  }
}
