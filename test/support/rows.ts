import postgres, { type Sql } from 'postgres'

/**
 * Counts the rows of every table, including the job queue's, to check that nothing is left behind. But not the links of
 * the audit's chains, which a vault makes by itself within a second.
 */
export const countRows = async (url: string): Promise<Record<string, number>> => {
  const sql = postgres(url, { max: 1 })
  try {
    const tables = await sql<{ name: string }[]>`
      select schemaname || '.' || relname as name from pg_stat_user_tables where schemaname in ('public', 'graphile_worker') and relname <> 'audit_chain'`
    const counts: Record<string, number> = {}
    for (const { name } of tables) {
      const [row] = await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${name}`)
      counts[name] = row?.n ?? -1
    }
    return counts
  } finally {
    await sql.end()
  }
}

/**
 * Makes unfinished transactions look as if the worker had learned nothing of them for a while: it asks the node. One
 * that a worker has locked is left out: an update of many rows in another order than the worker's is a deadlock.
 */
export const ageTransactions = async (sql: Sql, by: '1 minute' | '1 hour' = '1 minute'): Promise<void> => {
  await sql`
    update transactions set updated_at = updated_at - ${by}::interval
    where id in (select id from transactions where not final for update skip locked)`
}
