// Transactions and their blocks, for the tracker; and final ones, for the repair after a deep reorganisation.

import { and, asc, desc, eq, gt, isNotNull, isNull, lte, ne, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { attempts, transactions } from '../schema.ts'
import type { Network, TransactionKind } from '../words.ts'
import { isUnfinished, type TransactionRow } from './transactions.ts'

/** The attempts of unfinished transactions among a block's hashes. */
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
        eq(attempts.hash, sql`any(${sql.param(input.hashes)}::text[])`),
        isUnfinished,
      ),
    )
}

export type MinedIn = { readonly transactionId: string; readonly blockHash: string }

const minedWhere = async (db: Queryable, network: Network, where: SQL | undefined): Promise<readonly MinedIn[]> => {
  const rows = await db
    .select({ transactionId: transactions.id, blockHash: transactions.minedBlockHash })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished, isNotNull(transactions.minedBlockNumber), where))
    .orderBy(asc(transactions.minedBlockNumber))
  return rows.flatMap(({ transactionId, blockHash }) => (blockHash === null ? [] : [{ transactionId, blockHash }]))
}

/** Transactions recorded as mined above this block. */
export const minedAbove = (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<readonly MinedIn[]> => minedWhere(db, input.network, gt(transactions.minedBlockNumber, input.blockNumber))

/** Transactions recorded as mined in another block at this height. */
export const minedBeside = (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint; readonly blockHash: string },
): Promise<readonly MinedIn[]> =>
  minedWhere(
    db,
    input.network,
    and(eq(transactions.minedBlockNumber, input.blockNumber), ne(transactions.minedBlockHash, input.blockHash)),
  )

/** Transactions mined up to this block that are not final yet. */
export const minedUpTo = (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<readonly MinedIn[]> => minedWhere(db, input.network, lte(transactions.minedBlockNumber, input.blockNumber))

export type UnsettledRow = MinedIn & {
  readonly hash: string
  readonly kind: TransactionKind
  readonly contractWallet: string | null
  readonly signerAddress: string
  readonly to: string | null
  readonly input: string
}

export type Unfinished = {
  readonly immortal: number
  /** The first block that could take any mortal transaction that is in no block; null if there is none. */
  readonly earliestBirth: bigint | null
}

export const readUnfinished = async (db: Queryable, network: Network): Promise<Unfinished> => {
  const [row] = await db
    .select({
      immortal: sql<number>`count(*) filter (where ${transactions.validUntilBlock} is null)::int`,
      earliestBirth: sql<
        bigint | null
      >`min(${transactions.bornAtBlock}) filter (where ${transactions.minedBlockHash} is null)`.mapWith(BigInt),
    })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished))
  return row ?? { immortal: 0, earliestBirth: null }
}

/** Mortal transactions that are in no block and that no block above this one can take. */
export const lapsedBy = async (
  db: Queryable,
  input: { readonly network: Network; readonly blockNumber: bigint; readonly limit: number },
): Promise<readonly { readonly transactionId: string }[]> =>
  db
    .select({ transactionId: transactions.id })
    .from(transactions)
    .where(
      and(
        eq(transactions.network, input.network),
        isUnfinished,
        isNotNull(transactions.validUntilBlock),
        lte(transactions.validUntilBlock, input.blockNumber),
        isNull(transactions.minedBlockHash),
      ),
    )
    .limit(input.limit)

/** Transactions mined up to a block without a result yet, after the first `offset`. Not cancels: these only become final. */
export const minedUnsettled = async (
  db: Queryable,
  input: { readonly network: Network; readonly upToBlock: bigint; readonly offset: number; readonly limit: number },
): Promise<readonly UnsettledRow[]> => {
  const rows = await db
    .select({
      transactionId: transactions.id,
      blockHash: transactions.minedBlockHash,
      hash: transactions.shownHash,
      kind: transactions.kind,
      contractWallet: transactions.contractWallet,
      signerAddress: transactions.signerAddress,
      to: transactions.to,
      // Only a contract wallet's inner calls are needed, to explain their failure.
      input: sql<string>`case when ${transactions.contractWallet} is null then '0x' else ${transactions.input} end`,
    })
    .from(transactions)
    .where(
      and(
        eq(transactions.network, input.network),
        isUnfinished,
        isNull(transactions.settledAt),
        isNotNull(transactions.minedBlockNumber),
        sql`not exists (
          select from ${attempts} attempt
          where attempt.network = ${transactions.network} and attempt.hash = ${transactions.shownHash} and attempt.kind <> 'rung')`,
        lte(transactions.minedBlockNumber, input.upToBlock),
      ),
    )
    .orderBy(asc(transactions.minedBlockNumber))
    .offset(input.offset)
    .limit(input.limit)
  return rows.flatMap(({ blockHash, hash, ...row }) =>
    blockHash === null || hash === null ? [] : [{ ...row, blockHash, hash }],
  )
}

