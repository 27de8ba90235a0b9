// What each page of the console takes in a database as years of use leave it (size-rows.ts): over HTTP, at the top of a
// list and in the middle of it. The CPU time of a page tells what it costs also while others use the machine.

import postgres, { type Sql } from 'postgres'
import { inviteOperator } from '../src/operators/console/operators.ts'
import { startConsole } from '../test/support/console.ts'
import type { Service } from '../test/support/service.ts'
import { BIG, makeSizeRows, type Sizes } from './size-rows.ts'
import { measureCpu } from './usage.ts'

const SIZES: Sizes = { ...BIG, movements: 10_000_000 }
const USERS = 1_000_000
/** A hundredth of them are disabled. The newest are far behind. */
const WEBHOOKS = 10_000
const WEBHOOKS_BEHIND = 50
const WAITING = 5_000
/** Of the newest. */
const DELIVERED = 200_000
const WARM_UP_ROUNDS = 3
const ROUNDS = 20

type PageCost = {
  readonly path: string
  readonly p50Ms: number
  readonly slowestMs: number
  /** Of this process, which also asks, and of PostgreSQL, for one page. */
  readonly cpuMs: Readonly<Record<'console' | 'postgres', number>>
}

export type ConsoleBench = { readonly seconds: number; readonly sizes: Sizes; readonly costs: readonly PageCost[] }

const logIn = async (service: Service, origin: string): Promise<string> => {
  const secret = await inviteOperator(service.ctx, { name: 'bench', role: 'operator', actor: 'operator' })
  const answer = await fetch(`${origin}/link`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ secret }).toString(),
  })
  return answer.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
}

/** @returns the id of the newest webhook, and of one in the middle. */
const makeWebhooks = async (
  sql: Sql,
  projectId: string,
): Promise<{ readonly newest: string; readonly middle: string }> => {
  const id = (n: string) => `md5('webhook' || ${n})::uuid`
  await sql.unsafe(`insert into webhook_endpoints (id, project_id, url, event_types, sealed, state, disabled_at, cursor, created_at)
    select ${id('n')}, '${projectId}', 'https://example.com/' || n, '{}', '', case when n % 100 = 0 then 'disabled' else 'enabled' end,
      case when n % 100 = 0 then now() end, 0, now() - n * interval '1 minute' from generate_series(1, ${WEBHOOKS}) n`)
  await sql.unsafe(`insert into webhook_deliveries (project_id, endpoint_id, number, lane)
    select '${projectId}', ${id('e')}, n, n % 100 from generate_series(1, ${WEBHOOKS_BEHIND}) e, generate_series(1, ${WAITING}) n`)
  await sql.unsafe(`insert into webhook_deliveries (project_id, endpoint_id, number, lane, state, ended_at, created_at)
    select '${projectId}', ${id('1')}, ${WAITING} + n, n % 100, case when n % 10000 = 0 then 'failed' else 'delivered' end, now(),
      now() - n * interval '1 second' from generate_series(1, ${DELIVERED}) n`)
  await sql.unsafe('vacuum analyze webhook_endpoints, webhook_deliveries')
  const [row] = await sql.unsafe(`select ${id('1')} as newest, ${id(String(WEBHOOKS / 2))} as middle`)
  return { newest: String(row?.newest), middle: String(row?.middle) }
}

