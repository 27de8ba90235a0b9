// Sessions that begin and go on: a thousand at once, each refreshing again and again with the token that it got last.

import postgres, { type Sql } from 'postgres'
import type { Service } from '../test/support/service.ts'
import { start } from './processes.ts'
import type { RefreshRun } from './users-refresh-client.ts'

const SESSIONS = 1_000
const SECONDS = 6
const BARE_SECONDS = 2
const CONNECTIONS = 20

export type RefreshBench = {
  readonly sessions: number
  readonly refreshes: Omit<RefreshRun, 'tokens'>
  /**
   * One committed insert of a session's size, and one committed update of its row: with as many connections as the API
   * has.
   */
  readonly bareInsertsPerSecond: number
  readonly bareUpdatesPerSecond: number
  /** Checking an access token's signature where it is seen first; afterwards it is known. */
  readonly firstSeenTokenMs: number
  readonly knownTokenMs: number
}

const perSecondOf = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  let count = 0
  const one = async () => {
    while (performance.now() < begun + BARE_SECONDS * 1000) {
      await work()
      count += 1
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, one))
  return (count / (performance.now() - begun)) * 1000
}

const bare = async (sql: Sql) => {
  const ids = (await sql<{ id: string }[]>`select id from sessions`).map((row) => row.id)
  let next = 0
  const update = () =>
    sql`update sessions set generation = generation + 1, refreshed_at = now() where id = ${ids[next++ % ids.length] ?? ''}`
  const insert = () => sql`
    insert into sessions (id, project_id, user_id, way, asker_address, asker_device, expires_at)
    select gen_random_uuid(), project_id, user_id, way, asker_address, asker_device, expires_at
    from sessions where id = ${ids[next++ % ids.length] ?? ''}`
  return { bareUpdatesPerSecond: await perSecondOf(update), bareInsertsPerSecond: await perSecondOf(insert) }
}

/** @throws Error where a refresh was lost, or a session ended. */
const checkSessions = async (sql: Sql, refreshes: number): Promise<void> => {
  const [row] = await sql<{ generations: number; ended: number }[]>`
    select sum(generation - 1)::int as generations, count(ended_at)::int as ended from sessions`
  if (row?.generations !== refreshes || row.ended !== 0) {
    throw new Error(`${refreshes} refreshes made ${row?.generations} generations, and ended ${row?.ended} sessions`)
  }
}

const millisecondsEach = async (tokens: readonly string[], verify: (token: string) => Promise<unknown>) => {
  const begun = performance.now()
  for (const token of tokens) if ((await verify(token)) === null) throw new Error('an access token was not known')
  return (performance.now() - begun) / tokens.length
}

/** @param input.apiUrl an API process that trusts one proxy, so that each session has an address of its own. */
export const benchRefresh = async (input: {
  readonly service: Service
  readonly apiUrl: string
  readonly apiPid: number
  readonly postgresPid: number
}): Promise<RefreshBench> => {
  const { service } = input
  const client = await start({
    file: 'bench/users-refresh-client.ts',
    variables: {
      BASE_URL: input.apiUrl,
      PROJECT_ID: service.project.projectId,
      API_PID: String(input.apiPid),
      POSTGRES_PID: String(input.postgresPid),
      SESSIONS: String(SESSIONS),
      SECONDS: String(SECONDS),
      BUN_CONFIG_MAX_HTTP_REQUESTS: String(2 * SESSIONS),
    },
    until: /done (.*)\n/,
    timeoutMs: 90_000,
  })
  await client.stop()
  const { tokens, ...refreshes }: RefreshRun = JSON.parse(client.match[1] ?? '')
  const sql = postgres(service.database.url, { max: CONNECTIONS, onnotice: () => {} })
  const figures = await checkSessions(sql, refreshes.requests)
    .then(() => bare(sql))
    .finally(() => sql.end())
  const verify = (token: string) => service.ctx.tokens.verify(token)
  const firstSeenTokenMs = await millisecondsEach(tokens, verify)
  const knownTokenMs = await millisecondsEach(tokens, verify)
  return { sessions: SESSIONS, refreshes, ...figures, firstSeenTokenMs, knownTokenMs }
}
