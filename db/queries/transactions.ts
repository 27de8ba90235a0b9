// Transactions: the next nonce of a signer, what is inserted, sent, replaced and final.

import { and, asc, desc, eq, getTableColumns, gte, inArray, isNull, lt, lte, not, or, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { encodeRows, firstRow, type Ids, isOneOf, pickColumns } from '../rows.ts'
import { ladders, OUTCOME_COLUMNS, signers, transactions } from '../schema.ts'
import { type Network, type Refusal, TRANSACTION_STATUSES } from '../words.ts'
import { type AttemptRow, attemptsOf, chosenOf, hasHash, hexOf, LADDER, readRefusal } from './attempts.ts'
import { present } from './server.ts'
import type { Reach } from './wallets.ts'

export type TransactionRow = typeof transactions.$inferSelect
export type Signer = { readonly network: Network; readonly address: string }

/** Written without parameters, as in the conditions of the indexes: a generic plan can then use them. */
export const isUnfinished = not(transactions.final)

const LIVE = TRANSACTION_STATUSES.filter((status) => status === 'submitted' || status === 'pending')

/** Live implies unfinished and nonce held; repeated here so that the partial indexes are used. */
export const isLive = and(inArray(transactions.status, LIVE), isUnfinished, transactions.holdsNonce)

export const ofSigner = (signer: Signer) =>
  and(eq(transactions.network, signer.network), eq(transactions.signerAddress, signer.address))

const lockSignerRow = prepare((db, { network, address }: Given<Signer>) =>
  db
    .select({ address: signers.address })
    .from(signers)
    .where(and(eq(signers.network, network), eq(signers.address, address)))
    .for('update'),
)

/** Locks the signer's row while a nonce is chosen, the bytes are signed and the rows are inserted. */
export const lockSigner = (tx: Tx, signer: Signer): Promise<void> => readUnderLock(tx, signer, () => Promise.resolve())

/**
 * Locks the signer's row, and reads in the same message.
 * @param read sends all at once, behind the lock: it sees what was committed before. May be called again.
 */
export const readUnderLock = async <Read>(tx: Tx, signer: Signer, read: () => Promise<Read>): Promise<Read> => {
  const [locked, seen] = await Promise.all([lockSignerRow(tx, signer), read()])
  if (locked.length > 0) return seen
  await tx.insert(signers).values(signer).onConflictDoNothing()
  const [, again] = await Promise.all([lockSignerRow(tx, signer), read()])
  return again
}

const anyUnfinished = prepare((db, { network }: Given<Pick<Signer, 'network'>>) =>
  db
    .select({ id: transactions.id })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished))
    .limit(1),
)

export const hasUnfinished = async (db: Queryable, network: Network) =>
  (await anyUnfinished(db, { network })).length > 0

const { signerAddress, nonce, to, value, input: callData, gasLimit, status } = transactions
const ageSeconds = sql<number>`extract(epoch from now() - ${transactions.createdAt})::float8`
const INTENT = { signerAddress, nonce, to, value, input: callData, gasLimit, status, ageSeconds }

export type UnminedRow = Awaited<ReturnType<typeof unminedBefore>>[number]

/** The newest `limit`: the signer's, and the project's that go to one of these addresses or create a contract. */
export const unminedBefore = async (
  db: Queryable,
  input: {
    readonly signer: Signer
    readonly projectId: string
    readonly to: readonly string[]
    readonly limit: number
  },
) => {
  const { signer, projectId, limit } = input
  const isRelated = or(input.to.length === 0 ? undefined : inArray(to, [...input.to]), isNull(to))
  const isNamed = or(eq(signerAddress, signer.address), and(eq(transactions.projectId, projectId), isRelated))
  const rows = await db
    .select(INTENT)
    .from(transactions)
    .where(and(eq(transactions.network, signer.network), isLive, isNull(transactions.minedBlockHash), isNamed))
    .orderBy(desc(transactions.createdAt), desc(nonce))
    .limit(limit)
  return rows.toReversed()
}

