import { and, asc, eq, gt, gte, inArray, isNull, lte, ne, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { attempts, signers, transactions } from '../schema.ts'
import { type Network, TRANSACTION_STATUSES } from '../words.ts'

export type TransactionRow = typeof transactions.$inferSelect
export type AttemptRow = typeof attempts.$inferSelect
export type Signer = { readonly network: Network; readonly address: string }

const LIVE = TRANSACTION_STATUSES.filter((status) => status === 'submitted' || status === 'pending')

const ofSigner = (signer: Signer) =>
  and(eq(transactions.network, signer.network), eq(transactions.signerAddress, signer.address))

/** Locks the actor's row until the transaction ends: the choice of a nonce, the signing and the insert happen under it. */
export const lockSigner = async (tx: Tx, signer: Signer): Promise<void> => {
  await tx.insert(signers).values(signer).onConflictDoNothing()
  await tx
    .select({ address: signers.address })
    .from(signers)
    .where(and(eq(signers.network, signer.network), eq(signers.address, signer.address)))
    .for('update')
}

/** The signer's mailbox: what is recorded and not yet settled, in nonce order, whatever project it is of. */
export const liveTransactions = async (db: Queryable, signer: Signer): Promise<readonly TransactionRow[]> =>
  db
    .select()
    .from(transactions)
    .where(and(ofSigner(signer), inArray(transactions.status, LIVE)))
    .orderBy(asc(transactions.nonce))

/** Nonces from `from` on that a live or mined transaction of ours holds. */
export const heldNonces = async (db: Queryable, signer: Signer, from: number): Promise<ReadonlySet<number>> => {
  const rows = await db
    .select({ nonce: transactions.nonce })
    .from(transactions)
    .where(and(ofSigner(signer), transactions.holdsNonce, gte(transactions.nonce, from)))
  return new Set(rows.map((row) => row.nonce))
}

/** The sum of what the signer's live transactions from a nonce on may still take. */
export const liveWorstCost = async (db: Queryable, signer: Signer, fromNonce: number): Promise<bigint> => {
  const [row] = await db
    .select({ total: sql<string>`coalesce(sum(${transactions.worstCost}), 0)::text` })
    .from(transactions)
    .where(and(ofSigner(signer), inArray(transactions.status, LIVE), gte(transactions.nonce, fromNonce)))
  return BigInt(row?.total ?? '0')
}

export const insertTransaction = async (
  tx: Tx,
  row: typeof transactions.$inferInsert,
  signed: readonly (typeof attempts.$inferInsert)[],
): Promise<void> => {
  await tx.insert(transactions).values(row)
  await tx.insert(attempts).values([...signed])
}

/** By our id, within a project. */
export const findTransaction = async (
  db: Queryable,
  input: { readonly projectId: string; readonly id: string },
): Promise<TransactionRow | null> => {
  const [row] = await db
    .select()
    .from(transactions)
    .where(and(eq(transactions.id, input.id), eq(transactions.projectId, input.projectId)))
  return row ?? null
}

/** The project's transaction that one of its attempts' hashes belongs to. */
export const findTransactionByHash = async (
  db: Queryable,
  input: { readonly projectId: string; readonly network: Network; readonly hash: string },
): Promise<TransactionRow | null> => {
  const [row] = await db
    .select({ transaction: transactions })
    .from(attempts)
    .innerJoin(transactions, eq(transactions.id, attempts.transactionId))
    .where(
      and(
        eq(attempts.network, input.network),
        eq(attempts.hash, input.hash),
        eq(transactions.projectId, input.projectId),
      ),
    )
  return row?.transaction ?? null
}

export type WithAttempts = { readonly transaction: TransactionRow; readonly attempts: readonly AttemptRow[] }

/** Rungs from the lowest, then the cancel: an attempt's place in this list is its number. */
const attemptsOf = (db: Queryable, transactionId: string): Promise<readonly AttemptRow[]> =>
  db
    .select()
    .from(attempts)
    .where(eq(attempts.transactionId, transactionId))
    .orderBy(sql`${attempts.kind} = 'cancel'`, asc(attempts.rung))

/** For the worker: a transaction of any project with its attempts, lowest rung first. */
export const transactionWithAttempts = async (db: Queryable, id: string): Promise<WithAttempts | null> => {
  const [transaction] = await db.select().from(transactions).where(eq(transactions.id, id))
  return transaction === undefined ? null : { transaction, attempts: await attemptsOf(db, id) }
}

/** The same, and nobody else changes it until the database transaction ends. `at` is the database's time. */
export const lockTransaction = async (tx: Tx, id: string): Promise<(WithAttempts & { readonly at: Date }) | null> => {
  const [row] = await tx
    .select({ transaction: transactions, at: sql<Date>`now()`.mapWith(transactions.createdAt) })
    .from(transactions)
    .where(eq(transactions.id, id))
    .for('update')
  return row === undefined ? null : { ...row, attempts: await attemptsOf(tx, id) }
}

/** Writes down what became of a transaction. */
export const saveTransaction = async (
  tx: Tx,
  id: string,
  change: Partial<typeof transactions.$inferInsert>,
): Promise<void> => {
  await tx
    .update(transactions)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(transactions.id, id))
}

/** A node has the bytes of an attempt. */
export const markAttemptAccepted = async (
  tx: Tx,
  input: { readonly network: Network; readonly hash: string },
): Promise<void> => {
  await tx
    .update(attempts)
    .set({ broadcastAt: sql`coalesce(${attempts.broadcastAt}, now())`, lastError: null })
    .where(and(eq(attempts.network, input.network), eq(attempts.hash, input.hash)))
}

