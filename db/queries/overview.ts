// The operators' views (views.sql), and the command line's queries on them.

import { and, asc, desc, eq, inArray, isNotNull, or, sql } from 'drizzle-orm'
import { bigint, boolean, integer, pgSchema, text, uuid } from 'drizzle-orm/pg-core'
import type { Queryable, Tx } from '../client.ts'
import { eqIfGiven, firstRow } from '../rows.ts'
import { audit, transactions } from '../schema.ts'
import { instant, uint256 } from '../tables.ts'
import {
  ATTEMPT_KINDS,
  GIVE_UPS,
  type Network,
  TRANSACTION_KINDS,
  TRANSACTION_STATUSES,
  type TransactionStatus,
} from '../words.ts'
import { hasHash } from './attempts.ts'

const overview = pgSchema('strongroom_views')

const network = () => text('network').notNull()
const status = (name: string) => text(name, { enum: TRANSACTION_STATUSES })

const JOB_STATES = ['due', 'scheduled', 'running', 'abandoned', 'failing', 'given_up'] as const
type JobState = (typeof JOB_STATES)[number]

const transactionOverview = overview
  .view('transactions', {
    id: uuid('id').notNull(),
    projectId: uuid('project_id').notNull(),
    walletId: uuid('wallet_id').notNull(),
    network: network(),
    signerAddress: text('signer_address').notNull(),
    contractWallet: text('contract_wallet'),
    nonce: bigint('nonce', { mode: 'number' }).notNull(),
    kind: text('kind', { enum: TRANSACTION_KINDS }).notNull(),
    to: text('to'),
    value: uint256('value').notNull(),
    feeAsset: text('fee_asset'),
    feeAssetCost: uint256('fee_asset_cost'),
    status: status('status').notNull(),
    final: boolean('final').notNull(),
    createdAt: instant('created_at').notNull(),
    age: text('age').notNull(),
    late: boolean('late').notNull(),
    cause: text('cause'),
    why: text('why'),
    waitsFor: uuid('waits_for'),
    attempt: integer('attempt').notNull(),
    rungs: integer('rungs').notNull(),
    cutByFunds: boolean('cut_by_funds').notNull(),
    cancelling: boolean('cancelling').notNull(),
    givenUp: text('given_up', { enum: GIVE_UPS }),
    attemptHash: text('attempt_hash').notNull(),
    acceptedAt: instant('accepted_at'),
    refusal: text('refusal'),
    climbsAt: instant('climbs_at'),
    givesUpAt: instant('gives_up_at'),
    shownHash: text('shown_hash'),
    minedBlockNumber: bigint('mined_block_number', { mode: 'bigint' }),
    minedBlockHash: text('mined_block_hash'),
    minedAttempt: text('mined_attempt', { enum: ATTEMPT_KINDS }),
    confirmations: bigint('confirmations', { mode: 'number' }),
    confirmationsNeeded: integer('confirmations_needed'),
    errorCode: text('error_code'),
    error: text('error'),
    contractAddress: text('contract_address'),
    broadcastAt: instant('broadcast_at'),
    settledAt: instant('settled_at'),
    updatedAt: instant('updated_at').notNull(),
    jobId: bigint('job_id', { mode: 'bigint' }),
    jobState: text('job_state', { enum: JOB_STATES }),
    jobRunAt: instant('job_run_at'),
    jobAttempts: integer('job_attempts'),
    jobError: text('job_error'),
  })
  .existing()

const attemptOverview = overview
  .view('attempts', {
    transactionId: uuid('transaction_id').notNull(),
    network: network(),
    attempt: integer('attempt').notNull(),
    kind: text('kind', { enum: ATTEMPT_KINDS }).notNull(),
    hash: text('hash').notNull(),
    chosen: boolean('chosen').notNull(),
    mined: boolean('mined').notNull(),
    maxFeePerGas: uint256('max_fee_per_gas'),
    acceptedAt: instant('accepted_at'),
    refusal: text('refusal'),
    sendable: boolean('sendable').notNull(),
  })
  .existing()

