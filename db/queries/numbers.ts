// What a scrape of the metrics reads in the database: current states, not counts of events.

import { sql } from 'drizzle-orm'
import type { Db } from '../client.ts'
import { type AsText, readRows } from '../rows.ts'
import type { CursorPurpose, Network, TransactionStatus } from '../words.ts'
import { type UnchainedTail, unchainedTail } from './audit-rows.ts'
import { type WebhookNumbers, webhookNumbers } from './webhooks.ts'

type Unfinished = {
  readonly network: Network
  readonly status: TransactionStatus
  readonly transactions: number
  /** Since the oldest of them was recorded. */
  readonly oldestSeconds: number
}

type FollowedTo = {
  readonly network: Network
  readonly purpose: CursorPurpose
  readonly blockNumber: bigint
  readonly quietSeconds: number
}

type JobNumbers = {
  readonly task: string
  readonly ready: number
  readonly failed: number
  /** null where none is ready. */
  readonly oldestReadySeconds: number | null
}

type RowsInState = { readonly network: Network; readonly state: string; readonly rows: number }

export type Numbers = {
  readonly unfinished: readonly Unfinished[]
  readonly followed: readonly FollowedTo[]
  readonly jobs: readonly JobNumbers[]
  /** Backfills that are not done, by state; and doubtful contracts, without a state. */
  readonly backfills: readonly RowsInState[]
  readonly doubtful: readonly RowsInState[]
  readonly audit: UnchainedTail
  readonly webhooks: WebhookNumbers
}

/** One snapshot on one connection. Times are by the database's clock. @param input.timeoutMs for each statement. */
export const readNumbers = (db: Db, input: { readonly timeoutMs: number }): Promise<Numbers> =>
  db.transaction(
    async (tx) => {
      await tx.execute(sql`select set_config('statement_timeout', ${String(input.timeoutMs)}, true)`)
      // One after the other on the connection, and asked together.
      const [unfinished, followed, jobs, backfills, doubtful, audit, webhooks] = await Promise.all([
        readRows<Unfinished>(tx)`
          select network, status, count(*)::int as transactions,
            extract(epoch from now() - min(created_at))::float8 as "oldestSeconds"
          from public.transactions where not final group by network, status`,
        readRows<AsText<FollowedTo, 'blockNumber'>>(tx)`
          select network, purpose, block_number::text as "blockNumber",
            extract(epoch from now() - updated_at)::float8 as "quietSeconds"
          from public.cursors`,
        readRows<JobNumbers>(tx)`
          select task, ready::int, failed::int, oldest_ready_seconds as "oldestReadySeconds"
          from public.strongroom_job_numbers()`,
        readRows<RowsInState>(tx)`
          select network, coalesce(hindrance, case when begun_at is null then 'not_begun' else 'walking' end) as state,
            count(*)::int as rows
          from public.backfills where done_at is null group by 1, 2`,
        readRows<RowsInState>(tx)`
          select network, '' as state, count(*)::int as rows from public.doubtful_contracts group by 1`,
        unchainedTail(tx),
        webhookNumbers(tx),
      ])
      const read = followed.map((row) => ({ ...row, blockNumber: BigInt(row.blockNumber) }))
      return { unfinished, followed: read, jobs, backfills, doubtful, audit, webhooks }
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
