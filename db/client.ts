import { createHash } from 'node:crypto'
import type { ExtractTablesWithRelations } from 'drizzle-orm'
import { drizzle, type NodePgDatabase, type NodePgTransaction } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { type Copy, CopyQuery, isCopy } from './copy.ts'
import { confirmWrites, createEnded, type Ended, type Writes } from './deciding-rows.ts'
import { EVENTS_CHANNEL } from './events.ts'
import { BEGIN, Lease } from './lease.ts'
import { type Notices, openNotices } from './notices.ts'
import { innerOf, ProbingPool, returnConnection, WritableClient } from './pool.ts'
import { readSession, type Session as ServerSession } from './session.ts'
import { isDatabaseAway } from './trouble.ts'
import { MEANING } from './words.ts'

type NoSchema = Record<string, never>

type HasSend = {
  /** For `prepare`. @returns the columns of each row, with times and lists as texts. */
  readonly send: (statement: { readonly text: string; readonly values?: unknown[] }) => Promise<readonly unknown[][]>
}

/**
 * Independent statements may be sent together (`Promise.all`): they travel in one message. Each must be the last of its
 * branch. If a statement fails, the transaction fails, even if the caller caught the error, and refuses later
 * statements.
 */
export type Tx = NodePgTransaction<NoSchema, ExtractTablesWithRelations<NoSchema>> &
  HasSend & {
    /** Runs `act` after the commit, and not after a rollback. `act` must not throw. */
    readonly afterCommit: (act: () => void) => void
    /** No other statement may be sent before it has ended. */
    readonly copy: (copy: Copy) => Promise<unknown>
    readonly writes: Writes
    readonly ended: Ended
  }
/** A pool, or a transaction on it: a query takes either, and never opens a transaction itself. */
export type Queryable = (NodePgDatabase & HasSend) | Tx

type Transaction = <Result>(
  work: (tx: Tx) => Promise<Result>,
  config?: Parameters<NodePgDatabase['transaction']>[1],
) => Promise<Result>

export type Db = {
  readonly transaction: Transaction
  /** Serves the statements of the signing path: PostgreSQL plans them once per connection, not per set of values. */
  readonly prepared: <Row extends object>(text: TemplateStringsArray, ...values: readonly unknown[]) => Promise<Row[]>
  readonly ended: Ended
  /** Tells that there are new events, of whichever project. */
  readonly eventNotices: Pick<Notices, 'subscribe'>
  /** Calls `act` when a connection was opened, before it is used: another server may answer on it. */
  readonly onConnect: (act: () => void) => void
  /** Whether its connections are sessions of PostgreSQL, with our settings. */
  readonly readSession: () => Promise<ServerSession>
  /** Closes the pool; waits at most `timeoutSeconds` for running statements. May be called again. */
  readonly close: (input: { readonly timeoutSeconds: number }) => Promise<void>
} & NodePgDatabase &
  HasSend

export type HasDb = { readonly db: Db }

export type HasClose = { readonly close: Db['close'] }

type DbOptions = {
  readonly url: string
  readonly maxConnections: number
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
}

const CONNECT_TIMEOUT_MS = 10_000

/** A process that is lost or hangs in a transaction holds its locks no longer than this. */
const LOCK_TIMEOUT_MS = 10_000
/** Shorter, so that statements that wait for a lock of such a transaction get it. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 8_000
const STATEMENT_TIMEOUT_MS = 30_000
/** The server would have ended the statement before: it is out of reach. The connection is closed. */
const ANSWER_TIMEOUT_MS = 35_000
/** For the server's side: it finds a lost host within 25 s, where the operating system would need hours. */
const KEEPALIVES = [
  '-c tcp_keepalives_idle=10',
  '-c tcp_keepalives_interval=5',
  '-c tcp_keepalives_count=3',
  '-c tcp_user_timeout=25000',
].join(' ')
const KEEPALIVE_MS = 10_000
/** After this a connection is replaced: a process leaves a server that has stopped to be the right one. */
const LIFETIME_SECONDS = 900
const SETTINGS = Object.entries(MEANING)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')

const PREPARED_CONNECTIONS = 3

/** How many connections `openDb` takes at most. @param input.waitsForEvents whether `eventNotices` is used. */
export const countConnectionsMax = (input: {
  readonly maxConnections: number
  readonly waitsForEvents: boolean
}): number => input.maxConnections + PREPARED_CONNECTIONS + (input.waitsForEvents ? 1 : 0)

/** Longer statements contain lists of varying length: prepared, they would fill the memory of every connection. */
const PREPARED_LENGTH_MAX = 1_500

/**
 * Sends the statements of one turn in one message; what begins a transaction goes with the next one. The server
 * prepares short statements, so it parses them once per connection.
 */
class PipeliningClient extends WritableClient {
  readonly #names = new Map<string, string>()
  #isCorked = false

