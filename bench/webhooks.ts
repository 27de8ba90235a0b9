// From an event to its receiver, at a steady number of events a second: alone, and with a second webhook of the same
// project whose receiver hangs, or where nobody listens. The kinds take turns, so that each is beside the other two on
// the same machine. And how fast a receiver that comes back gets what it missed: of one wallet, where each event waits
// for the one before it, and of many. Then the same of one wallet where each answer of the database comes late, which
// is where round trips count.

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import postgres, { type Sql } from 'postgres'
import { numberEvents } from '../db/queries/events.ts'
import { WEBHOOK_ORDERS, type WebhookOrder } from '../db/words.ts'
import { removeEndpoint, switchEndpoint } from '../src/events/webhooks/change.ts'
import { createEndpoint } from '../src/events/webhooks/create.ts'
import type { Service } from '../test/support/service.ts'
import { startTcpProxy } from '../test/support/tcp-proxy.ts'
import { percentile } from './load.ts'
import { measureCpu } from './usage.ts'

const PER_SECOND = 50
const EVENTS_OF_A_TURN = 150
const TURNS = 5
/** Not counted: the processes compile what they run often. */
const WARM_UP_EVENTS = 100
const WALLETS = 20

const KINDS = ['alone', 'beside one that hangs', 'beside one that is down'] as const
type Kind = (typeof KINDS)[number]

const MISSED = 12_000
const MISSED_OF = [1, 2_000] as const
const CATCH_UP_SECONDS = 8
/** As of a database in another data centre of the same region. */
const FAR_MS = 5
/** How long a receiver takes to answer. */
const RECEIVERS_MS = [0, 100] as const

type CatchUp = { readonly wallets: number; readonly perSecond: number; readonly cpuMs: number }

/** Of one wallet, where the database is far. */
type Far = Pick<CatchUp, 'perSecond' | 'cpuMs'> & { readonly order: WebhookOrder; readonly receiverMs: number }

type Run = {
  readonly kind: Kind
  readonly p50Ms: number
  readonly p99Ms: number
  readonly ratio: number
  /**
   * Of one event, in the worker and in the database: says what it costs also on a machine that is busy with something
   * else.
   */
  readonly cpuMs: number
}
export type WebhooksBench = {
  readonly perSecond: number
  readonly runs: readonly Run[]
  readonly catchUps: readonly CatchUp[]
  readonly far: readonly Far[]
}

const serve = async (answer: RequestListener): Promise<{ readonly server: Server; readonly url: string }> => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

/** Notes when the event with each number comes. */
const startClock = async () => {
  const awaited = new Map<number, (at: number) => void>()
  const { server, url } = await serve((request, response) => {
    const at = performance.now()
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      response.writeHead(204).end()
      awaited.get(JSON.parse(body).data.n)?.(at)
    })
  })
  return { url, close: () => server.close(), of: (n: number) => new Promise<number>((done) => awaited.set(n, done)) }
}

/** @returns how long each event took, from before it was written until its request came. */
const measure = async (
  {
    sql,
    projectId,
    clock,
  }: { readonly sql: Sql; readonly projectId: string; readonly clock: Awaited<ReturnType<typeof startClock>> },
  { from, count }: { readonly from: number; readonly count: number },
): Promise<readonly number[]> => {
  const begun = performance.now()
  const taken: Promise<number>[] = []
  for (let index = 0; index < count; index += 1) {
    const due = begun + (index * 1_000) / PER_SECOND
    if (performance.now() < due) await Bun.sleep(due - performance.now())
    const n = from + index
    const data = { network: 'Ethereum', wallet_address: String(n % WALLETS), n }
    const came = clock.of(n)
    const at = performance.now()
    taken.push(
      Promise.all([
        came,
        sql`insert into events (project_id, type, data) values (${projectId}, 'transaction.updated', ${sql.json(data)})`,
      ]).then(([when]) => when - at),
    )
  }
  return Promise.all(taken)
}

type World = {
  readonly service: Service
  readonly sql: Sql
  readonly pids: Readonly<Record<'worker' | 'postgres', number>>
}

type Missed = { readonly wallets: number; readonly order?: WebhookOrder; readonly receiverMs?: number }

/** Enables a webhook that missed events of so many wallets, and measures while it gets them. */
const catchUp = async (
  { service, sql, pids }: World,
  { wallets, order = 'wallet', receiverMs = 0 }: Missed,
): Promise<CatchUp> => {
  let taken = 0
  const { server, url } = await serve((request, response) => {
    request.resume().on('end', () => {
      taken += 1
      const answer = () => response.writeHead(204).end()
      if (receiverMs === 0) answer()
      else setTimeout(answer, receiverMs)
    })
  })
  const of = { projectId: service.project.projectId, actor: 'operator' }
  const { id } = await createEndpoint(service.ctx, { ...of, url, eventTypes: [], email: null, order })
  await switchEndpoint(service.ctx, { ...of, id, enabled: false })
  await sql`
    insert into events (project_id, type, data)
    select ${of.projectId}, 'transaction.updated', jsonb_build_object('network', 'Ethereum', 'wallet_address', (n % ${wallets}::int)::text)
    from generate_series(1, ${MISSED}::int) n`
  while ((await numberEvents(service.ctx.db, { projectId: of.projectId, atMost: MISSED })) > 0);
  await sql`vacuum analyze events, webhook_deliveries`
  await switchEndpoint(service.ctx, { ...of, id, enabled: true })
  while (taken === 0) await Bun.sleep(10)
  const before = taken
  const { cpuMs, wallMs } = await measureCpu(pids, () => Bun.sleep(CATCH_UP_SECONDS * 1_000))
  const count = taken - before
  await removeEndpoint(service.ctx, { ...of, id })
  server.closeAllConnections()
  server.close()
  return { wallets, perSecond: (count / wallMs) * 1_000, cpuMs: (cpuMs.worker + cpuMs.postgres) / count }
}