/** The pages, and the ids of rows in the middle of their lists. */
const pathsOf = async (url: string, projectId: string): Promise<readonly string[]> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await sql`insert into users (id, project_id, email, mac, created_at)
      select md5('user' || n)::uuid, ${projectId}, n || '@example.com', '', now() from generate_series(1, ${USERS}) n`
    await sql.unsafe('vacuum analyze users')
    await sql`insert into heads select name, date_trunc('minute', now()) - make_interval(mins => ago), ago, ago, ago
      from networks, generate_series(0, 1499) ago`
    // These bytes are none of a transaction.
    await sql`update ladders set raws = null where raws is not null`
    const hooks = await makeWebhooks(sql, projectId)
    const middle = async (table: string, order: string) => {
      const [row] = await sql.unsafe(
        `select id from ${table} order by ${order} offset (select count(*) / 2 from ${table}) limit 1`,
      )
      return String(row?.id)
    }
    const [transaction, live] = [
      await middle('transactions', 'created_at'),
      String((await sql`select id from transactions where not final limit 1`)[0]?.id),
    ]
    const [wallet] = await sql`select id, address from wallets where id = ${await middle('wallets', 'created_at')}`
    return [
      '/',
      '/?range=1h',
      '/?range=24h',
      '/?range=24h&network=Ethereum',
      '/networks?range=24h',
      '/transactions',
      '/transactions?show=unfinished',
      '/transactions?show=failed',
      `/transactions?after=${transaction}`,
      `/transactions?project=${projectId}&after=${transaction}`,
      `/transactions/${transaction}`,
      `/transactions/${live}`,
      '/jobs',
      '/wallets',
      `/wallets?after=${wallet?.id}`,
      `/wallets?q=${wallet?.address}`,
      '/users',
      `/users?after=${await middle('users', 'id')}`,
      '/users?q=500000@example.com',
      '/policies',
      '/approvals',
      '/webhooks',
      '/webhooks?show=troubled',
      `/webhooks?after=${hooks.middle}`,
      `/webhooks?project=${projectId}&show=troubled&after=${hooks.middle}`,
      `/webhooks/${hooks.newest}`,
      `/webhooks/${hooks.newest}?show=failed`,
      '/freezes',
      '/audit',
      `/audit?project=${projectId}&after=${await middle('audit', 'id')}`,
      '/audit?only=security',
      '/nodes',
      '/operators',
    ]
  } finally {
    await sql.end()
  }
}

const timed = async (path: string, get: () => Promise<Response>): Promise<number> => {
  const begun = performance.now()
  const answer = await get()
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`)
  return performance.now() - begun
}

const measured = async (path: string, get: () => Promise<Response>, postgresPid: number): Promise<PageCost> => {
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) await timed(path, get)
  const { cpuMs, result: times } = await measureCpu({ console: process.pid, postgres: postgresPid }, async () => {
    const found: number[] = []
    while (found.length < ROUNDS) found.push(await timed(path, get))
    return found.toSorted((a, b) => a - b)
  })
  return {
    path: path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…'),
    p50Ms: times[ROUNDS / 2] ?? 0,
    slowestMs: times.at(-1) ?? 0,
    cpuMs: { console: cpuMs.console / ROUNDS, postgres: cpuMs.postgres / ROUNDS },
  }
}

/** @param postgresPid of the server itself, whose children serve the connections. */
export const benchConsole = async (service: Service, postgresPid: number): Promise<ConsoleBench> => {
  const { url } = service.database
  const { seconds, projectId } = await makeSizeRows({ url, sizes: SIZES })
  const paths = await pathsOf(url, projectId)
  const ours = await startConsole(service)
  try {
    const cookie = await logIn(service, ours.origin)
    const costs: PageCost[] = []
    for (const path of paths) {
      const get = () => fetch(`${ours.origin}${path}`, { redirect: 'manual', headers: { cookie } })
      costs.push(await measured(path, get, postgresPid))
    }
    return { seconds, sizes: SIZES, costs }
  } finally {
    await ours.close()
  }
}

export const consoleTable = ({ seconds, sizes, costs }: ConsoleBench): readonly string[] => {
  const { wallets, movements, attempts, auditRows } = sizes
  const figure = (ms: number) => ms.toFixed(1).padStart(12)
  return [
    `\nThe console at ${wallets} wallets, ${movements} movements, ${attempts} attempts, ${auditRows} audit rows, ${USERS} users, made in ${seconds.toFixed(0)} s`,
    `  ${''.padEnd(44)}${'p50 ms'.padStart(12)}${'slowest ms'.padStart(12)}${'CPU ms'.padStart(12)}${'in postgres'.padStart(12)}   (aim: p50 100)`,
    ...costs.map(
      ({ path, p50Ms, slowestMs, cpuMs }) =>
        `  ${path.padEnd(44)}${figure(p50Ms)}${figure(slowestMs)}${figure(cpuMs.console)}${figure(cpuMs.postgres)}`,
    ),
  ]
}