  constructor(config?: pg.ClientConfig) {
    super({ ...config, pipeline: true })
  }

  // Overrides all overloads, also those for callbacks and streams.
  override query(config: unknown, ...rest: unknown[]): never {
    this.#cork(isUnnamed(config) && config.text.startsWith(BEGIN))
    const query = super.query as (...args: unknown[]) => never
    if (isCopy(config)) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      query.call(this, new CopyQuery(config, (error) => (error === null ? resolve() : reject(error))))
      return promise as never
    }
    if (!isUnnamed(config) || config.text.length > PREPARED_LENGTH_MAX) return query.call(this, config, ...rest)
    const name = this.#names.get(config.text) ?? deriveStatementName(config.text)
    this.#names.set(config.text, name)
    return query.call(this, { ...config, name }, ...rest)
  }

  /** Until what runs now has sent its statements: then they are written at once. */
  #cork(goesWithNext: boolean): void {
    const { stream } = innerOf(this).connection
    if (this.#isCorked) return
    this.#isCorked = true
    stream.cork()
    const uncork = () => {
      this.#isCorked = false
      stream.uncork()
    }
    if (goesWithNext) setImmediate(uncork)
    else process.nextTick(uncork)
  }
}

/**
 * Ends when a statement loses its connection, and then emits `unanswered`: it may have been done or not. For users such
 * as graphile-worker that return it without the error: the pool would lend it again before it has noticed the loss.
 */
export class EndingClient extends WritableClient {
  override query(...args: unknown[]): never {
    const result: unknown = (super.query as (...args: unknown[]) => unknown).apply(this, args)
    if (result instanceof Promise) {
      result.catch((error: unknown) => {
        if (!isDatabaseAway(error)) return
        this.end().catch(() => {})
        this.emit('unanswered')
      })
    }
    return result as never
  }
}

/** The same on all connections: should two share a session, a name still means the same statement. */
const deriveStatementName = (text: string): string => createHash('sha256').update(text).digest('base64url')

const isUnnamed = (config: unknown): config is pg.QueryConfig =>
  typeof config === 'object' && config !== null && 'text' in config && !('name' in config && config.name !== undefined)

/** Makes `sslmode` mean what it means to libpq: pg verifies in every mode otherwise. */
const libpqUrl = (url: string): string =>
  /[?&]sslmode=/.test(url) ? `${url.replace(/([?&]sslmode=)allow\b/g, '$1prefer')}&uselibpqcompat=true` : url

type Session = Pick<DbOptions, 'url' | 'applicationName'> & {
  readonly settings?: string
}

/**
 * For `db migrate` and `db sum-holdings`. Their statements have no time limit, because an index of a big table may take
 * hours. A connection that is lost meanwhile holds its locks only until its statement ends.
 */
export const ownerConfig = ({ url, applicationName, settings = '' }: Session) => ({
  connectionString: libpqUrl(url),
  application_name: applicationName,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEPALIVE_MS,
  options: `${KEEPALIVES} ${SETTINGS} ${settings}`.trim(),
})

/** Connects as the database's owner while `work` runs. */
export const asOwner = async <Result>(session: Session, work: (client: pg.Client) => Promise<Result>) => {
  const client = new pg.Client(ownerConfig(session))
  // A lost connection also fails its running statement, which reports it.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** For every session of every process; its limits are those above. */
const sessionConfig = (options: Session) => ({
  ...ownerConfig(options),
  statement_timeout: STATEMENT_TIMEOUT_MS,
  query_timeout: ANSWER_TIMEOUT_MS,
})

export const poolConfig = (options: DbOptions & Session): pg.PoolConfig => ({
  ...sessionConfig(options),
  max: options.maxConnections,
  // Processes that start together do not connect again together.
  maxLifetimeSeconds: Math.round(LIFETIME_SECONDS * (1 - Math.random() / 5)),
})

const openPool = (options: DbOptions & Session): pg.Pool => {
  const pool = new ProbingPool({ ...poolConfig(options), idleTimeoutMillis: 0, Client: PipeliningClient })
  // Nothing to do: an idle connection that was lost is replaced.
  pool.on('error', () => {})
  return pool
}

/** A connection on which statements follow each other without waiting for the answers. */
type Lane = { readonly client: Promise<pg.PoolClient>; isOpening: boolean; statements: number }

/**
 * Runs each statement outside of a transaction on a connection of its own, or if none is free, behind other ones on a
 * shared one. While a transaction waits for a connection, statements join none that is open: so one becomes free.
 */
class Lanes {
  readonly #lanes = new Set<Lane>()
  constructor(readonly pool: pg.Pool) {}

  async query(config: pg.QueryConfig, ...rest: readonly unknown[]): Promise<pg.QueryResult> {
    const lane = this.#leastBusy() ?? this.#open()
    lane.statements += 1
    try {
      const client = await lane.client
      const query = client.query as unknown as (...args: readonly unknown[]) => Promise<pg.QueryResult>
      return await query.call(client, config, ...rest)
    } catch (error) {
      // All other statements that wait for an answer on it fail now: it will not come.
      if (isDatabaseAway(error)) this.#close(lane, error)
      throw error
    } finally {
      lane.statements -= 1
      if (lane.statements === 0) this.#close(lane)
    }
  }

  /** null if a connection is free, or if there is none to share. */
  #leastBusy(): Lane | null {
    const { idleCount, totalCount, waitingCount, options } = this.pool
    if (idleCount + options.max - totalCount > waitingCount) return null
    const lanes = [...this.#lanes]
    const opening = lanes.filter(({ isOpening }) => isOpening)
    const shared = waitingCount > opening.length ? opening : lanes
    return shared.reduce<Lane | null>(
      (least, lane) => (least && least.statements <= lane.statements ? least : lane),
      null,
    )
  }

  #open(): Lane {
    const lane: Lane = { client: this.pool.connect(), isOpening: true, statements: 0 }
    this.#lanes.add(lane)
    lane.client.then(
      () => {
        lane.isOpening = false
      },
      () => this.#lanes.delete(lane),
    )
    return lane
  }

  #close(lane: Lane, failure?: unknown): void {
    if (!this.#lanes.delete(lane)) return
    lane.client.then(
      (client) => returnConnection(client, failure),
      () => {},
    )
  }
}

