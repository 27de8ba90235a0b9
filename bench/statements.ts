// What PostgreSQL does for a database, by its own count (pg_stat_statements).

import postgres from 'postgres'

/** For `startPostgres`: nothing is counted before a database is told to. */
export const COUNTING_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
  'pg_stat_statements.max': '5000',
}

export type StatementCounts = {
  /** Statements that clients sent, but for those that begin and end transactions. */
  readonly statements: number
  /** Planning and execution, without waiting for clients. */
  readonly ms: number
  /** The dearest first. */
  readonly dearest: readonly { readonly query: string; readonly calls: number; readonly ms: number }[]
}

const DEAREST_MAX = 20

/** Counts statements of connections that are made after this. @param input.url the database, as superuser. */
export const countStatements = async (input: { readonly url: string; readonly database: string }) => {
  const sql = postgres(input.url, { max: 1, onnotice: () => {} })
  await sql`create extension if not exists pg_stat_statements`
  await sql`alter database ${sql(input.database)} set pg_stat_statements.track = 'top'`
  await sql`alter database ${sql(input.database)} set pg_stat_statements.track_planning = on`
  return {
    /** What was done since the last time this was asked. */
    take: async (): Promise<StatementCounts> => {
      const rows = await sql<{ query: string; calls: number; ms: number }[]>`
        select query, calls::int as calls, total_exec_time + total_plan_time as ms
        from pg_stat_statements(true)
        where dbid = (select oid from pg_database where datname = ${input.database})
          and query !~* '^(begin|commit|rollback)'
        order by ms desc`
      await sql`select pg_stat_statements_reset()`
      const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0)
      return {
        statements: sum((row) => row.calls),
        ms: sum((row) => row.ms),
        dearest: rows.slice(0, DEAREST_MAX),
      }
    },
    close: () => sql.end(),
  }
}
