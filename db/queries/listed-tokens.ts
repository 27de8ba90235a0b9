import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { createdTokens, listedTokens, transactions } from '../schema.ts'
import type { Network } from '../words.ts'
import { readRemoved } from './audit-rows.ts'

type StoredToken = typeof listedTokens.$inferSelect
/** What the MAC of a listed token covers. */
export type ListedTokenFacts = Omit<StoredToken, 'importedAt' | 'mac'>
export type ListedTokenRow = Omit<ListedTokenFacts, 'listName'>

/** 8 values each, of the 65,535 that one statement can have. */
const ROWS_A_STATEMENT = 2_000

/** Replaces the list of this name. A token that is also on another list moves to this one. */
export const replaceTokenList = async (
  tx: Tx,
  input: { readonly listName: string; readonly tokens: readonly Omit<StoredToken, 'importedAt'>[] },
) => {
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
    await tx.insert(listedTokens).values(rows)
  }
}

export const deleteTokenList = async (db: Queryable, listName: string) =>
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
  /** As the list has it; null: the project created it, and a list knows nothing of it. */
  readonly listed: StoredToken | null
}

export const allListedTokens = (db: Queryable): Promise<readonly StoredToken[]> =>
  db.select().from(listedTokens).orderBy(listedTokens.network, listedTokens.address)

export const removedTokenLists = (db: Queryable) =>
  readRemoved(db, { added: 'token_list_imported', removed: 'token_list_removed' })

/** Listed tokens, and then those that the project created. @param input.projectId null: only listed ones. */
export const readTokenDisplays = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[]; readonly projectId: string | null },
): Promise<readonly TokenDisplayRow[]> => {
  if (input.addresses.length === 0) return []
  const { network, projectId } = input
  const addresses = [...input.addresses]
  const listing = db
    .select()
    .from(listedTokens)
    .where(and(eq(listedTokens.network, network), inArray(listedTokens.address, addresses)))
  if (projectId === null) return (await listing).map((row) => ({ ...row, listed: row }))
  const creating = db
    .select({ address: sql<string>`${transactions.contractAddress}`, logoUrl: createdTokens.logoUrl })
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
  const [listed, created] = await Promise.all([listing, creating])
  return [
    ...listed.map((row) => ({ ...row, listed: row })),
    ...created.map((row) => ({ ...row, displayDecimals: null, listed: null })),
  ]
}

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

export const insertCreatedToken = async (db: Queryable, row: typeof createdTokens.$inferInsert) => {
  await db.insert(createdTokens).values(row)
}