export type Held = {
  /** The nonces of our live and mined transactions. */
  readonly nonces: ReadonlySet<number>
  /** The sum of the worst costs of those that the signer's balance does not show yet. */
  readonly worstCost: bigint
  /** The same for each asset in which fees are paid. */
  readonly assetCosts: ReadonlyMap<string, bigint>
}

const heldRows = prepare((db, { network, address, fromNonce }: Given<Signer & { readonly fromNonce: number }>) => {
  const { worstCost, feeAsset, feeAssetCost, holdsNonce, minedBlockNumber } = transactions
  return db
    .select({ nonce, worstCost, feeAsset, feeAssetCost, minedBlockNumber })
    .from(transactions)
    .where(and(eq(transactions.network, network), eq(signerAddress, address), holdsNonce, gte(nonce, fromNonce)))
})

/**
 * What the signer's transactions from a nonce on hold. They are not in a balance that was read when the chain had
 * counted `fromNonce`, even if a block has taken them since.
 * @param input.asOfBlock the block of that balance, where it is known: what is mined up to there belongs to a removed
 * account (`releaseReaped`), and its cost is in the balance.
 */
export const readHeld = async (
  db: Queryable,
  signer: Signer,
  { fromNonce, asOfBlock }: { readonly fromNonce: number; readonly asOfBlock: bigint | null },
): Promise<Held> => {
  const rows = await heldRows(db, { ...signer, fromNonce })
  const unpaid = rows.filter(({ minedBlockNumber: block }) => asOfBlock === null || block === null || block > asOfBlock)
  const assetCosts = new Map<string, bigint>()
  for (const { feeAsset: asset, feeAssetCost: cost } of unpaid) {
    if (asset !== null) assetCosts.set(asset, (assetCosts.get(asset) ?? 0n) + (cost ?? 0n))
  }
  return {
    nonces: new Set(rows.map((row) => row.nonce)),
    worstCost: unpaid.reduce((sum, row) => sum + row.worstCost, 0n),
    assetCosts,
  }
}

export const readHeldNonces = async (
  db: Db,
  { network, address }: Signer,
  { fromNonce }: { readonly fromNonce: number },
): Promise<ReadonlySet<number>> => {
  const rows = await db.prepared<{ nonce: number }>`
    select nonce::float8 as nonce from public.transactions
    where network = ${network} and signer_address = ${address} and holds_nonce and nonce >= ${fromNonce}`
  return new Set(rows.map(({ nonce }) => nonce))
}

/**
 * Releases the nonces of a reaped account. A Substrate account that falls below the existential deposit is removed, and
 * its nonce starts from 0 when it comes back. So a final transaction that the chain does not count as of a block
 * belongs to the removed account; after its era no node takes it again.
 * @param input.fromNonce the signer's count as of the block.
 */
export const releaseReaped = prepare(
  (
    db,
    { network, address, fromNonce, block }: Given<Signer & { readonly fromNonce: number; readonly block: bigint }>,
  ) => {
    const { final, validUntilBlock, holdsNonce } = transactions
    const isHeld = and(eq(transactions.network, network), eq(signerAddress, address), holdsNonce, gte(nonce, fromNonce))
    return db
      .update(transactions)
      .set({ holdsNonce: false })
      .where(and(isHeld, final, lt(validUntilBlock, block)))
  },
)

type OutcomeColumn = Exclude<(typeof OUTCOME_COLUMNS)[number], 'holdsNonce'>

/** What is known of a transaction when it is recorded. */
type Recorded = Omit<TransactionRow, OutcomeColumn | 'createdAt'>

/** It holds its nonce, unless a restore says otherwise. */
type RecordedRow = Omit<Recorded, 'holdsNonce'> & { readonly holdsNonce?: boolean }

const HAVE_DEFAULTS: ReadonlySet<string> = new Set([
  ...OUTCOME_COLUMNS.filter((name) => name !== 'holdsNonce'),
  'createdAt',
])
const RECORDED = Object.keys(getTableColumns(transactions)).filter((name) => !HAVE_DEFAULTS.has(name))

