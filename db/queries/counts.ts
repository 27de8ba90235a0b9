// What was counted, and what a scrape looks up beside it.

import { sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { counts } from '../schema.ts'
import type { CounterName, CursorPurpose, HistogramName, Network, TransactionStatus } from '../words.ts'
import { type UnchainedTail, unchainedTail } from './audit-chain.ts'

export type Labels = Readonly<Record<string, string>>
export type Count = { readonly name: CounterName | HistogramName; readonly labels: Labels; readonly amount: number }

/** Counts in the caller's transaction: it was counted if and only if that commits. */
export const addCounts = async (db: Queryable, added: readonly Count[]): Promise<void> => {
  if (added.length > 0) await db.insert(counts).values([...added])
}

/** Two that compact at once would wait for each other's rows: the second leaves it to the first. */
const COMPACTION_LOCK = 7_215_003

/**
 * Replaces the oldest rows by their sums, in one statement: whoever reads meanwhile finds the same totals.
 * @returns how many rows it took away; 0 where another one is at it.
 */
export const compactCounts = (db: Db, input: { readonly limit: number }): Promise<number> =>
  db.transaction(async (tx) => {
    const {
      rows: [lock],
    } = await tx.execute<{ got: boolean }>(sql`select pg_try_advisory_xact_lock(${COMPACTION_LOCK}) as got`)
    if (lock?.got !== true) return 0
    const {
      rows: [row],
    } = await tx.execute<{ taken: number }>(sql`
      with taken as (
        delete from public.counts where id in (select id from public.counts order by id limit ${input.limit})
        returning name, labels, amount
      ), summed as (
        insert into public.counts (name, labels, amount)
        select name, labels, sum(amount) from taken group by name, labels
      )
      select count(*)::int as taken from taken`)
    return row?.taken ?? 0
  })

export type Unfinished = {
  readonly network: Network
  readonly status: TransactionStatus
  readonly transactions: number
  /** Since the oldest of them was recorded. */
  readonly oldestSeconds: number
}

export type FollowedTo = {
  readonly network: Network
  readonly purpose: CursorPurpose
  readonly blockNumber: bigint
  readonly quietSeconds: number
}

export type JobNumbers = {
  readonly task: string
  readonly ready: number
  readonly failed: number
  /** null where none is ready. */
  readonly oldestReadySeconds: number | null
}

/** A state that is a number of rows. */
export type RowsInState = { readonly network: Network; readonly state: string; readonly rows: number }

export type Numbers = {
  readonly totals: readonly Count[]
  readonly unfinished: readonly Unfinished[]
  readonly followed: readonly FollowedTo[]
  readonly jobs: readonly JobNumbers[]
  /** Walks back through the blocks that are not done; and contracts that did not say what they are, in no state. */
  readonly backfills: readonly RowsInState[]
  readonly doubtful: readonly RowsInState[]
  readonly audit: UnchainedTail
}

/**
 * All that a scrape needs of the database, as of one moment, on one connection; times are by the database's clock.
 * @param input.timeoutMs for each of its statements.
 */
export const readNumbers = (db: Db, input: { readonly timeoutMs: number }): Promise<Numbers> =>
  db.transaction(
    async (tx) => {
      await tx.execute(sql`select set_config('statement_timeout', ${String(input.timeoutMs)}, true)`)
      // One after the other on the connection, and asked together.
      const [totals, unfinished, followed, jobs, backfills, doubtful, audit] = await Promise.all([
        tx.execute<Count>(sql`select name, labels, sum(amount) as amount from public.counts group by name, labels`),
        tx.execute<Unfinished>(sql`
          select network, status, count(*)::int as transactions,
            extract(epoch from now() - min(created_at))::float8 as "oldestSeconds"
          from public.transactions where not final group by network, status`),
        tx.execute<Omit<FollowedTo, 'blockNumber'> & { readonly blockNumber: string }>(sql`
          select network, purpose, block_number::text as "blockNumber",
            extract(epoch from now() - updated_at)::float8 as "quietSeconds"
          from public.cursors`),
        tx.execute<JobNumbers>(sql`
          select task, ready::int, failed::int, oldest_ready_seconds as "oldestReadySeconds"
          from public.strongroom_job_numbers()`),
        tx.execute<RowsInState>(sql`
          select network, coalesce(hindrance, case when begun_at is null then 'not_begun' else 'walking' end) as state,
            count(*)::int as rows
          from public.backfills where done_at is null group by 1, 2`),
        tx.execute<RowsInState>(sql`
          select network, '' as state, count(*)::int as rows from public.doubtful_contracts group by 1`),
        unchainedTail(tx),
      ])
      const read = followed.rows.map((row) => ({ ...row, blockNumber: BigInt(row.blockNumber) }))
      return {
        totals: totals.rows,
        unfinished: unfinished.rows,
        followed: read,
        jobs: jobs.rows,
        backfills: backfills.rows,
        doubtful: doubtful.rows,
        audit,
      }
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
