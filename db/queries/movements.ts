import { and, asc, desc, eq, getTableColumns, gt, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
import { type Queryable, type Tx, violatedConstraint } from '../client.ts'
import { movements, transactions, wallets } from '../schema.ts'
import type { Network } from '../words.ts'
import type { Reach } from './wallets.ts'

export type MovementRow = typeof movements.$inferSelect

/** Some 7 MB of text in one message: all that the indexer writes at once. */
const ROWS_AN_INSERT = 20_000

/**
 * Inserts movements; one that exists stays as it is. That is rare, and `on conflict` takes a third longer, so it is used only
 * after a plain insert has failed.
 */
export const insertMovements = async (tx: Tx, rows: readonly MovementRow[]): Promise<void> => {
  for (let from = 0; from < rows.length; from += ROWS_AN_INSERT) {
    const some = rows.slice(from, from + ROWS_AN_INSERT)
    try {
      await tx.transaction((savepoint) => insertTogether(savepoint, some, sql``))
    } catch (error) {
      if (violatedConstraint(error) === null) throw error
      await insertTogether(tx, some, sql`on conflict do nothing`)
    }
  }
}

/**
 * A list for each column, in PostgreSQL's text of an array: a parameter for each value would cost three times as much. All
 * values are names, numbers and hex digits, of which none has to be quoted. Ordered by address, as rows that are neighbours
 * in the largest index are written into it a fifth faster one after the other.
 */
const insertTogether = async (tx: Queryable, rows: readonly MovementRow[], onConflict: SQL): Promise<void> => {
  const list = (of: (row: MovementRow) => string | number | bigint | null) =>
    `{${rows.map((row) => of(row) ?? 'null').join()}}`
  await tx.execute(sql`
    insert into ${movements} (id, network, address, direction, counterparty, standard, contract, token_id, amount,
      block_number, transaction_hash, log_index, item_index, at)
    select * from unnest(
      ${list(({ id }) => id)}::uuid[],
      ${list(({ network }) => network)}::text[],
      ${list(({ address }) => address)}::text[],
      ${list(({ direction }) => direction)}::text[],
      ${list(({ counterparty }) => counterparty)}::text[],
      ${list(({ standard }) => standard)}::text[],
      ${list(({ contract }) => contract)}::text[],
      ${list(({ tokenId }) => tokenId)}::numeric[],
      ${list(({ amount }) => amount)}::numeric[],
      ${list(({ blockNumber }) => blockNumber)}::bigint[],
      ${list(({ transactionHash }) => transactionHash)}::text[],
      ${list(({ logIndex }) => logIndex)}::integer[],
      ${list(({ itemIndex }) => itemIndex)}::integer[],
      ${list(({ at }) => at.toISOString())}::timestamptz[]
    ) as list (id, network, address)
    order by address
    ${onConflict}`)
}

/** Deletes the movements above a block, after a reorganisation. @returns how many. */
export const deleteMovementsAbove = async (
  tx: Tx,
  input: { readonly network: Network; readonly blockNumber: bigint },
): Promise<number> => {
  const { rowCount } = await tx
    .delete(movements)
    .where(and(eq(movements.network, input.network), gt(movements.blockNumber, input.blockNumber)))
  return rowCount ?? 0
}

type Page = { readonly limit: number; readonly offset: number }

/** A movement's place in the list of its address. */
type ListKey = Pick<MovementRow, 'blockNumber' | 'logIndex' | 'itemIndex' | 'id'>

/** null if the address has no such movement. */
export const findListKey = async (
  db: Queryable,
  input: { readonly network: Network; readonly address: string; readonly id: string },
): Promise<ListKey | null> => {
  // By its id alone: asked for all three, the planner would take the index of the address, and read all of its list.
  const [row] = await db.select().from(movements).where(eq(movements.id, input.id))
  return row?.network === input.network && row.address === input.address ? row : null
}

const NEWEST_FIRST = [
  desc(movements.blockNumber),
  desc(movements.logIndex),
  desc(movements.itemIndex),
  desc(movements.id),
]

const olderThan = ({ blockNumber, logIndex, itemIndex, id }: ListKey) =>
  sql`(${movements.blockNumber}, ${movements.logIndex}, ${movements.itemIndex}, ${movements.id})
    < (${blockNumber}::bigint, ${logIndex}::integer, ${itemIndex}::integer, ${id}::uuid)`

/**
 * What touched an address, newest first: the order of the index `movements_listed`. What lies before the page is passed in
 * that index alone, and only the page's own rows are read.
 * @param input.before only what is older than this.
 */
export const listMovements = async (
  db: Queryable,
  input: Page & { readonly network: Network; readonly address: string; readonly before: ListKey | null },
): Promise<readonly MovementRow[]> => {
  const { network, address, before, limit, offset } = input
  const older = before === null ? undefined : olderThan(before)
  const page = db
    .select({ id: movements.id })
    .from(movements)
    .where(and(eq(movements.network, network), eq(movements.address, address), older))
    .orderBy(...NEWEST_FIRST)
    .limit(limit)
    .offset(offset)
    .as('page')
  return db
    .select(getTableColumns(movements))
    .from(page)
    .innerJoin(movements, eq(movements.id, page.id))
    .orderBy(...NEWEST_FIRST)
}

/**
 * Contracts of fungible tokens that ever came in to an address, those that came last first. The index `movements_received`
 * is entered once a contract, at its last movement, so that it does not matter how often each came.
 */
export const contractsReceived = async (
  db: Queryable,
  input: { readonly network: Network; readonly address: string; readonly limit: number },
): Promise<readonly string[]> => {
  const { network, address, limit } = input
  const last = (below: SQL) => sql`
    select contract, block_number from movements
    where network = ${network} and address = ${address} and direction = 'in' and token_id is null
      and contract is not null ${below}
    order by contract desc, block_number desc limit 1`
  const { rows } = await db.execute<{ contract: string }>(sql`
    with recursive received as (
      (${last(sql``)})
      union all
      select next.* from received, lateral (${last(sql`and contract < received.contract`)}) as next
    )
    select contract from received order by block_number desc, contract limit ${limit}`)
  return rows.map((row) => row.contract)
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

/** The amount that came in and has not gone out. */
const held = sql`sum(case ${movements.direction} when 'in' then ${movements.amount} else -${movements.amount} end) > 0`

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

/** The NFTs of a contract that are in wallets within reach, by token id and address. */
export const holdingsOfContract = async (
  db: Queryable,
  input: Page & Reach & { readonly network: Network; readonly contract: string },
): Promise<readonly HoldingRow[]> => {
  const rows = await db
    .select({ address: movements.address, contract: movements.contract, tokenId: movements.tokenId })
    .from(movements)
    .innerJoin(
      wallets,
      and(
        eq(wallets.projectId, input.projectId),
        input.ownedBy === null ? undefined : eq(wallets.ownerId, input.ownedBy),
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