/** What the node said of an attempt that it did not take. */
export const noteAttemptError = async (
  db: Queryable,
  input: { readonly network: Network; readonly hash: string; readonly error: string },
): Promise<void> => {
  await db
    .update(attempts)
    .set({ lastError: input.error })
    .where(and(eq(attempts.network, input.network), eq(attempts.hash, input.hash)))
}

/** Which of a block's hashes are attempts of unfinished transactions: one query a block. */
export const attemptsAmong = async (
  db: Queryable,
  input: { readonly network: Network; readonly hashes: readonly string[] },
): Promise<readonly { readonly hash: string; readonly transactionId: string }[]> => {
  if (input.hashes.length === 0) return []
  return db
    .select({ hash: attempts.hash, transactionId: attempts.transactionId })
    .from(attempts)
    .innerJoin(transactions, eq(transactions.id, attempts.transactionId))
    .where(
      and(
        eq(attempts.network, input.network),
        inArray(attempts.hash, [...input.hashes]),
        eq(transactions.final, false),
      ),
    )
}

export type MinedIn = { readonly transactionId: string; readonly blockHash: string }

const minedWhere = async (db: Queryable, network: Network, where: SQL | undefined): Promise<readonly MinedIn[]> => {
  const rows = await db
    .select({ transactionId: transactions.id, blockHash: transactions.minedBlockHash })
    .from(transactions)
    .where(and(eq(transactions.network, network), eq(transactions.final, false), where))
    .orderBy(asc(transactions.minedBlockNumber))
  return rows.flatMap(({ transactionId, blockHash }) => (blockHash === null ? [] : [{ transactionId, blockHash }]))
}

/** Taken to be mined in blocks above this one. */
export const minedAbove = (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<readonly MinedIn[]> => minedWhere(db, input.network, gt(transactions.minedBlockNumber, input.blockNumber))

/** Taken to be mined at the height of this block, in another one. */
export const minedBeside = (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint; readonly blockHash: string },
): Promise<readonly MinedIn[]> =>
  minedWhere(
    db,
    input.network,
    and(eq(transactions.minedBlockNumber, input.blockNumber), ne(transactions.minedBlockHash, input.blockHash)),
  )

/** Mined in blocks up to this one, and not final yet. */
export const minedUpTo = (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<readonly MinedIn[]> => minedWhere(db, input.network, lte(transactions.minedBlockNumber, input.blockNumber))

/** Mined at or below a block, and not told yet; a mined cancel is told by nothing but being final. */
export const minedUnsettled = async (
  db: Queryable,
  input: { readonly network: Network; readonly upToBlock: bigint; readonly limit: number },
): Promise<readonly TransactionRow[]> =>
  db
    .select()
    .from(transactions)
    .where(
      and(
        eq(transactions.network, input.network),
        eq(transactions.final, false),
        isNull(transactions.settledAt),
        sql`not exists (
          select from ${attempts} attempt
          where attempt.network = ${transactions.network} and attempt.hash = ${transactions.shownHash} and attempt.kind = 'cancel')`,
        lte(transactions.minedBlockNumber, input.upToBlock),
      ),
    )
    .orderBy(asc(transactions.minedBlockNumber))
    .limit(input.limit)

/** The signed bytes would be bearer instruments; the hashes stay. */
export const eraseRaw = async (tx: Tx, transactionId: string): Promise<void> => {
  await tx.update(attempts).set({ raw: null }).where(eq(attempts.transactionId, transactionId))
}

/** Live, and nothing was learnt of it for `seconds`: what the reconciler asks the node about. */
export const longQuiet = async (
  db: Queryable,
  input: { readonly network: Network; readonly seconds: number; readonly limit: number },
): Promise<readonly TransactionRow[]> =>
  db
    .select()
    .from(transactions)
    .where(
      and(
        eq(transactions.network, input.network),
        inArray(transactions.status, LIVE),
        lte(transactions.updatedAt, sql`now() - make_interval(secs => ${input.seconds})`),
      ),
    )
    .orderBy(asc(transactions.updatedAt))
    .limit(input.limit)

export type DueClock = { readonly id: string; readonly due: 'start' | 'climb' | 'expire' }

/**
 * Of each signer's lowest live transaction that is in no block, once it was broadcast: whether its clock must be started,
 * its fee must rise, or it must be given up. By the database's clock.
 */
export const dueClocks = async (
  db: Queryable,
  input: { readonly network: Network; readonly climbAfterSeconds: number; readonly expireAfterSeconds: number },
): Promise<readonly DueClock[]> =>
  db.execute<DueClock>(sql`
    select id, due from (
      select id, case
          when clock_started_at is null then 'start'
          when chosen < rungs and clock_started_at + make_interval(secs => ${input.expireAfterSeconds}) <= now() then 'expire'
          when chosen + 1 < rungs
            and greatest(chosen_at, clock_started_at) + make_interval(secs => ${input.climbAfterSeconds}) <= now() then 'climb'
        end as due
      from (
        select distinct on (signer_address) * from public.transactions
        where network = ${input.network} and status in ('submitted', 'pending') and mined_block_hash is null
        order by signer_address, nonce
      ) lowest
      where broadcast_at is not null
    ) clocks
    where due is not null`)

/** From now on the transaction waits with its signer's others behind it. */
export const startClock = async (db: Queryable, id: string): Promise<void> => {
  await db
    .update(transactions)
    .set({ clockStartedAt: sql`coalesce(${transactions.clockStartedAt}, now())` })
    .where(eq(transactions.id, id))
}

/** Puts a transaction at the end of the reconciler's line. */
export const touchTransaction = async (db: Queryable, id: string): Promise<void> => {
  await db.update(transactions).set({ updatedAt: sql`now()` }).where(eq(transactions.id, id))
}
