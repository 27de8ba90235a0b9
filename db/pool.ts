// Connections of which each is to a server that may be written, and whose host answers.

import type { Socket } from 'node:net'
import pg from 'pg'
import { isDatabaseAway, readOnlyError } from './trouble.ts'

/** A connection that was silent for so long is asked before it is used: its host may be lost. */
export const SILENT_MS = 3_000
/** An idle session answers at once. */
const PROBE_TIMEOUT_MS = 3_000
const LOOK_EVERY_MS = 1_000

type Report = { readonly parameterName: string; readonly parameterValue: string }

/** What pg's types do not show. */
type Inner = {
  readonly connection: NodeJS.EventEmitter & { readonly stream: Socket }
  /** false while an answer is owed. */
  readonly readyForQuery: boolean
  readonly processID: number
}

export const innerOf = (client: pg.ClientBase): Inner => client as unknown as Inner

const bytesOf = (client: pg.ClientBase): number => innerOf(client).connection.stream.bytesRead

/** Closes a connection at once: all that wait for an answer of it get an error. */
export const closeAtOnce = (client: pg.ClientBase): void => void innerOf(client).connection.stream.destroy()

/** Whether the host of an idle connection is there. @param text what is asked. */
export const isAnswering = (client: pg.ClientBase, text = 'select 1'): Promise<boolean> => {
  const probe = { text, query_timeout: PROBE_TIMEOUT_MS }
  return client.query(probe).then(
    () => true,
    () => false,
  )
}

/**
 * Connects only to a server that may be written: a standby, or the former primary, would refuse writes and show old
 * rows. PostgreSQL 14 and later reports at each login, and at each change, which it is.
 */
export class WritableClient extends pg.Client {
  /** The settings that are on of those that make a session read-only. */
  readonly #readOnly = new Set<string>()

  constructor(config?: pg.ClientConfig) {
    super(config)
    // Nothing to do: a lost connection also fails the statements that use it, and an idle one is replaced.
    this.on('error', () => {})
    const note = ({ parameterName: name, parameterValue: value }: Report) => {
      if (/^(?:in_hot_standby|default_transaction_read_only)$/.test(name))
        this.#readOnly[value === 'on' ? 'add' : 'delete'](name)
    }
    innerOf(this).connection.on('parameterStatus', note)
  }

  isReadOnly(): boolean {
    return this.#readOnly.size > 0
  }

  // Overrides the overloads with a callback, which pools use, and without.
  override connect(done?: unknown): never {
    const connected = super.connect().then(() => {
      if (!this.isReadOnly()) return
      closeAtOnce(this)
      throw readOnlyError()
    })
    const report = done as ((error: Error | null) => void) | undefined
    return (report === undefined ? connected : void connected.then(() => report(null), report)) as never
  }
}

/** Gives a connection back to its pool, or closes it if the database is away by it: another one may reach it. */
export const returnConnection = (client: pg.PoolClient, failure: unknown): void => {
  const isLost = isDatabaseAway(failure) || (client instanceof WritableClient && client.isReadOnly())
  if (isLost) closeAtOnce(client)
  client.release(isLost)
}

/** The sessions that work on a statement, asked by a new connection; null without an answer, or behind a pooler. */
const readActive = async (config: pg.ClientConfig): Promise<ReadonlySet<number> | null> => {
  const limits = { connectionTimeoutMillis: PROBE_TIMEOUT_MS, query_timeout: PROBE_TIMEOUT_MS }
  const other: pg.Client = new WritableClient({ ...config, ...limits })
  try {
    await other.connect()
    const { rows } = await other.query<{ pid: number }>(`select pid from pg_stat_activity where state = 'active'`)
    const active = new Set(rows.map(({ pid }) => pid))
    return active.has(innerOf(other).processID) ? active : null
  } catch {
    return null
  } finally {
    closeAtOnce(other)
  }
}

/**
 * Closes lent connections that owe an answer and were silent for a while, unless the server still works on it:
 * otherwise the host was lost, or another server has its place, and the answer will never come.
 */
export const closeLost = (pool: pg.Pool): void => {
  const heard = new Map<pg.PoolClient, { readonly bytes: number; readonly atMs: number }>()
  const note = (client: pg.PoolClient): void =>
    void heard.set(client, { bytes: bytesOf(client), atMs: performance.now() })
  pool.on('acquire', note)
  pool.on('release', (_error, client) => heard.delete(client))
  const isSilent = (client: pg.PoolClient): boolean =>
    heard.get(client)?.bytes === bytesOf(client) && !innerOf(client).readyForQuery
  let isLooking = false
  const look = async (): Promise<void> => {
    for (const client of heard.keys()) if (!isSilent(client)) note(client)
    const owing = [...heard].filter(([, { atMs }]) => performance.now() - atMs > SILENT_MS).map(([client]) => client)
    if (owing.length === 0) return
    const active = await readActive(pool.options)
    for (const client of owing.filter(isSilent)) {
      if (active !== null && !active.has(innerOf(client).processID)) closeAtOnce(client)
      else note(client)
    }
  }
  const timer = setInterval(async () => {
    if (pool.ended) clearInterval(timer)
    if (isLooking) return
    isLooking = true
    await look()
    isLooking = false
  }, LOOK_EVERY_MS)
  timer.unref()
}

/** A pool that lends no connection of a lost host: a connection that was silent for a while must answer first. */
export class ProbingPool extends pg.Pool {
  readonly #heardAtMs = new WeakMap<pg.PoolClient, number>()
  /** Connections that were not heard after this are closed unasked: one that was heard then does not answer. */
  #lostAtMs = Number.NEGATIVE_INFINITY

  constructor(config: pg.PoolConfig) {
    super(config)
    this.on('release', (_error, client) => this.#heardAtMs.set(client, performance.now()))
    closeLost(this)
  }

  override async connect(): Promise<pg.PoolClient> {
    for (let left = this.options.max; ; left -= 1) {
      const client = await super.connect()
      const heardAtMs = this.#heardAtMs.get(client)
      if (heardAtMs === undefined || left === 0 || performance.now() - heardAtMs < SILENT_MS) return client
      if (heardAtMs > this.#lostAtMs && (await isAnswering(client))) return client
      this.#lostAtMs = Math.max(this.#lostAtMs, heardAtMs)
      closeAtOnce(client)
      client.release(true)
    }
  }
}