/** The types bytea[], timestamptz[] and numeric[], which pg does not name. */
const LISTS = [1001, 1185, 1231]
const AS_TEXT: ReadonlySet<number> = new Set([pg.types.builtins.TIMESTAMPTZ, pg.types.builtins.TIMESTAMP, ...LISTS])

/** As drizzle has times read: its columns decode them; lists likewise (tables.ts). */
const types = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    AS_TEXT.has(id) ? String : pg.types.getTypeParser(id, format as 'text'),
}

const sendBy =
  (to: { query(config: pg.QueryConfig): Promise<pg.QueryResult> }): HasSend['send'] =>
  async (statement) =>
    (await to.query({ ...statement, rowMode: 'array', types } as pg.QueryConfig)).rows

const transactionOn =
  (pool: pg.Pool, ended: Ended): Transaction =>
  async (work, config) => {
    const lease = new Lease(await pool.connect())
    const acts: (() => void)[] = []
    let failure: unknown
    try {
      const result = await drizzle(lease as unknown as pg.PoolClient).transaction(async (begun) => {
        const afterCommit = (act: () => void) => void acts.push(act)
        const copy = (rows: Copy) => lease.query(rows)
        const tx = Object.assign(begun, { afterCommit, copy, writes: new Map(), ended, send: sendBy(lease) })
        const done = await work(tx)
        await confirmWrites(tx)
        return done
      }, config)
      for (const act of acts) act()
      return result
    } catch (error) {
      failure = error
      throw error
    } finally {
      lease.end(failure)
    }
  }

const preparedOn =
  (lanes: Lanes): Db['prepared'] =>
  async <Row extends object>(strings: TemplateStringsArray, ...values: readonly unknown[]) => {
    const text = strings.reduce((before, part, index) => `${before}$${index}${part}`)
    return (await lanes.query({ text, values: [...values] })).rows as Row[]
  }

/** Opens a pool on one PostgreSQL database; nothing is connected before the first query. */
export const openDb = (options: DbOptions): Db => {
  const pool = openPool(options)
  // Planning for given values does not pay: these statements find a few rows by their keys.
  const settings = '-c plan_cache_mode=force_generic_plan'
  const planned = openPool({ ...options, maxConnections: PREPARED_CONNECTIONS, settings })
  const eventNotices = openNotices({ config: sessionConfig(options), channel: EVENTS_CHANNEL })
  const ended = createEnded()
  let closed: Promise<unknown> | null = null
  const lanes = new Lanes(pool)
  return Object.assign(drizzle(lanes as unknown as pg.Pool), {
    send: sendBy(lanes),
    prepared: preparedOn(new Lanes(planned)),
    transaction: transactionOn(pool, ended),
    ended,
    eventNotices,
    onConnect: (act: () => void) => {
      for (const each of [pool, planned]) each.on('connect', act)
    },
    readSession: () => readSession(sessionConfig({ ...options, settings })),
    close: async ({ timeoutSeconds }: { timeoutSeconds: number }) => {
      // A pg pool refuses a second end().
      closed ??= Promise.all([pool.end(), planned.end(), eventNotices.close()])
      const { promise: waited, resolve } = Promise.withResolvers<void>()
      const givenUp = setTimeout(resolve, timeoutSeconds * 1000)
      await Promise.race([closed, waited])
      clearTimeout(givenUp)
    },
  })
}