const insertRecorded = prepare((db, given: Given<Recorded>) =>
  db
    .insert(transactions)
    .values(Object.fromEntries(RECORDED.map((name) => [name, given[name as keyof Recorded]])) as Given<Recorded>),
)

export const insertTransaction = async (tx: Tx, row: RecordedRow) => {
  await insertRecorded(tx, { holdsNonce: true, ...row })
}

export const isWithinReach = ({ projectId, ownedBy }: Reach) =>
  and(
    eq(transactions.projectId, projectId),
    ownedBy === null
      ? undefined
      : sql`exists (select from public.wallets w where w.id = ${transactions.walletId} and w.owner_id = ${ownedBy})`,
  )

export const findTransaction = (
  db: Queryable,
  input: Reach & { readonly id: string },
): Promise<TransactionRow | null> =>
  firstRow(
    db
      .select()
      .from(transactions)
      .where(and(eq(transactions.id, input.id), isWithinReach(input))),
  )

/** The newest, if the same bytes were signed again after a reorganisation had freed their nonce. */
export const findTransactionByHash = (
  db: Queryable,
  input: Reach & { readonly network: Network; readonly hash: string },
): Promise<TransactionRow | null> =>
  firstRow(
    db
      .select()
      .from(transactions)
      .where(and(hasHash(input), eq(transactions.network, input.network), isWithinReach(input)))
      .orderBy(desc(transactions.createdAt))
      .limit(1),
  )

/** The attempts by their numbers: the rungs from the lowest on, the cancel, then former cancels. */
export type WithAttempts = { readonly transaction: TransactionRow; readonly attempts: readonly AttemptRow[] }

/** In one statement: which kind an attempt is follows from the transaction's rungs. */
const readTogether = prepare((db, { ids }: Given<Ids>) =>
  db
    .select({ transaction: transactions, ladder: LADDER })
    .from(transactions)
    .innerJoin(ladders, eq(ladders.transactionId, transactions.id))
    .where(isOneOf(transactions.id, ids)),
)