export type FinalRow = Pick<TransactionRow, 'id' | 'projectId' | 'signerAddress' | 'nonce' | 'status' | 'errorCode'> & {
  readonly blockNumber: bigint
  readonly blockHash: string
}

/** Final transactions that used their nonce, highest blocks first. A scan. */
export const finalFromTheTop = async (
  db: Queryable,
  input: { readonly network: Network; readonly offset: number; readonly limit: number },
): Promise<readonly FinalRow[]> => {
  const rows = await db
    .select({
      id: transactions.id,
      projectId: transactions.projectId,
      signerAddress: transactions.signerAddress,
      nonce: transactions.nonce,
      status: transactions.status,
      errorCode: transactions.errorCode,
      blockNumber: transactions.minedBlockNumber,
      blockHash: transactions.minedBlockHash,
    })
    .from(transactions)
    .where(
      and(
        eq(transactions.network, input.network),
        transactions.final,
        transactions.holdsNonce,
        isNotNull(transactions.minedBlockNumber),
      ),
    )
    .orderBy(desc(transactions.minedBlockNumber), asc(transactions.nonce))
    .offset(input.offset)
    .limit(input.limit)
  return rows.flatMap(({ blockNumber, blockHash, ...row }) =>
    blockNumber === null || blockHash === null ? [] : [{ ...row, blockNumber, blockHash }],
  )
}

export const hashesOf = async (db: Queryable, transactionId: string): Promise<readonly string[]> => {
  const rows = await db.select({ hash: attempts.hash }).from(attempts).where(eq(attempts.transactionId, transactionId))
  return rows.map(({ hash }) => hash)
}

const asItWas = ({ id, blockHash }: Pick<FinalRow, 'id' | 'blockHash'>) =>
  and(eq(transactions.id, id), transactions.final, transactions.holdsNonce, eq(transactions.minedBlockHash, blockHash))

/** Marks a transaction as failed and frees its nonce. @returns false if it has changed since it was read. */
export const releaseLost = async (
  tx: Tx,
  row: Pick<FinalRow, 'id' | 'blockHash'>,
  failure: { readonly errorCode: string; readonly error: string },
): Promise<boolean> => {
  const rows = await tx
    .update(transactions)
    .set({
      ...failure,
      status: 'failed',
      holdsNonce: false,
      updatedAt: sql`now()`,
      minedBlockNumber: null,
      minedBlockHash: null,
      contractAddress: null,
    })
    .where(asItWas(row))
    .returning({ id: transactions.id })
  return rows.length === 1
}

/** Moves a transaction to another block, for the tracker to settle again. @returns false if it has changed since it was read. */
export const reopenMoved = async (
  tx: Tx,
  row: Pick<FinalRow, 'id' | 'blockHash'>,
  to: { readonly hash: string; readonly blockNumber: bigint; readonly blockHash: string },
): Promise<boolean> => {
  const rows = await tx
    .update(transactions)
    .set({
      status: 'pending',
      final: false,
      errorCode: null,
      error: null,
      settledAt: null,
      updatedAt: sql`now()`,
      shownHash: to.hash,
      minedBlockNumber: to.blockNumber,
      minedBlockHash: to.blockHash,
      contractAddress: null,
    })
    .where(asItWas(row))
    .returning({ id: transactions.id })
  return rows.length === 1
}

/** Signers, as the node counted in the last minute, with fewer transactions than their final nonces require. */
export const countedTooFew = async (
  db: Queryable,
  { network }: { readonly network: Network },
): Promise<readonly { readonly address: string; readonly counted: number; readonly nonce: number }[]> => {
  const { rows } = await db.execute<{ address: string; counted: number; nonce: number }>(sql`
    select signer.address, signer.mined_count::float8 as counted, ours.nonce::float8 as nonce
    from public.signers signer
    cross join lateral (
      select nonce from public.transactions
      where network = signer.network and signer_address = signer.address and holds_nonce and final
        and nonce >= signer.mined_count and valid_until_block is null
      order by nonce limit 1
    ) ours
    where signer.network = ${network} and signer.heard_at > now() - interval '1 minute'`)
  return rows
}
