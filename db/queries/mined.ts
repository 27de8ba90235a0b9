// Transactions and their blocks, for the tracker; and final ones, for the repair after a deep reorganisation.

import { and, asc, desc, eq, gt, isNotNull, isNull, lte, ne, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { type Given, prepare, type Writer } from '../prepare.ts'
import { pickColumns, readRows } from '../rows.ts'
import { ladders, transactions } from '../schema.ts'
import type { FailureCode, Network } from '../words.ts'
import { attemptsWith, hexOf } from './attempts.ts'
import { isUnfinished, type TransactionRow } from './transactions.ts'
import type { Page } from './wallets.ts'

const { id, minedBlockNumber, minedBlockHash } = transactions

/** What is mined has both. */
const isMined = and(isNotNull(minedBlockNumber), isNotNull(minedBlockHash))
const isShown = isNotNull(transactions.shownHash)

export type MinedIn = { readonly transactionId: string; readonly blockHash: string }

type At = { readonly network: Network; readonly blockNumber: bigint }

const inBlock = (db: Writer, network: Placeholder, where: SQL | undefined) =>
  db
    .select({ transactionId: id, blockHash: sql<string>`${minedBlockHash}` })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished, isMined, where))
    .orderBy(asc(minedBlockNumber))

export const minedAbove = prepare((db, { network, blockNumber }: Given<At>) =>
  inBlock(db, network, gt(minedBlockNumber, blockNumber)),
)

export const minedBeside = prepare(
  (db, { network, blockNumber, blockHash }: Given<At & { readonly blockHash: string }>) =>
    inBlock(db, network, and(eq(minedBlockNumber, blockNumber), ne(minedBlockHash, blockHash))),
)

export type UnsettledRow = MinedIn &
  Pick<TransactionRow, 'kind' | 'contractWallet' | 'signerAddress' | 'to' | 'input'> & {
    /** The attempt that was mined. */
    readonly hash: string
  }

export type FinalCandidate = UnsettledRow & Pick<TransactionRow, 'status'>

/** Only a contract wallet's inner calls are needed, to explain their failure. */
const innerCalls = sql<string>`case when ${transactions.contractWallet} is null then '0x' else ${transactions.input} end`

const SETTLED_WITH = {
  transactionId: id,
  blockHash: sql<string>`${minedBlockHash}`,
  hash: sql<string>`${transactions.shownHash}`,
  ...pickColumns(transactions, 'kind', 'contractWallet', 'signerAddress', 'to'),
  input: innerCalls,
}

/** An attempt of an unfinished transaction. */
export type Attempted = Omit<UnsettledRow, 'blockHash'> & {
  /** It takes the nonce without doing what was intended. */
  readonly isCancel: boolean
}

/** The attempts of unfinished transactions with these hashes. */
export const findAttempts = async (
  db: Queryable,
  input: { readonly network: Network; readonly hashes: readonly string[] },
): Promise<readonly Attempted[]> =>
  input.hashes.length === 0
    ? []
    : readRows<Attempted>(db)`
        select ${hexOf(sql`asked.hash`)} as hash, transactions.id as "transactionId", kind,
          contract_wallet as "contractWallet", signer_address as "signerAddress", "to", ${innerCalls} as input,
          array_position(found.hashes, asked.hash) > rungs as "isCancel"
        from ${attemptsWith(input)} join public.transactions
          on transactions.id = found.transaction_id and not final`

/** Transactions mined up to this block that are not final yet, oldest blocks first. */
export const minedUpTo = prepare((db, { network, blockNumber }: Given<At>) =>
  db
    .select({ ...SETTLED_WITH, status: transactions.status })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished, lte(minedBlockNumber, blockNumber), isMined, isShown))
    .orderBy(asc(minedBlockNumber)),
)

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
      >`min(${transactions.bornAtBlock}) filter (where ${minedBlockHash} is null)`.mapWith(BigInt),
    })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished))
  return row ?? { immortal: 0, earliestBirth: null }
}

