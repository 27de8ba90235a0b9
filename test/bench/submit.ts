import postgres from 'postgres'
import type { TestChain } from '../support/chains.ts'
import type { Service } from '../support/service.ts'
import { type NodeCounts, startCountingNode } from './countingNode.ts'
import { median, percentile } from './load.ts'
import { createRawSender } from './nodeLimit.ts'
import { start } from './processes.ts'
import { countStatements, type StatementCounts } from './statements.ts'
import { measureCpu } from './usage.ts'

const SIGNERS = 128
const AT_ONCE = 64
const SEND_MS = 6_000
const ROUNDS = 3
const COUNTED = 400
const COUNTED_AT_ONCE = 16
const DRAIN_DEADLINE_MS = 30_000
const POLL_MS = 20

type Round = {
  readonly intents: number
  /** Until the last one is told as mined, from the first request. */
  readonly perSecond: number
  readonly acceptedPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuMs: Readonly<Record<'api' | 'worker' | 'postgres' | 'node' | 'load', number>>
  readonly wallMs: number
  readonly nodePerSecond: number
}

export type SubmitBench = {
  readonly rounds: readonly Round[]
  /** Medians. */
  readonly perSecond: number
  readonly nodePerSecond: number
  readonly nodeAsksPerSecond: number
  /** Of one intent, from the request until it is final. */
  readonly counted: { readonly intents: number; readonly node: NodeCounts; readonly database: StatementCounts }
}

type Stack = Awaited<ReturnType<typeof startStack>>

/** API and worker as processes of their own. */
export const startStack = async (service: Service, rpcUrl: string) => {
  const variables = { ...service.variables, ETHEREUM_RPC_URL: rpcUrl, LOG_LEVEL: 'info' }
  const api = await start({
    file: 'src/server.ts',
    variables: { ...variables, PORT: '0' },
    until: /"url":"(http:\/\/127\.0\.0\.1:[0-9]+)"/,
  })
  const worker = await start({
    file: 'jobs/worker.ts',
    variables: { ...variables, ROOT_KEY: '', DATABASE_URL: service.database.workerUrl },
    until: /"working"/,
  })
  const url = `${api.match[1]}/transactions/sign-and-send`
  const stop = () => Promise.all([api.stop(), worker.stop()])
  return { url, pids: { api: api.pid, worker: worker.pid }, stop }
}

/** Sends intents until `isOver`, so many at once, each signer in its turn. @returns the latencies of the answers. */
export const sendIntents = async (input: {
  readonly service: Service
  readonly stack: Stack
  readonly signers: readonly string[]
  readonly atOnce: number
  readonly isOver: (sent: number) => boolean
}): Promise<readonly number[]> => {
  const { service, stack, signers } = input
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${service.project.apiKey}`,
    'x-walletkit-project-id': service.project.projectId,
  }
  const latencies: number[] = []
  let sent = 0
  const client = async () => {
    while (!input.isOver(sent)) {
      const body = JSON.stringify({
        network: 'Ethereum',
        signer_wallet_address: signers[sent++ % signers.length],
        developer_secret: 'testnet-secret',
        unsigned_transaction: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' },
      })
      const begun = performance.now()
      const response = await fetch(stack.url, { method: 'POST', headers, body })
      const text = await response.text()
      if (response.status !== 200) throw new Error(`answered ${response.status}: ${text}`)
      latencies.push(performance.now() - begun)
    }
  }
  await Promise.all(Array.from({ length: input.atOnce }, client))
  return latencies
}

/** Waits until nothing is live. @throws Error where something failed. */
export const drain = async (sql: postgres.Sql): Promise<void> => {
  const deadline = performance.now() + DRAIN_DEADLINE_MS
  for (;;) {
    const [row] = await sql<{ live: number; failed: number }[]>`
      select count(*) filter (where status in ('submitted', 'pending'))::int as live,
        count(*) filter (where status = 'failed')::int as failed
      from transactions where not final`
    if (row?.failed !== 0) throw new Error(`${row?.failed} transactions failed`)
    if (row.live === 0) return
    if (performance.now() > deadline) throw new Error(`${row.live} transactions are not mined`)
    await Bun.sleep(POLL_MS)
  }
}

const count = async (input: {
  readonly service: Service
  readonly chain: TestChain
  readonly signers: readonly string[]
  readonly sql: postgres.Sql
}): Promise<SubmitBench['counted']> => {
  const { service, chain, signers, sql } = input
  const node = startCountingNode(chain.rpcUrl)
  const statements = await countStatements({ url: service.database.url, database: service.database.name })
  const stack = await startStack(service, node.rpcUrl)
  try {
    await sendIntents({ ...input, stack, atOnce: 1, isOver: (sent) => sent >= signers.length })
    await drain(sql)
    node.take()
    await statements.take()
    await sendIntents({ ...input, stack, atOnce: COUNTED_AT_ONCE, isOver: (sent) => sent >= COUNTED })
    await drain(sql)
    return { intents: COUNTED, node: node.take(), database: await statements.take() }
  } finally {
    await stack.stop()
    await statements.close()
    node.stop()
    await sql`select 1`
  }
}

/** Intents a second through the whole service, beside what the node alone can do. */
export const benchSubmit = async (input: {
  readonly service: Service
  readonly chain: TestChain
  readonly postgresPid: number
}): Promise<SubmitBench> => {
  const { service, chain, postgresPid } = input
  const sql = postgres(service.database.url, { max: 1 })
  const wallets = await Promise.all(Array.from({ length: SIGNERS }, () => service.newWallet({ network: 'Ethereum' })))
  for (const { address } of wallets) await chain.fund(address)
  const signers = wallets.map(({ address }) => address)
  const rawSender = await createRawSender(chain, { signers: SIGNERS })
  const counted = await count({ ...input, signers, sql })
  const stack = await startStack(service, chain.rpcUrl)
  const pids = { ...stack.pids, postgres: postgresPid, node: chain.pid, load: process.pid }
  const round = async (sendMs: number): Promise<Round> => {
    const begun = performance.now()
    let acceptedMs = 0
    const { cpuMs, wallMs, result } = await measureCpu(pids, async () => {
      const latencies = await sendIntents({
        ...{ service, stack, signers, atOnce: AT_ONCE },
        isOver: () => performance.now() - begun > sendMs,
      })
      acceptedMs = performance.now() - begun
      await drain(sql)
      return latencies
    })
    const sorted = [...result].sort((a, b) => a - b)
    const intents = sorted.length
    return {
      ...{
        intents,
        cpuMs,
        wallMs,
        perSecond: (intents / wallMs) * 1000,
        acceptedPerSecond: (intents / acceptedMs) * 1000,
      },
      ...{
        p50Ms: percentile(sorted, 0.5),
        p99Ms: percentile(sorted, 0.99),
        nodePerSecond: await rawSender.push(intents),
      },
    }
  }
  try {
    await round(1_000)
    const rounds: Round[] = []
    for (let index = 0; index < ROUNDS; index += 1) rounds.push(await round(SEND_MS))
    return {
      rounds,
      perSecond: median(rounds.map((each) => each.perSecond)),
      nodePerSecond: median(rounds.map((each) => each.nodePerSecond)),
      nodeAsksPerSecond: await rawSender.ask(2_000),
      counted,
    }
  } finally {
    await stack.stop()
    await sql.end()
  }
}
