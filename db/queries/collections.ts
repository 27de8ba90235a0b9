import { and, asc, eq, getTableColumns, inArray, type SQL } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { eqIfGiven } from '../rows.ts'
import { collections, transactions } from '../schema.ts'
import type { Network } from '../words.ts'
import { isWithinReach } from './transactions.ts'
import type { Page, Reach } from './wallets.ts'

export const insertCollection = async (db: Queryable, row: typeof collections.$inferInsert) => {
  await db.insert(collections).values(row)
}

const { network, name, symbol, imageUrl } = getTableColumns(collections)

/** Collections that are on the chain, with their addresses. The caller adds the conditions. */
const created = (db: Queryable, ...conditions: readonly (SQL | undefined)[]) =>
  db
    .select({ network, contractAddress: transactions.contractAddress, name, symbol, imageUrl })
    .from(collections)
    .innerJoin(transactions, eq(transactions.id, collections.transactionId))
    .where(and(...conditions, eq(transactions.status, 'success')))

/** The address is never null in a list. */
export type CollectionRow = Awaited<ReturnType<typeof created>>[number]

export const collectionsOfWallet = (
  db: Queryable,
  input: Pick<typeof collections.$inferSelect, 'projectId' | 'network' | 'ownerAddress'> & Page,
): Promise<readonly CollectionRow[]> =>
  created(
    db,
    eq(collections.projectId, input.projectId),
    eq(network, input.network),
    eq(collections.ownerAddress, input.ownerAddress),
  )
    .orderBy(asc(collections.createdAt), asc(collections.transactionId))
    .limit(input.limit)
    .offset(input.offset)

export const collectionsAt = async (
  db: Queryable,
  input: Reach & { readonly network?: Network | undefined; readonly contractAddress: string },
): Promise<readonly CollectionRow[]> =>
  created(
    db,
    // Implied by the reach; repeated so that the index is used.
    eq(collections.projectId, input.projectId),
    isWithinReach(input),
    eqIfGiven(network, input.network),
    eq(transactions.contractAddress, input.contractAddress),
  )

/** The names of collections that were created here by any project, by address. */
export const readCollectionNames = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[] },
): Promise<ReadonlyMap<string, Pick<CollectionRow, 'name' | 'symbol'>>> => {
  if (input.addresses.length === 0) return new Map()
  const isAmong = inArray(transactions.contractAddress, [...input.addresses])
  const rows = await created(db, eq(transactions.network, input.network), isAmong).orderBy(asc(collections.createdAt))
  return new Map(rows.map((row) => [row.contractAddress ?? '', { name: row.name, symbol: row.symbol }]))
}
