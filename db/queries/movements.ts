import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { movements, transactions, wallets } from '../schema.ts'
import type { Network } from '../words.ts'

export type MovementRow = typeof movements.$inferSelect

/** 14 values each, of the 65,535 that one statement can have. */
const ROWS_AN_INSERT = 1_000

/** A movement that is already there stays as it is. */
export const insertMovements = async (tx: Tx, rows: readonly MovementRow[]): Promise<void> => {
  for (let from = 0; from < rows.length; from += ROWS_AN_INSERT) {
    await tx
      .insert(movements)
      .values(rows.slice(from, from + ROWS_AN_INSERT))
      .onConflictDoNothing()
  }
}

/** Blocks above this are no longer the chain's. @returns how many movements went with them. */
export const deleteMovementsAbove = async (
  tx: Tx,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<number> => {
  const { count } = await tx
    .delete(movements)
    .where(and(eq(movements.network, input.network), gt(movements.blockNumber, input.blockNumber)))
  return count
}

/** What touched an address, newest first: the order of the index `movements_listed`, which is all that is read. */
export const listMovements = async (
  db: Queryable,
  input: { readonly network: Network; readonly address: string; readonly limit: number; readonly offset: number },
): Promise<readonly MovementRow[]> =>
  db
    .select()
    .from(movements)
    .where(and(eq(movements.network, input.network), eq(movements.address, input.address)))
    .orderBy(desc(movements.blockNumber), desc(movements.logIndex), desc(movements.itemIndex), desc(movements.id))
    .limit(input.limit)
    .offset(input.offset)

/** Contracts of fungible tokens that ever came in to an address, those that came last first. */
export const contractsReceived = async (
  db: Queryable,
  input: { readonly network: Network; readonly address: string; readonly limit: number },
): Promise<readonly string[]> => {
  const rows = await db
    .select({ contract: movements.contract })
    .from(movements)
    .where(
      and(
        eq(movements.network, input.network),
        eq(movements.address, input.address),
        eq(movements.direction, 'in'),
        isNull(movements.tokenId),
        isNotNull(movements.contract),
      ),
    )
    .groupBy(movements.contract)
    .orderBy(desc(sql`max(${movements.blockNumber})`), asc(movements.contract))
    .limit(input.limit)
  return rows.flatMap((row) => row.contract ?? [])
}

/** Which of these contracts are collections that were created here, by any project. */
export const createdCollectionsAmong = async (
  db: Queryable,
  input: { readonly network: Network; readonly contracts: readonly string[] },
): Promise<ReadonlySet<string>> => {
  if (input.contracts.length === 0) return new Set()
  const rows = await db
    .selectDistinct({ address: transactions.contractAddress })
    .from(transactions)
    .where(
      and(
        eq(transactions.network, input.network),
        eq(transactions.kind, 'collection'),
        isNotNull(transactions.contractAddress),
        inArray(transactions.contractAddress, [...input.contracts]),
      ),
    )
  return new Set(rows.flatMap((row) => row.address ?? []))
}

/** One token, or one id of a multi-token, in the hands of one address. */
export type HoldingRow = { readonly address: string; readonly contract: string; readonly tokenId: bigint }

/** What came in and has not gone out again. */
const held = sql`sum(case ${movements.direction} when 'in' then ${movements.amount} else -${movements.amount} end) > 0`

type Page = { readonly limit: number; readonly offset: number }

/** The NFTs of an address, by contract and token id. */
export const holdingsOfAddress = async (
  db: Queryable,
  input: Page & { readonly network: Network; readonly address: string },
): Promise<readonly HoldingRow[]> => {
  const rows = await db
    .select({ address: movements.address, contract: movements.contract, tokenId: movements.tokenId })
    .from(movements)
    .where(
      and(eq(movements.network, input.network), eq(movements.address, input.address), isNotNull(movements.tokenId)),
    )
    .groupBy(movements.address, movements.contract, movements.tokenId)
    .having(held)
    .orderBy(asc(movements.contract), asc(movements.tokenId))
    .limit(input.limit)
    .offset(input.offset)
  return rows.flatMap(complete)
}

/** The NFTs of a contract that are in wallets of a project, by token id and address. */
export const holdingsOfContract = async (
  db: Queryable,
  input: Page & { readonly network: Network; readonly contract: string; readonly projectId: string },
): Promise<readonly HoldingRow[]> => {
  const rows = await db
    .select({ address: movements.address, contract: movements.contract, tokenId: movements.tokenId })
    .from(movements)
    .innerJoin(
      wallets,
      and(
        eq(wallets.projectId, input.projectId),
        eq(wallets.network, movements.network),
        eq(wallets.address, movements.address),
      ),
    )
    .where(
      and(eq(movements.network, input.network), eq(movements.contract, input.contract), isNotNull(movements.tokenId)),
    )
    .groupBy(movements.contract, movements.tokenId, movements.address)
    .having(held)
    .orderBy(asc(movements.tokenId), asc(movements.address))
    .limit(input.limit)
    .offset(input.offset)
  return rows.flatMap(complete)
}

const complete = (row: {
  readonly address: string
  readonly contract: string | null
  readonly tokenId: bigint | null
}): readonly HoldingRow[] =>
  row.contract === null || row.tokenId === null
    ? []
    : [{ address: row.address, contract: row.contract, tokenId: row.tokenId }]
