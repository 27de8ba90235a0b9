// Lists of a caller's transactions, newest first, in pages that go on behind a transaction. A page looks in each of its
// places: the networks of a project, or the wallets of a user (one a network). In each it reads about as many index
// entries as it returns.
//
// All that bounds a page is written as a range of the columns by which an index is ordered: (place, created_at, id), of
// one place. With `=` on the place the planner could go through the transactions of all projects by their time instead,
// to find those of a place that has none.

import { desc, eq, type SQL, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { transactions } from '../schema.ts'
import type { Network, TransactionStatus } from '../words.ts'
import type { TransactionRow } from './transactions.ts'
import type { Reach } from './wallets.ts'

export type TransactionFilter = {
  readonly network: Network | null
  /** Empty: any. */
  readonly statuses: readonly TransactionStatus[]
  readonly createdFrom: Date | null
  /** Not itself. In whole milliseconds. */
  readonly createdUntil: Date | null
}

type ListInput = Reach &
  TransactionFilter & {
    /** A wallet within reach. */
    readonly walletId: string | null
    /** Only those that come after this one in the list, so older ones. */
    readonly before: Pick<TransactionRow, 'id' | 'createdAt'> | null
    readonly limit: number
  }

type Places = {
  /** A row with a `key` for each. */
  readonly rows: SQL
  /** The column that has the key. */
  readonly column: SQL
}

const selectPlaces = ({ projectId, ownedBy, network, walletId }: ListInput): Places => {
  const onNetwork = (column: SQL) => (network === null ? sql`` : sql`and ${column} = ${network}`)
  if (walletId === null && ownedBy === null) {
    const rows = sql`select name as key from public.networks where true ${onNetwork(sql`name`)}`
    return { rows, column: sql`listed.network` }
  }
  const whose = walletId === null ? sql`owner_id = ${ownedBy}` : sql`id = ${walletId}`
  return {
    rows: sql`select id as key from public.wallets where project_id = ${projectId} and ${whose} ${onNetwork(sql`network`)}`,
    column: sql`listed.wallet_id`,
  }
}

/** Only one upper bound: a second one would be read up to from the newest on. */
const upperBound = (column: SQL, { before, createdUntil }: ListInput): SQL => {
  if (before !== null && (createdUntil === null || before.createdAt < createdUntil)) {
    // A Date has no microseconds.
    const createdAt = sql`(select created_at from public.transactions where id = ${before.id})`
    return sql`(${column}, listed.created_at, listed.id) < (place.key, ${createdAt}, ${before.id}::uuid)`
  }
  if (createdUntil === null) return sql`${column} <= place.key`
  return sql`(${column}, listed.created_at) < (place.key, ${createdUntil.toISOString()}::timestamptz)`
}

const lowerBound = (column: SQL, { createdFrom }: ListInput): SQL =>
  createdFrom === null
    ? sql`${column} >= place.key`
    : sql`(${column}, listed.created_at) >= (place.key, ${createdFrom.toISOString()}::timestamptz)`

/** Written as in the indexes' conditions: a generic plan could not use them with a parameter. */
const HAS_STATUS: Readonly<Record<TransactionStatus, SQL>> = {
  submitted: sql`and listed.status = 'submitted' and not listed.final`,
  pending: sql`and listed.status = 'pending' and not listed.final`,
  success: sql`and listed.status = 'success'`,
  failed: sql`and listed.error_code is not null`,
}

export const listTransactionsOf = async (db: Queryable, input: ListInput): Promise<readonly TransactionRow[]> => {
  const { rows: places, column } = selectPlaces(input)
  const newestWith = (hasStatus: SQL) => sql`
    (select listed.id, listed.created_at from public.transactions listed
    where listed.project_id = ${input.projectId} and ${upperBound(column, input)} and ${lowerBound(column, input)} ${hasStatus}
    order by ${column} desc, listed.created_at desc, listed.id desc limit ${input.limit})`
  const statuses = [...new Set(input.statuses)].map((status) => HAS_STATUS[status])
  const found = sql.join((statuses.length === 0 ? [sql``] : statuses).map(newestWith), sql` union all `)
  const { rows } = await db.execute<{ id: string }>(sql`
    select found.id from (${places}) place cross join lateral (${found}) found
    order by found.created_at desc, found.id desc limit ${input.limit}`)
  if (rows.length === 0) return []
  return db
    .select()
    .from(transactions)
    .where(eq(transactions.id, sql`any(${sql.param(rows.map(({ id }) => id))}::uuid[])`))
    .orderBy(desc(transactions.createdAt), desc(transactions.id))
}