/** Mortal transactions that are in no block and that no block above this one can take. */
export const listLapsed = prepare((db, { network, blockNumber, limit }: Given<At & { readonly limit: number }>) => {
  const hasLapsed = and(isNotNull(transactions.validUntilBlock), lte(transactions.validUntilBlock, blockNumber))
  return db
    .select({ transactionId: id })
    .from(transactions)
    .where(and(eq(transactions.network, network), isUnfinished, hasLapsed, isNull(minedBlockHash)))
    .limit(limit)
})

type UnsettledPage = Page & { readonly network: Network; readonly upToBlock: bigint }

/** Transactions mined up to a block without a result yet, but no cancels: these only become final. */
export const minedUnsettled = prepare((db, { network, upToBlock, offset, limit }: Given<UnsettledPage>) => {
  const isNoCancel = sql`not exists (
    select from ${ladders} ladder
    where ladder.transaction_id = ${id}
      and ${transactions.shownHash} in (
        select ${hexOf(sql`later.hash`)} from unnest(ladder.hashes[${transactions.rungs} + 1:]) later(hash)))`
  return db
    .select(SETTLED_WITH)
    .from(transactions)
    .where(
      and(
        eq(transactions.network, network),
        isUnfinished,
        isNull(transactions.settledAt),
        lte(minedBlockNumber, upToBlock),
        isMined,
        isShown,
        isNoCancel,
      ),
    )
    .orderBy(asc(minedBlockNumber))
    .offset(offset)
    .limit(limit)
})

export type FinalRow = Pick<TransactionRow, 'id' | 'projectId' | 'signerAddress' | 'nonce' | 'status' | 'errorCode'> & {
  readonly blockNumber: bigint
  readonly blockHash: string
}

/** Final transactions that used their nonce, highest blocks first. A scan. */
export const finalFromTheTop = async (
  db: Queryable,
  input: Page & { readonly network: Network },
): Promise<readonly FinalRow[]> => {
  const { network, nonce, final, holdsNonce } = transactions
  const blockNumber = sql<bigint>`${minedBlockNumber}`.mapWith(minedBlockNumber)
  const columns = pickColumns(transactions, 'id', 'projectId', 'signerAddress', 'nonce', 'status', 'errorCode')
  return db
    .select({ ...columns, blockNumber, blockHash: sql<string>`${minedBlockHash}` })
    .from(transactions)
    .where(and(eq(network, input.network), final, holdsNonce, isMined))
    .orderBy(desc(minedBlockNumber), asc(nonce))
    .offset(input.offset)
    .limit(input.limit)
}

type WasFinal = Pick<FinalRow, 'id' | 'blockHash'>

/** A final transaction as it was read. */
const isStill = (row: WasFinal) =>
  and(eq(id, row.id), transactions.final, transactions.holdsNonce, eq(minedBlockHash, row.blockHash))

/** Marks a transaction as failed and frees its nonce. @returns false if it has changed since it was read. */
export const releaseLost = async (
  tx: Tx,
  row: WasFinal,
  failure: { readonly errorCode: FailureCode; readonly error: string },
) => {
  const { rowCount } = await tx
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
    .where(isStill(row))
  return rowCount === 1
}

/** The tracker settles the transaction again. @returns false if it has changed since it was read. */
export const reopenMoved = async (
  tx: Tx,
  row: WasFinal,
  to: { readonly hash: string; readonly blockNumber: bigint; readonly blockHash: string },
) => {
  const { rowCount } = await tx
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
    .where(isStill(row))
  return rowCount === 1
}

/** Signers, as the node counted in the last minute, with fewer transactions than their final nonces require. */
export const countedTooFew = (
  db: Queryable,
  { network }: { readonly network: Network },
): Promise<readonly { readonly address: string; readonly counted: number; readonly nonce: number }[]> =>
  readRows<{ address: string; counted: number; nonce: number }>(db)`
    select signer.address, signer.mined_count::float8 as counted, ours.nonce::float8 as nonce
    from public.signers signer
    cross join lateral (
      select nonce from public.transactions
      where network = signer.network and signer_address = signer.address and holds_nonce and final
        and nonce >= signer.mined_count and valid_until_block is null
      order by nonce limit 1
    ) ours
    where signer.network = ${network} and signer.heard_at > now() - interval '1 minute'`