const signerOverview = overview
  .view('signers', {
    network: network(),
    address: text('address').notNull(),
    live: integer('live').notNull(),
    waiting: integer('waiting').notNull(),
    late: integer('late').notNull(),
    oldestLiveAt: instant('oldest_live_at'),
    lowestWaitingNonce: bigint('lowest_waiting_nonce', { mode: 'number' }),
    lowestWaitingTransaction: uuid('lowest_waiting_transaction'),
    missingNonce: bigint('missing_nonce', { mode: 'number' }),
    minedCount: bigint('mined_count', { mode: 'number' }),
    pendingCount: bigint('pending_count', { mode: 'number' }),
    balance: uint256('balance'),
    heardAt: instant('heard_at'),
  })
  .existing()

const jobOverview = overview
  .view('jobs', {
    id: bigint('id', { mode: 'bigint' }).notNull(),
    task: text('task').notNull(),
    key: text('key'),
    state: text('state', { enum: JOB_STATES }).notNull(),
    runAt: instant('run_at').notNull(),
    attempts: integer('attempts').notNull(),
    maxAttempts: integer('max_attempts').notNull(),
    lastError: text('last_error'),
    lockedAt: instant('locked_at'),
    lockedBy: text('locked_by'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    network: text('network'),
    transactionId: uuid('transaction_id'),
    projectId: uuid('project_id'),
    signerAddress: text('signer_address'),
    nonce: bigint('nonce', { mode: 'number' }),
    transactionStatus: status('transaction_status'),
  })
  .existing()

export type TransactionOverview = typeof transactionOverview.$inferSelect
export type AttemptOverview = typeof attemptOverview.$inferSelect
export type SignerOverview = typeof signerOverview.$inferSelect
export type JobOverview = typeof jobOverview.$inferSelect

const LIVE: readonly TransactionStatus[] = ['submitted', 'pending']

type TransactionFilter = {
  readonly statuses: readonly TransactionStatus[]
  readonly network?: Network
  readonly projectId?: string
  /** Canonical; a key's, or that of the contract wallet for which it sends. */
  readonly signerAddress?: string
  readonly late?: boolean
}

/** Live ones oldest first, otherwise the newest first. */
export const listTransactions = async (
  db: Queryable,
  input: TransactionFilter & { readonly limit: number },
): Promise<readonly TransactionOverview[]> => {
  const { projectId, signerAddress, late = false } = input
  const statuses = late ? LIVE.filter((each) => input.statuses.includes(each)) : input.statuses
  const isLive = statuses.every((each) => LIVE.includes(each))
  const order = isLive ? asc : desc
  // Select ids from the table first: the view computes the reason for each row that it returns. Use a statement of its
  // own: the view takes long to plan, and only for ids alone does PostgreSQL keep the plan.
  const listed = await db
    .select({ id: transactions.id })
    .from(transactions)
    .where(
      and(
        inArray(transactions.status, [...statuses]),
        // Implied by the statuses; repeated so that the partial indexes are used.
        isLive ? eq(transactions.final, false) : undefined,
        statuses.every((each) => each === 'failed') ? isNotNull(transactions.errorCode) : undefined,
        eqIfGiven(transactions.network, input.network),
        eqIfGiven(transactions.projectId, projectId),
        signerAddress === undefined
          ? undefined
          : or(eq(transactions.signerAddress, signerAddress), eq(transactions.contractWallet, signerAddress)),
      ),
    )
    .orderBy(order(transactions.createdAt), order(transactions.nonce))
    .limit(input.limit)
  const ids = listed.map(({ id }) => id)
  const rows = await transactionsByIds(db, { ids, order: isLive ? 'oldest first' : 'newest first' })
  // What is late is among the oldest.
  return late ? rows.filter((row) => row.late) : rows
}

export const transactionsByIds = async (
  db: Queryable,
  input: { readonly ids: readonly string[]; readonly order: 'oldest first' | 'newest first' },
): Promise<readonly TransactionOverview[]> => {
  const order = input.order === 'oldest first' ? asc : desc
  return (
    db
      .select()
      .from(transactionOverview)
      // As an array, which an index looks up.
      .where(sql`${transactionOverview.id} = any(${sql.param([...input.ids])}::uuid[])`)
      .orderBy(order(transactionOverview.createdAt), order(transactionOverview.nonce))
  )
}

/** By our id, or by the hash of one of its attempts; of any project. */
export const findTransactionOverview = async (
  db: Queryable,
  key: { readonly id: string } | { readonly hash: string },
): Promise<TransactionOverview | null> => {
  const id = 'id' in key ? key.id : await transactionIdOf(db, key.hash)
  if (id === null) return null
  return firstRow(db.select().from(transactionOverview).where(eq(transactionOverview.id, id)))
}

const transactionIdOf = async (db: Queryable, hash: string): Promise<string | null> => {
  const [row] = await db
    .select({ id: transactions.id })
    .from(transactions)
    .where(hasHash({ network: null, hash }))
    .orderBy(desc(transactions.createdAt))
    .limit(1)
  return row?.id ?? null
}

export const listAttempts = async (db: Queryable, transactionId: string): Promise<readonly AttemptOverview[]> =>
  db
    .select()
    .from(attemptOverview)
    .where(eq(attemptOverview.transactionId, transactionId))
    .orderBy(asc(attemptOverview.attempt))

export const findSigner = (
  db: Queryable,
  signer: { readonly network: Network; readonly address: string },
): Promise<SignerOverview | null> =>
  firstRow(
    db
      .select()
      .from(signerOverview)
      .where(and(eq(signerOverview.network, signer.network), eq(signerOverview.address, signer.address))),
  )

export const listActs = async (
  db: Queryable,
  transactionId: string,
): Promise<readonly Pick<typeof audit.$inferSelect, 'id' | 'at' | 'actor' | 'action'>[]> =>
  db
    .select({ id: audit.id, at: audit.at, actor: audit.actor, action: audit.action })
    .from(audit)
    // Without the project: the planner could begin with all acts of it.
    .where(sql`${audit.details}->>'transaction' = ${transactionId}`)
    .orderBy(asc(audit.id))

export type JobFilter = { readonly task?: string; readonly failed?: boolean; readonly transactionId?: string }

const FAILED = ['failing', 'given_up'] as const satisfies readonly JobState[]

const ofJobs = ({ task, failed, transactionId }: JobFilter) =>
  and(
    eqIfGiven(jobOverview.task, task),
    eqIfGiven(jobOverview.transactionId, transactionId),
    failed === true ? inArray(jobOverview.state, [...FAILED]) : undefined,
  )

/** In the order in which they are to run. */
export const listJobs = async (
  db: Queryable,
  input: JobFilter & {
    readonly limit: number
    /** Only those that run later than this one. */
    readonly after?: bigint
  },
): Promise<readonly JobOverview[]> =>
  db
    .select()
    .from(jobOverview)
    .where(
      and(
        ofJobs(input),
        input.after === undefined
          ? undefined
          : sql`(${jobOverview.runAt}, ${jobOverview.id}) > (
              select run_at, id from strongroom_views.jobs where id = ${input.after})`,
      ),
    )
    .orderBy(asc(jobOverview.runAt), asc(jobOverview.id))
    .limit(input.limit)

export const findJob = (db: Queryable, id: bigint): Promise<JobOverview | null> =>
  firstRow(db.select().from(jobOverview).where(eq(jobOverview.id, id)))

/** Makes jobs due now and forgets their failures. @returns the ids of those that were not running. */
export const retryJobs = async (tx: Tx, ids: readonly bigint[]): Promise<ReadonlySet<bigint>> => {
  const { rows } = await tx.execute<{ id: string }>(
    sql`select public.retry_strongroom_jobs(${sql.param(ids.map(String))}::bigint[]) as id`,
  )
  return new Set(rows.map((row) => BigInt(row.id)))
}
