import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { createdTokens, listedTokens, transactions } from '../schema.ts'
import type { Network } from '../words.ts'

export type ListedTokenRow = Omit<typeof listedTokens.$inferInsert, 'listName' | 'importedAt' | 'displayDecimals'> & {
  readonly displayDecimals: number | null
}

/** 7 values each, of the 65,535 that one statement can have. */
const ROWS_A_STATEMENT = 2_000

/** Replaces the list of this name. A token that is also on another list moves to this one. */
export const replaceTokenList = async (
  tx: Tx,
  input: { readonly listName: string; readonly tokens: readonly ListedTokenRow[] },
): Promise<void> => {
  const { listName, tokens } = input
  // One at a time, to avoid deadlocks.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('listed_tokens'))`)
  await deleteTokenList(tx, listName)
  for (let from = 0; from < tokens.length; from += ROWS_A_STATEMENT) {
    const rows = tokens.slice(from, from + ROWS_A_STATEMENT)
    for (const network of new Set(rows.map((row) => row.network))) {
      const addresses = rows.filter((row) => row.network === network).map((row) => row.address)
      await tx
        .delete(listedTokens)
        .where(and(eq(listedTokens.network, network), inArray(listedTokens.address, addresses)))
    }
    await tx.insert(listedTokens).values(rows.map((row) => ({ ...row, listName })))
  }
}

/** @returns the number of tokens that were deleted. */
export const deleteTokenList = async (db: Queryable, listName: string): Promise<number> =>
  (await db.delete(listedTokens).where(eq(listedTokens.listName, listName))).rowCount ?? 0

/** One row for each list, oldest first. */
export const readTokenLists = async (db: Queryable) =>
  db
    .select({
      name: listedTokens.listName,
      tokens: sql<number>`count(*)::int`,
      importedAt: sql<Date>`min(${listedTokens.importedAt})`.mapWith(listedTokens.importedAt),
    })
    .from(listedTokens)
    .groupBy(listedTokens.listName)
    .orderBy(sql`3`, listedTokens.listName)

type TokenDisplayRow = {
  readonly address: string
  readonly logoUrl: string
  readonly displayDecimals: number | null
  /** Whether the project created it; a list knows nothing of it. */
  readonly isCreated: boolean
}

/**
 * How those of these tokens that are listed are shown, and after them those that a project created.
 * @param input.projectId null: only listed ones
 */
export const readTokenDisplays = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[]; readonly projectId: string | null },
): Promise<readonly TokenDisplayRow[]> => {
  if (input.addresses.length === 0) return []
  const { network, projectId } = input
  const addresses = [...input.addresses]
  const listed = db
    .select({
      address: sql<string>`${listedTokens.address}`.as('address'),
      logoUrl: sql<string>`${listedTokens.logoUrl}`.as('logo_url'),
      displayDecimals: sql<number | null>`${listedTokens.displayDecimals}`.as('display_decimals'),
      isCreated: sql<boolean>`false`.as('is_created'),
    })
    .from(listedTokens)
    .where(and(eq(listedTokens.network, network), inArray(listedTokens.address, addresses)))
  if (projectId === null) return listed
  const created = db
    .select({
      address: sql<string>`${transactions.contractAddress}`.as('address'),
      logoUrl: sql<string>`${createdTokens.logoUrl}`.as('logo_url'),
      displayDecimals: sql<number | null>`null::smallint`.as('display_decimals'),
      isCreated: sql<boolean>`true`.as('is_created'),
    })
    .from(transactions)
    .innerJoin(createdTokens, eq(createdTokens.transactionId, transactions.id))
    .where(
      and(
        eq(transactions.network, network),
        inArray(transactions.contractAddress, addresses),
        eq(transactions.status, 'success'),
        eq(createdTokens.projectId, projectId),
      ),
    )
  return listed.unionAll(created).orderBy(sql`is_created`)
}

/** Addresses of a network's listed tokens, in alphabetical order. */
export const listedAddresses = async (
  db: Queryable,
  input: { readonly network: Network; readonly limit: number },
): Promise<readonly string[]> => {
  const rows = await db
    .select({ address: listedTokens.address })
    .from(listedTokens)
    .where(eq(listedTokens.network, input.network))
    .orderBy(listedTokens.address)
    .limit(input.limit)
  return rows.map((row) => row.address)
}

/** Records the logo that a transaction creates a token with. */
export const insertCreatedToken = async (db: Queryable, row: typeof createdTokens.$inferInsert): Promise<void> => {
  await db.insert(createdTokens).values(row)
}
