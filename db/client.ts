import type { ExtractTablesWithRelations } from 'drizzle-orm'
import { sql } from 'drizzle-orm'
import { drizzle, type PostgresJsDatabase, type PostgresJsTransaction } from 'drizzle-orm/postgres-js'
import postgres from 'postgres'
import * as schema from './schema.ts'

type Schema = typeof schema

/**
 * A database transaction. Statements that need nothing of each other may be sent together (`Promise.all`), but each must be
 * the last of its branch: what went on after another one failed would be sent behind the rollback.
 */
export type Tx = PostgresJsTransaction<Schema, ExtractTablesWithRelations<Schema>>
/** A pool, or a transaction on it: a query takes either, and never opens a transaction itself. */
export type Queryable = PostgresJsDatabase<Schema> | Tx

export type Db = PostgresJsDatabase<Schema> & {
  /**
   * postgres.js itself, for the few statements of the signing path: what it is given as a template is prepared once a
   * connection, planned once and then sent in one message, where drizzle's statements are parsed and planned each time.
   */
  readonly prepared: postgres.Sql
  /** Ends the pool; waits at most `timeoutSeconds` for what is running. */
  readonly close: (input: { readonly timeoutSeconds: number }) => Promise<void>
}

type DbOptions = {
  readonly url: string
  readonly maxConnections: number
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
}

const CONNECT_TIMEOUT_SECONDS = 10

/** Longer statements carry lists, of another length each time: kept, they would fill the memory of every connection. */
const PREPARED_LENGTH_MAX = 1_500

type Unsafe = postgres.Sql['unsafe']

const preparingShort =
  (unsafe: Unsafe): Unsafe =>
  (query, parameters, options) =>
    unsafe(query, parameters, { ...options, prepare: query.length <= PREPARED_LENGTH_MAX })

/**
 * drizzle sends its statements unprepared. Each would be parsed and planned anew and take two round trips, as postgres.js
 * asks for the types of the parameters first; and the next would wait for it, where prepared ones travel together.
 */
const preparing = (client: postgres.Sql): postgres.Sql => {
  const begin = client.begin.bind(client)
  return Object.assign(client, {
    unsafe: preparingShort(client.unsafe),
    begin: (work: (tx: postgres.TransactionSql) => unknown) =>
      begin((tx) => work(Object.assign(tx, { unsafe: preparingShort(tx.unsafe) }))),
  })
}

/** Few, so that what is asked at the same time travels together. */
const PREPARED_CONNECTIONS = 4

/**
 * Opens a pool on one PostgreSQL database; nothing is connected before the first query.
 *
 * postgres.js is patched (patches/): as it is published (3.4.9, its issues 1130, 1186 and 1195), a connection that is cut
 * under load leaves queries that never end and, within a transaction, throws where nobody can catch it; and the rollback
 * of a transaction whose connection is gone could reach another one's. test/db/client.test.ts cuts connections.
 */
export const openDb = (options: DbOptions): Db => {
  const common = { connect_timeout: CONNECT_TIMEOUT_SECONDS, onnotice: () => {} }
  const connection = { application_name: options.applicationName }
  const client = preparing(postgres(options.url, { ...common, max: options.maxConnections, connection }))
  const prepared = postgres(options.url, {
    ...common,
    max: PREPARED_CONNECTIONS,
    // A plan for the lists at hand never pays: these statements find a few rows by their keys.
    connection: { ...connection, plan_cache_mode: 'force_generic_plan' } as typeof connection,
  })
  return Object.assign(drizzle(client, { schema }), {
    prepared,
    close: async ({ timeoutSeconds }: { timeoutSeconds: number }) => {
      await Promise.all([client.end({ timeout: timeoutSeconds }), prepared.end({ timeout: timeoutSeconds })])
    },
  })
}

/** PostgreSQL's name of the unique constraint that an error is about, or null. */
export const violatedConstraint = (error: unknown): string | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === '23505' && 'constraint_name' in at && typeof at.constraint_name === 'string') {
      return at.constraint_name
    }
  }
  return null
}

/**
 * SQLSTATE: class 08, the server going down or starting, too many connections (PostgreSQL, Appendix A); then what
 * postgres.js and the system call a connection that is gone or never came about.
 */
const AWAY =
  /^(?:08\w{3}|57P0[1-3]|53300|CONNECTION_(?:CLOSED|ENDED|DESTROYED)|CONNECT_TIMEOUT|ECONN\w+|EPIPE|ETIMEDOUT|E?HOSTUNREACH|ENOTFOUND)$/

/** Whether a query failed because the database is away: then nobody knows whether it was done. */
export const isDatabaseAway = (error: unknown): boolean => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string' && AWAY.test(at.code)) return true
  }
  return false
}

/** One round trip that reads nothing. */
export const pingDatabase = async (db: Queryable): Promise<void> => {
  await db.execute(sql`select 1`)
}
