// What was final, for operators who must find out whether it still is.

import { and, asc, desc, eq, isNotNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { attempts, transactions } from '../schema.ts'
import type { Network } from '../words.ts'
import type { TransactionRow } from './transactions.ts'

export type FinalRow = Pick<TransactionRow, 'id' | 'projectId' | 'signerAddress' | 'nonce' | 'status' | 'errorCode'> & {
  readonly blockNumber: bigint
  readonly blockHash: string
}

/** What was told for good and used its nonce, the highest blocks first. A scan. */
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

/** It is on no chain: it failed, and its nonce is free. @returns whether it was still as it was read. */
export const releaseLost = async (
  tx: Tx,
  row: Pick<FinalRow, 'id' | 'blockHash'>,
  failure: { readonly errorCode: string; readonly error: string },
): Promise<boolean> => {
  const rows = await tx
    .update(transactions)
    .set({
      ...{ ...failure, status: 'failed', holdsNonce: false, updatedAt: sql`now()` },
      ...{ minedBlockNumber: null, minedBlockHash: null, contractAddress: null },
    })
    .where(asItWas(row))
    .returning({ id: transactions.id })
  return rows.length === 1
}

/** It is in another block: the tracker tells it anew from there. @returns whether it was still as it was read. */
export const reopenMoved = async (
  tx: Tx,
  row: Pick<FinalRow, 'id' | 'blockHash'>,
  to: { readonly hash: string; readonly blockNumber: bigint; readonly blockHash: string },
): Promise<boolean> => {
  const rows = await tx
    .update(transactions)
    .set({
      ...{ status: 'pending', final: false, errorCode: null, error: null, settledAt: null, updatedAt: sql`now()` },
      ...{ shownHash: to.hash, minedBlockNumber: to.blockNumber, minedBlockHash: to.blockHash, contractAddress: null },
    })
    .where(asItWas(row))
    .returning({ id: transactions.id })
  return rows.length === 1
}

/** Signers that were heard of in the last minute, of which the chain counts no more than a nonce that was final. */
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
