// Whether a connection is a session of PostgreSQL, with the settings that we send at its start. A proxy in between may
// drop them, or give each transaction another session.

import pg from 'pg'

export type Session = {
  /** The settings that do not hold. */
  readonly lacks: readonly string[]
  /** Whether another connection gets the same session between two transactions. */
  readonly isShared: boolean
}

const LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const

/** What `options` sets. By a Unix socket the server has no TCP settings. */
const parseSettings = (options: string): ReadonlyMap<string, string> =>
  new Map([...options.matchAll(/-c (?!tcp_)(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]))

const readPid = async (client: pg.Client): Promise<number | undefined> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid

const readDifferingSettings = async (client: pg.Client, options: string): Promise<readonly string[]> => {
  const wanted = parseSettings(options)
  const { rows } = await client.query<{ name: string; setting: string }>(
    'select name, current_setting(name) as setting from unnest($1::text[]) name',
    [[...LIMITS, ...wanted.keys()]],
  )
  const holds = ({ name, setting }: (typeof rows)[number]): boolean =>
    wanted.has(name) ? setting.replaceAll(' ', '') === wanted.get(name) : setting !== '0'
  return rows.filter((row) => !holds(row)).map(({ name }) => name)
}

/** Looks on two connections of its own. A limit may be another one: the URL and the role can have theirs. */
export const readSession = async (config: pg.ClientConfig & { readonly options: string }): Promise<Session> => {
  const [first, second] = [new pg.Client(config), new pg.Client(config)]
  for (const client of [first, second]) client.on('error', () => {})
  try {
    await first.connect()
    const lacks = await readDifferingSettings(first, config.options)
    const before = await readPid(first)
    await second.connect()
    // A transaction keeps its session: a proxy that shares them gives this one, or another one to the first connection.
    await second.query('begin')
    const isShared = (await readPid(second)) === before || (await readPid(first)) !== before
    return { lacks, isShared }
  } finally {
    for (const client of [first, second]) client.end().catch(() => {})
  }
}