/** Transactions of any project with their attempts, by their ids. */
export const transactionsWithAttempts = async (
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, WithAttempts>> => {
  const rows = ids.length === 0 ? [] : await readTogether(db, { ids })
  return new Map(
    rows.map(({ transaction, ladder }) => [transaction.id, { transaction, attempts: attemptsOf(ladder, transaction) }]),
  )
}

/** One of them; null if there is none. */
export const transactionWithAttempts = async (db: Queryable, id: string): Promise<WithAttempts | null> =>
  (await transactionsWithAttempts(db, [id])).get(id) ?? null

/** Always in the same order, to avoid deadlocks. */
const lockRows = prepare((db, { ids }: Given<Ids>) =>
  db
    .select({ transaction: transactions, at: present })
    .from(transactions)
    .where(isOneOf(transactions.id, ids))
    .orderBy(asc(transactions.id))
    .for('update'),
)

const readLadders = prepare((db, { ids }: Given<Ids>) =>
  db.select(LADDER).from(ladders).where(isOneOf(ladders.transactionId, ids)),
)

/** One of them, locked until the database transaction ends. `at` is the database's time. */
export const lockTransaction = async (tx: Tx, id: string): Promise<(WithAttempts & { readonly at: Date }) | null> => {
  const ids = [id]
  // The second sees what was committed before the first got its lock.
  const [[row], [ladder]] = await Promise.all([lockRows(tx, { ids }), readLadders(tx, { ids })])
  if (row === undefined) return null
  return { ...row, attempts: ladder === undefined ? [] : attemptsOf(ladder, row.transaction) }
}

export type Locked = {
  readonly transaction: TransactionRow
  readonly hashes: readonly string[]
  /** Why nodes refused it for good; null if one has ever accepted a rung. */
  readonly refusal: Refusal | null
  readonly at: Date
}

const readAnswers = prepare((db, { ids }: Given<Ids>) =>
  db
    .select(pickColumns(ladders, 'transactionId', 'hashes', 'acceptedAt', 'lastErrors'))
    .from(ladders)
    .where(isOneOf(ladders.transactionId, ids)),
)

type Answers = Awaited<ReturnType<typeof readAnswers>>[number]

/** Locks several transactions. */
export const lockTransactions = async (tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, Locked>> => {
  const [rows, answers] = await Promise.all([lockRows(tx, { ids }), readAnswers(tx, { ids })])
  const answersOf = new Map(answers.map((its) => [its.transactionId, its]))
  return new Map(
    rows.map(({ transaction, at }) => {
      const its = answersOf.get(transaction.id)
      const refusal = its === undefined ? null : refusalOfAll(its, transaction)
      return [transaction.id, { transaction, at, hashes: its?.hashes ?? [], refusal }]
    }),
  )
}

/** The refusal of the highest rung that was sent, unless a node has accepted one. */
const refusalOfAll = (
  { acceptedAt, lastErrors }: Answers,
  { rungs }: Pick<TransactionRow, 'rungs'>,
): Refusal | null => {
  if (acceptedAt.slice(0, rungs).some((at) => at !== null)) return null
  return readRefusal(lastErrors.slice(0, rungs).findLast((error) => error !== null) ?? null)
}

const SAVED = OUTCOME_COLUMNS.filter((key) => key !== 'updatedAt').map((key) => ({ key, column: transactions[key] }))
const ASSIGNMENTS = sql.raw(SAVED.map(({ key, column }) => `${column.name} = row."${key}"`).join(', '))
const RECORD = sql.raw(SAVED.map(({ key, column }) => `"${key}" ${column.getSQLType()}`).join(', '))

/** Stores the outcome columns. The ids are also a list: for a record set alone the planner would choose a scan. */
export const saveTransactions = async (tx: Tx, rows: readonly TransactionRow[]) => {
  if (rows.length === 0) return
  await tx.execute(sql`
    update public.transactions saved set ${ASSIGNMENTS}, updated_at = now()
    from json_to_recordset(${encodeRows(rows)}::text::json) as row(id uuid, ${RECORD})
    where saved.id = row.id and ${isOneOf(sql`saved.id`, sql`${sql.param(rows.map(({ id }) => id))}`)}`)
}

/** Transactions with their chosen attempt; the caller adds the conditions. */
export const quietRows = (db: Queryable) => {
  const { id, minedBlockHash } = transactions
  return db
    .select({ id, signerAddress, nonce, minedBlockHash, chosenHash: hexOf(chosenOf(ladders.hashes)) })
    .from(transactions)
    .innerJoin(ladders, eq(ladders.transactionId, id))
}

export type QuietRow = Awaited<ReturnType<typeof quietRows>>[number]

/** Live transactions without news for `seconds`, those longest without news first. */
export const longQuiet = async (
  db: Queryable,
  input: { readonly network: Network; readonly seconds: number; readonly limit: number },
): Promise<readonly QuietRow[]> => {
  const isQuiet = lte(transactions.updatedAt, sql`now() - make_interval(secs => ${input.seconds})`)
  return quietRows(db)
    .where(and(eq(transactions.network, input.network), isLive, isQuiet))
    .orderBy(asc(transactions.updatedAt))
    .limit(input.limit)
}

/** The time in a column of several transactions is now. They are locked in the order of `lockTransactions`. */
const stampTransactions = (column: 'updatedAt' | 'clockStartedAt') => async (db: Queryable, ids: readonly string[]) => {
  const inOrder = sql`any(array(
    select id from public.transactions where id = any(${sql.param(ids)}::uuid[]) order by id for no key update))`
  const set = { [column]: sql`now()` }
  await db.update(transactions).set(set).where(eq(transactions.id, inOrder))
}

/** Puts transactions at the end of the reconciler's queue. */
export const touchTransactions = stampTransactions('updatedAt')

export const startClocks = stampTransactions('clockStartedAt')