const benchFar = async ({
  postgresPid,
  ...world
}: Omit<World, 'pids'> & { readonly postgresPid: number }): Promise<readonly Far[]> => {
  const proxy = await startTcpProxy(world.service.database.workerUrl, FAR_MS)
  const worker = world.service.startWorker({ DATABASE_URL: proxy.url })
  const pids = { worker: worker.pid, postgres: postgresPid }
  const far: Far[] = []
  for (const receiverMs of RECEIVERS_MS) {
    for (const order of WEBHOOK_ORDERS) {
      const { perSecond, cpuMs } = await catchUp({ ...world, pids }, { wallets: 1, order, receiverMs })
      far.push({ order, receiverMs, perSecond, cpuMs })
    }
  }
  worker.kill('SIGTERM')
  await worker.exited
  await proxy.stop()
  return far
}

export const benchWebhooks = async (service: Service, postgresPid: number): Promise<WebhooksBench> => {
  const { projectId } = service.project
  const sql = postgres(service.database.url, { max: 4, onnotice: () => {} })
  const clock = await startClock()
  const hanging = await serve(() => {})
  const urls: Readonly<Record<Kind, string | null>> = {
    alone: null,
    'beside one that hangs': hanging.url,
    'beside one that is down': 'http://127.0.0.1:1/',
  }
  const add = (url: string) =>
    createEndpoint(service.ctx, { projectId, actor: 'operator', url, eventTypes: [], email: null, order: 'wallet' })
  await add(clock.url)
  const near = service.startWorker()
  const pids = { worker: near.pid, postgres: postgresPid }
  let from = 0
  const next = async (count: number) => {
    const taken = await measure({ sql, projectId, clock }, { from, count })
    from += count
    return taken
  }
  await next(WARM_UP_EVENTS)
  const times: Record<Kind, number[]> = { alone: [], 'beside one that hangs': [], 'beside one that is down': [] }
  const spentMs: Record<Kind, number> = { alone: 0, 'beside one that hangs': 0, 'beside one that is down': 0 }
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const kind of KINDS) {
      const url = urls[kind]
      const other = url === null ? null : await add(url)
      const { cpuMs, result } = await measureCpu(pids, () => next(EVENTS_OF_A_TURN))
      times[kind].push(...result)
      spentMs[kind] += cpuMs.worker + cpuMs.postgres
      if (other !== null) await removeEndpoint(service.ctx, { projectId, actor: 'operator', id: other.id })
    }
  }
  const [{ id: awake } = { id: '' }] = await sql<{ id: string }[]>`select id from webhook_endpoints`
  await removeEndpoint(service.ctx, { projectId, actor: 'operator', id: awake })
  const catchUps: CatchUp[] = []
  for (const wallets of MISSED_OF) catchUps.push(await catchUp({ service, sql, pids }, { wallets }))
  near.kill('SIGTERM')
  await near.exited
  const far = await benchFar({ service, sql, postgresPid })
  hanging.server.closeAllConnections()
  hanging.server.close()
  clock.close()
  await sql.end()
  const sorted = (kind: Kind) => times[kind].toSorted((a, b) => a - b)
  const alone = percentile(sorted('alone'), 0.5)
  const runs = KINDS.map((kind) => {
    const p50Ms = percentile(sorted(kind), 0.5)
    return {
      kind,
      p50Ms,
      p99Ms: percentile(sorted(kind), 0.99),
      ratio: p50Ms / alone,
      cpuMs: spentMs[kind] / (TURNS * EVENTS_OF_A_TURN),
    }
  })
  return { perSecond: PER_SECOND, runs, catchUps, far }
}

export const webhooksTable = ({ perSecond, runs, catchUps, far }: WebhooksBench): readonly string[] => [
  `\nEvent → receiver at ${perSecond} events/s                 p50 ms   p99 ms   in times of alone   CPU ms of one   (aim: 50 ms; 1.0)`,
  ...runs.map(
    ({ kind, p50Ms, p99Ms, ratio, cpuMs }) =>
      `  ${kind.padEnd(40)} ${p50Ms.toFixed(1).padStart(12)} ${p99Ms.toFixed(1).padStart(8)} ${ratio.toFixed(2).padStart(16)} ${cpuMs.toFixed(1).padStart(18)}`,
  ),
  `\nA receiver that missed ${MISSED} events gets, in ${CATCH_UP_SECONDS} s     per second   CPU ms of one`,
  ...catchUps.map(
    ({ wallets, perSecond: rate, cpuMs }) =>
      `  of ${String(wallets).padStart(5)} ${wallets === 1 ? 'wallet ' : 'wallets'} ${rate.toFixed(0).padStart(38)} ${cpuMs.toFixed(1).padStart(15)}`,
  ),
  `\nThe same of 1 wallet, with a database ${FAR_MS} ms away     per second   CPU ms of one`,
  ...far.map(
    ({ order, receiverMs, perSecond: rate, cpuMs }) =>
      `  order ${order.padEnd(6)}, a receiver of ${String(receiverMs).padStart(3)} ms ${rate.toFixed(0).padStart(21)} ${cpuMs.toFixed(1).padStart(15)}`,
  ),
]
