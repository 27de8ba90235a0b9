// What the pages of the console list. A page goes on below its last row, which is named by its id: so it costs the same
// everywhere.

import { and, asc, desc, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { type AsText, eqIfGiven, firstRow, pickColumns, readRows } from '../rows.ts'
import { approvals, audit, projects, transactions, users, type wallets } from '../schema.ts'
import type { Network } from '../words.ts'
import { type AuditRecord, IS_SECURITY_EVENT, ofChain } from './audit-rows.ts'
import { type TransactionOverview, transactionsByIds } from './overview.ts'
import { issuerName } from './users.ts'

type Below = {
  /** The id of the row above the first one; null: from the top. */
  readonly after: string | null
  readonly limit: number
}

type ProjectChoice = Pick<typeof projects.$inferSelect, 'id' | 'name'>

export const projectChoices = (db: Queryable, limit: number): Promise<readonly ProjectChoice[]> =>
  db
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .orderBy(asc(projects.createdAt), asc(projects.id))
    .limit(limit)

export const TRANSACTION_FILTERS = ['all', 'unfinished', 'failed'] as const
export type TransactionFilter = (typeof TRANSACTION_FILTERS)[number]

/** Written as in the indexes' conditions. */
const CONDITIONS: Record<TransactionFilter, SQL | undefined> = {
  all: undefined,
  unfinished: sql`not ${transactions.final}`,
  failed: isNotNull(transactions.errorCode),
}

export const pageOfTransactions = async (
  db: Queryable,
  input: Below & { readonly filter: TransactionFilter; readonly projectId: string | null },
): Promise<readonly TransactionOverview[]> => {
  const { after, projectId } = input
  const last = sql`(select created_at, id from public.transactions where id = ${after}::uuid)`
  const listed = await db
    .select({ id: transactions.id })
    .from(transactions)
    .where(
      and(
        CONDITIONS[input.filter],
        eqIfGiven(transactions.projectId, projectId),
        after === null ? undefined : sql`(${transactions.createdAt}, ${transactions.id}) < ${last}`,
      ),
    )
    .orderBy(desc(transactions.createdAt), desc(transactions.id))
    .limit(input.limit)
  const ids = listed.map(({ id }) => id)
  const rows = new Map((await transactionsByIds(db, { ids, order: 'newest first' })).map((row) => [row.id, row]))
  return ids.flatMap((id) => rows.get(id) ?? [])
}

type ListedWallet = Pick<
  typeof wallets.$inferSelect,
  'id' | 'network' | 'ownerId' | 'name' | 'address' | 'controlMode' | 'type' | 'createdAt'
>

const WALLET = sql`w.id, w.network, w.owner_id as "ownerId", w.name, w.address, w.control_mode as "controlMode", w.type,
  w.created_at as "createdAt"`

const walletsOf = async (db: Queryable, query: SQL): Promise<readonly ListedWallet[]> => {
  const { rows } = await db.execute<AsText<ListedWallet, 'createdAt'>>(query)
  return rows.map((row) => ({ ...row, createdAt: new Date(row.createdAt) }))
}

/** A project's wallets, newest first: each network's are found by its index, and then put together. */
export const pageOfWallets = (
  db: Queryable,
  input: Below & { readonly projectId: string },
): Promise<readonly ListedWallet[]> => {
  const { after, projectId, limit } = input
  const below =
    after === null
      ? sql``
      : sql`and (each.created_at, each.id) < (select created_at, id from public.wallets where id = ${after}::uuid)`
  return walletsOf(
    db,
    sql`select ${WALLET} from public.networks network cross join lateral (
      select * from public.wallets each
      where each.project_id = ${projectId}::uuid and each.network = network.name ${below}
      order by each.created_at desc, each.id desc limit ${limit}
    ) w order by w.created_at desc, w.id desc limit ${limit}`,
  )
}

/** Wallets of any project by address or id, and of this project by their owner. */
export const findWallets = (
  db: Queryable,
  input: { readonly projectId: string; readonly text: string; readonly id: string | null; readonly limit: number },
): Promise<readonly ListedWallet[]> => {
  const { projectId, text, id, limit } = input
  const found = sql`
    select * from public.wallets where id = ${id}::uuid
    union select wallet.* from public.networks network join public.wallets wallet
      on wallet.network = network.name and wallet.address = ${text}
    union select wallet.* from public.networks network join public.wallets wallet
      on wallet.project_id = ${projectId}::uuid and wallet.network = network.name and wallet.owner_id = ${text}`
  return walletsOf(db, sql`select ${WALLET} from (${found}) w order by w.created_at desc, w.id desc limit ${limit}`)
}

const USER = {
  ...pickColumns(users, 'id', 'email', 'signInWallet', 'issuer', 'subject', 'createdAt'),
  issuerName,
  passkeys: sql<number>`(
    select count(*)::int from public.passkeys p where p.project_id = users.project_id and p.user_id = users.id)`,
}

export const pageOfUsers = (db: Queryable, { projectId, after, limit }: Below & { readonly projectId: string }) =>
  db
    .select(USER)
    .from(users)
    .where(and(eq(users.projectId, projectId), after === null ? undefined : sql`${users.id} > ${after}::uuid`))
    .orderBy(asc(users.id))
    .limit(limit)

export const findUsers = (
  db: Queryable,
  { projectId, text, id }: { readonly projectId: string; readonly text: string; readonly id: string | null },
) => {
  const isNamed = sql`(${users.email} = ${text.toLowerCase()} or ${users.signInWallet} = ${text} or ${users.id} = ${id}::uuid)`
  return db
    .select(USER)
    .from(users)
    .where(and(eq(users.projectId, projectId), isNamed))
}

const APPROVAL = {
  ...pickColumns(approvals, 'id', 'walletId', 'policyId', 'askedBy', 'required', 'createdAt'),
  ...pickColumns(approvals, 'expiresAt', 'rejectedAt', 'usedAt'),
  isExpired: sql<boolean>`${approvals.expiresAt} <= now()`,
  approved: sql<number>`(select count(*)::int from public.approval_decisions d
    where d.approval_id = approvals.id and d.decision = 'approve')`,
}

export type ConsoleApproval = Awaited<ReturnType<typeof pageOfApprovals>>[number]

export const pageOfApprovals = (db: Queryable, { projectId, after, limit }: Below & { readonly projectId: string }) => {
  const { id, createdAt } = approvals
  const last = sql`(select created_at, id from public.approvals where id = ${after}::uuid)`
  return db
    .select(APPROVAL)
    .from(approvals)
    .where(and(eq(approvals.projectId, projectId), after === null ? undefined : sql`(${createdAt}, ${id}) < ${last}`))
    .orderBy(desc(createdAt), desc(id))
    .limit(limit)
}

/** Audit rows, newest first. @param input.chain a project's id, `deployment`, or null for all. */
export const pageOfAudit = (
  db: Queryable,
  input: {
    readonly chain: string | null
    readonly isSecurityOnly: boolean
    readonly after: bigint | null
    readonly limit: number
  },
): Promise<readonly AuditRecord[]> => {
  return db
    .select()
    .from(audit)
    .where(
      and(
        ofChain(input.chain),
        input.isSecurityOnly ? IS_SECURITY_EVENT : undefined,
        input.after === null ? undefined : sql`${audit.id} < ${input.after}`,
      ),
    )
    .orderBy(desc(audit.id))
    .limit(input.limit)
}

export type FollowedNetwork = {
  readonly network: Network
  readonly unfinished: number
  readonly late: number
  readonly trackedBlock: bigint | null
  readonly trackedSeconds: number | null
  readonly indexedBlock: bigint | null
  readonly indexedSeconds: number | null
}

type RawFollowed = AsText<FollowedNetwork, 'trackedBlock' | 'indexedBlock'>

const blockIn = (text: string | null): bigint | null => (text === null ? null : BigInt(text))

export const readFollowedNetworks = async (db: Queryable): Promise<readonly FollowedNetwork[]> => {
  const { rows } = await db.execute<RawFollowed>(sql`
    select network.name as network, coalesce(live.unfinished, 0)::int as unfinished, coalesce(live.late, 0)::int as late,
      track.block_number::text as "trackedBlock", extract(epoch from now() - track.updated_at)::float8 as "trackedSeconds",
      index.block_number::text as "indexedBlock", extract(epoch from now() - index.updated_at)::float8 as "indexedSeconds"
    from public.networks network
    left join public.cursors track on track.network = network.name and track.purpose = 'track'
    left join public.cursors index on index.network = network.name and index.purpose = 'index'
    left join (
      select network, count(*) as unfinished,
        count(*) filter (where status in ('submitted', 'pending') and created_at < now() - interval '1 minute') as late
      from public.transactions where not final group by network
    ) live on live.network = network.name
    order by network.created_at, network.name`)
  return rows.map((row) => ({
    ...row,
    trackedBlock: blockIn(row.trackedBlock),
    indexedBlock: blockIn(row.indexedBlock),
  }))
}

export type Interval = {
  /** From 0, the oldest. */
  readonly index: number
  readonly recorded: number
  readonly failed: number
  /** Seconds from recording to outcome: the median, and what 95 of 100 are below. null if none has an outcome. */
  readonly medianSeconds: number | null
  readonly slowSeconds: number | null
}

/** Times are computed of so many transactions of an interval, so that a busy day costs no more than a quiet one. */
const TIMED_MAX = 400

/** What was recorded in each of the intervals up to now; those without a transaction are left out. */
export const readIntervals = async (
  db: Queryable,
  input: { readonly intervals: number; readonly seconds: number; readonly network: Network | null },
): Promise<readonly Interval[]> => {
  const { intervals, seconds, network } = input
  const within = sql`from public.transactions
    where created_at > span.since and created_at <= span.until
      ${network === null ? sql`` : sql`and network = ${network}`}`
  return readRows<Interval>(db)`
    select index, counted.recorded, failures.failed, took.shares[1] as "medianSeconds", took.shares[2] as "slowSeconds"
    from generate_series(0, ${intervals}::int - 1) index
    cross join lateral (
      select now() - make_interval(secs => (${intervals}::int - index) * ${seconds}::int) as since,
        now() - make_interval(secs => (${intervals}::int - index - 1) * ${seconds}::int) as until
    ) span
    cross join lateral (select count(*)::int as recorded ${within}) counted
    cross join lateral (select count(*)::int as failed ${within} and error_code is not null) failures
    cross join lateral (
      select percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from settled_at - created_at)::float8) as shares
      from (select created_at, settled_at ${within} order by created_at limit ${TIMED_MAX}) first
    ) took
    where counted.recorded > 0
    order by index`
}

type Totals = {
  readonly jobsReady: number
  readonly jobsFailed: number
  readonly workers: number
  readonly freezes: number
}

export const readTotals = async (db: Queryable): Promise<Totals> => {
  const row = await firstRow(
    readRows<Totals>(db)`
    select coalesce(sum(ready), 0)::int as "jobsReady", coalesce(sum(failed), 0)::int as "jobsFailed",
      (select count(*)::int from strongroom_views.workers where lives) as workers,
      (select coalesce(sum(jsonb_array_length(freezes)), 0)::int from public.freeze_lists) as freezes
    from public.strongroom_job_numbers()`,
  )
  if (row === null) throw new Error('The totals were not read.')
  return row
}
