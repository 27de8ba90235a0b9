import { and, asc, desc, eq, getTableColumns, gt, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { holdings, movements, transactions, wallets } from '../schema.ts'
import { violatedConstraint } from '../trouble.ts'
import type { Network } from '../words.ts'
import { type Page, type Reach, within } from './wallets.ts'

export type MovementRow = typeof movements.$inferSelect

/** About 2 MB of text in one message. */
const ROWS_AN_INSERT = 5_000
/** So many are written before PostgreSQL gets them. */
const ROWS_AT_ONCE = 1_000

const COLUMNS = Object.entries(getTableColumns(movements)).map(([key, column]) => ({
  key: key as keyof MovementRow,
  name: column.name,
  /** Without precision, which the insert checks. */
  type: column.getSQLType().replace(/ ?\(.*\)/, ''),
}))
const NAMES = COLUMNS.map(({ name }) => name).join(', ')

/** Inserts what does not exist yet. COPY comes first: it takes a third less time, and knows no `on conflict`. */
export const insertMovements = async (tx: Tx, rows: readonly MovementRow[]) => {
  if (rows.length === 0) return
  try {
    await tx.transaction(() => tx.copy({ text: `copy movements (${NAMES}) from stdin`, lines: copiedLines(rows) }))
  } catch (error) {
    if (violatedConstraint(error) === null) throw error
    await insertMissing(tx, rows)
  }
}

const valueText = (value: MovementRow[keyof MovementRow], whenNull: string): string =>
  value === null ? whenNull : value instanceof Date ? value.toISOString() : String(value)

/**
 * All values are names, numbers and hex digits, which need no quotes. Ordered by address, because neighbours in the
 * largest index are inserted a fifth faster one after the other.
 */
function* copiedLines(rows: readonly MovementRow[]) {
  const ordered = rows.toSorted((a, b) => (a.address < b.address ? -1 : Number(a.address > b.address)))
  for (let from = 0; from < ordered.length; from += ROWS_AT_ONCE) {
    yield ordered
      .slice(from, from + ROWS_AT_ONCE)
      .map((row) => `${COLUMNS.map(({ key }) => valueText(row[key], '\\N')).join('\t')}\n`)
      .join('')
  }
}

/** One list for each column, as PostgreSQL writes an array. */
const insertMissing = async (tx: Tx, rows: readonly MovementRow[]) => {
  for (let from = 0; from < rows.length; from += ROWS_AN_INSERT) {
    const some = rows.slice(from, from + ROWS_AN_INSERT)
    const lists = COLUMNS.map(
      ({ key, type }) => sql`${`{${some.map((row) => valueText(row[key], 'null')).join()}}`}::${sql.raw(type)}[]`,
    )
    await tx.execute(sql`
      insert into ${movements} (${sql.raw(NAMES)})
      select * from unnest(${sql.join(lists, sql`, `)})
      on conflict do nothing`)
  }
}

/** Deletes the movements above a block, after a reorganisation. @returns how many. */
export const deleteMovementsAbove = async (
  tx: Tx,
  input: { readonly network: Network; readonly blockNumber: bigint },
) => {
  const { rowCount } = await tx
    .delete(movements)
    .where(and(eq(movements.network, input.network), gt(movements.blockNumber, input.blockNumber)))
  return rowCount ?? 0
}

/** Marks what was stored of an address while it was a stranger's. The indexer's cursor must be locked. */
export const claimMovements = async (tx: Tx, input: { readonly network: Network; readonly address: string }) => {
  await tx
    .update(movements)
    .set({ ofWallet: true })
    .where(
      and(eq(movements.network, input.network), eq(movements.address, input.address), sql`not ${movements.ofWallet}`),
    )
}

/** A movement's place in the list of its address. */
type ListKey = Pick<MovementRow, 'blockNumber' | 'logIndex' | 'itemIndex' | 'id'>

/** null if the address has no such movement. */
export const findListKey = async (
  db: Queryable,
  input: { readonly network: Network; readonly address: string; readonly id: string },
): Promise<ListKey | null> => {
  // By its id alone: with all three conditions the planner would read the whole list of the address.
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
 * The movements of an address, newest first, which is the order of the index `movements_listed`. Earlier pages are
 * skipped in the index, and only the rows of this page are read from the table.
 * @param input.before only movements older than this one.
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
 * The contracts of fungible tokens that an address has received, the latest first. Each contract is one step in the
 * index `movements_received`, to its last movement, so the number of movements does not matter.
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

export const createdCollectionsAmong = async (
  db: Queryable,
  input: { readonly network: Network; readonly contracts: readonly string[] },
): Promise<ReadonlySet<string>> => {
  if (input.contracts.length === 0) return new Set()
  const { network, kind, contractAddress } = transactions
  const isAmong = and(isNotNull(contractAddress), inArray(contractAddress, [...input.contracts]))
  const rows = await db
    .selectDistinct({ address: contractAddress })
    .from(transactions)
    .where(and(eq(network, input.network), eq(kind, 'collection'), isAmong))
  return new Set(rows.flatMap((row) => row.address ?? []))
}

/** An NFT, or one id of a multi-token. */
export type HoldingRow = { readonly address: string; readonly contract: string; readonly tokenId: bigint }

const { network, address, contract, tokenId } = holdings
const HOLDING = { address, contract, tokenId }

/** Not if more went out than came in, as far as is known. */
const isHeld = gt(holdings.amount, '0')

/** The NFTs of an address, by contract and token id. @param input.after only those that come after this one. */
export const holdingsOfAddress = async (
  db: Queryable,
  input: Page & { readonly network: Network; readonly address: string; readonly after: HoldingRow | null },
): Promise<readonly HoldingRow[]> => {
  const { after } = input
  const isAfter =
    after === null ? undefined : sql`(${contract}, ${tokenId}) > (${after.contract}, ${after.tokenId}::numeric)`
  return db
    .select(HOLDING)
    .from(holdings)
    .where(and(eq(network, input.network), eq(address, input.address), isHeld, isAfter))
    .orderBy(asc(contract), asc(tokenId))
    .limit(input.limit)
    .offset(input.offset)
}

/** A contract's NFTs in wallets within reach, by token id and address. @param input.after the last one of a page. */
export const holdingsOfContract = async (
  db: Queryable,
  input: Page & Reach & { readonly network: Network; readonly contract: string; readonly after: HoldingRow | null },
): Promise<readonly HoldingRow[]> => {
  const { after } = input
  const isOfWallet = and(within(input), eq(wallets.network, network), eq(wallets.address, address))
  const isAfter =
    after === null ? undefined : sql`(${tokenId}, ${address}) > (${after.tokenId}::numeric, ${after.address})`
  return db
    .select(HOLDING)
    .from(holdings)
    .innerJoin(wallets, isOfWallet)
    .where(and(eq(network, input.network), eq(contract, input.contract), isHeld, isAfter))
    .orderBy(asc(tokenId), asc(address))
    .limit(input.limit)
    .offset(input.offset)
}
