import { and, asc, eq, gt, gte, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm'
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

/** For the worker: a transaction of any project with its attempts, lowest rung first. */
export const transactionWithAttempts = async (
  db: Queryable,
  id: string,
): Promise<{ readonly transaction: TransactionRow; readonly attempts: readonly AttemptRow[] } | null> => {
  const [transaction] = await db.select().from(transactions).where(eq(transactions.id, id))
  if (transaction === undefined) return null
  const rows = await db.select().from(attempts).where(eq(attempts.transactionId, id)).orderBy(asc(attempts.rung))
  return { transaction, attempts: rows }
}

/** A node has the bytes: the transaction is `pending` unless it is already further. */
export const markBroadcast = async (
  db: Queryable,
  input: { readonly network: Network; readonly transactionId: string; readonly hash: string },
): Promise<void> => {
  await db
    .update(attempts)
    .set({ broadcastAt: sql`coalesce(${attempts.broadcastAt}, now())`, lastError: null })
    .where(and(eq(attempts.network, input.network), eq(attempts.hash, input.hash)))
  await db
    .update(transactions)
    .set({
      status: sql`case when ${transactions.status} = 'submitted' then 'pending' else ${transactions.status} end`,
      shownHash: sql`case when ${transactions.minedBlockHash} is null then ${input.hash} else ${transactions.shownHash} end`,
      broadcastAt: sql`coalesce(${transactions.broadcastAt}, now())`,
      updatedAt: sql`now()`,
    })
    .where(eq(transactions.id, input.transactionId))
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

/** A hash of ours is in a block; how it ended is told at the network's confirmation depth. Idempotent for one block. */
export const markMined = async (
  db: Queryable,
  input: {
    readonly network: Network
    readonly transactionId: string
    readonly hash: string
    readonly blockNumber: bigint
    readonly blockHash: string
  },
): Promise<void> => {
  await db
    .update(attempts)
    .set({ broadcastAt: sql`coalesce(${attempts.broadcastAt}, now())` })
    .where(and(eq(attempts.network, input.network), eq(attempts.hash, input.hash)))
  await db
    .update(transactions)
    .set({
      status: 'pending',
      errorCode: null,
      error: null,
      holdsNonce: true,
      shownHash: input.hash,
      minedBlockNumber: input.blockNumber,
      minedBlockHash: input.blockHash,
      settledAt: null,
      broadcastAt: sql`coalesce(${transactions.broadcastAt}, now())`,
      updatedAt: sql`now()`,
    })
    .where(
      and(
        eq(transactions.id, input.transactionId),
        eq(transactions.final, false),
        sql`${transactions.minedBlockHash} is distinct from ${input.blockHash}`,
      ),
    )
}

/** Blocks above this are no longer the chain's: what was mined in them is pending again. */
export const unmineAbove = async (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<number> => {
  const rows = await db
    .update(transactions)
    .set({
      status: 'pending',
      errorCode: null,
      error: null,
      contractAddress: null,
      settledAt: null,
      minedBlockNumber: null,
      minedBlockHash: null,
      updatedAt: sql`now()`,
    })
    .where(
      and(
        eq(transactions.network, input.network),
        eq(transactions.final, false),
        gt(transactions.minedBlockNumber, input.blockNumber),
      ),
    )
    .returning({ id: transactions.id })
  return rows.length
}

/** Mined at or below a block, and not told yet. */
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
        lte(transactions.minedBlockNumber, input.upToBlock),
      ),
    )
    .orderBy(asc(transactions.minedBlockNumber))
    .limit(input.limit)

type Outcome =
  | { readonly status: 'success'; readonly contractAddress: string | null }
  | { readonly status: 'failed'; readonly errorCode: string; readonly error: string }

/** Tells how a mined transaction ended, if it still stands in that block. */
export const settleMined = async (
  db: Queryable,
  input: { readonly transactionId: string; readonly blockHash: string; readonly outcome: Outcome },
): Promise<void> => {
  const { outcome } = input
  await db
    .update(transactions)
    .set({
      status: outcome.status,
      ...(outcome.status === 'success'
        ? { contractAddress: outcome.contractAddress }
        : { errorCode: outcome.errorCode, error: outcome.error }),
      settledAt: sql`now()`,
      updatedAt: sql`now()`,
    })
    .where(and(eq(transactions.id, input.transactionId), eq(transactions.minedBlockHash, input.blockHash)))
}

/** What is mined at or below this block can no longer change; its raw bytes are erased. */
export const finalizeUpTo = async (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<void> => {
  const rows = await db
    .update(transactions)
    .set({ final: true, updatedAt: sql`now()` })
    .where(
      and(
        eq(transactions.network, input.network),
        eq(transactions.final, false),
        isNotNull(transactions.settledAt),
        lte(transactions.minedBlockNumber, input.blockNumber),
      ),
    )
    .returning({ id: transactions.id })
  await eraseRaw(
    db,
    rows.map((row) => row.id),
  )
}

const eraseRaw = async (db: Queryable, transactionIds: readonly string[]): Promise<void> => {
  if (transactionIds.length === 0) return
  await db
    .update(attempts)
    .set({ raw: null })
    .where(inArray(attempts.transactionId, [...transactionIds]))
}

/** Live for longer than `seconds` without being seen in a block: what the reconciler asks the node about. */
export const longUnmined = async (
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
        isNull(transactions.minedBlockNumber),
        lte(transactions.updatedAt, sql`now() - make_interval(secs => ${input.seconds})`),
      ),
    )
    .orderBy(asc(transactions.updatedAt))
    .limit(input.limit)

/** Another transaction took the nonce for good: ours can never be mined. */
export const failNonceTaken = async (db: Queryable, transactionId: string): Promise<void> => {
  const rows = await db
    .update(transactions)
    .set({
      status: 'failed',
      errorCode: 'nonce_taken',
      error: 'Another transaction of the same key took the nonce.',
      holdsNonce: false,
      final: true,
      settledAt: sql`now()`,
      updatedAt: sql`now()`,
    })
    .where(
      and(
        eq(transactions.id, transactionId),
        inArray(transactions.status, LIVE),
        isNull(transactions.minedBlockNumber),
      ),
    )
    .returning({ id: transactions.id })
  await eraseRaw(
    db,
    rows.map((row) => row.id),
  )
}

/** Puts a transaction at the end of the reconciler's line. */
export const touchTransaction = async (db: Queryable, id: string): Promise<void> => {
  await db.update(transactions).set({ updatedAt: sql`now()` }).where(eq(transactions.id, id))
}
