import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { collections, transactions } from '../schema.ts'
import type { Network } from '../words.ts'
import type { Reach } from './wallets.ts'

/** Records what a collection was created with, beside the transaction that creates it. */
export const insertCollection = async (db: Queryable, row: typeof collections.$inferInsert): Promise<void> => {
  await db.insert(collections).values(row)
}

export type CollectionRow = {
  readonly network: Network
  /** null is none that is listed. */
  readonly contractAddress: string | null
  readonly name: string
  readonly symbol: string
  readonly imageUrl: string
}

const SHOWN = {
  network: collections.network,
  contractAddress: transactions.contractAddress,
  name: collections.name,
  symbol: collections.symbol,
  imageUrl: collections.imageUrl,
}

/** Collections that a wallet of a project created and that are on the chain, oldest first. */
export const collectionsOfWallet = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly network: Network
    readonly ownerAddress: string
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly CollectionRow[]> =>
  db
    .select(SHOWN)
    .from(collections)
    .innerJoin(transactions, eq(transactions.id, collections.transactionId))
    .where(
      and(
        eq(collections.projectId, input.projectId),
        eq(collections.network, input.network),
        eq(collections.ownerAddress, input.ownerAddress),
        eq(transactions.status, 'success'),
      ),
    )
    .orderBy(asc(collections.createdAt), asc(collections.transactionId))
    .limit(input.limit)
    .offset(input.offset)

/** Those that wallets within reach created at an address, of one network or of all. */
export const collectionsAt = async (
  db: Queryable,
  input: Reach & { readonly network?: Network | undefined; readonly contractAddress: string },
): Promise<readonly CollectionRow[]> =>
  db
    .select(SHOWN)
    .from(collections)
    .innerJoin(transactions, eq(transactions.id, collections.transactionId))
    .where(
      and(
        eq(collections.projectId, input.projectId),
        input.ownedBy === null
          ? undefined
          : sql`exists (select from public.wallets w where w.id = ${transactions.walletId} and w.owner_id = ${input.ownedBy})`,
        input.network === undefined ? undefined : eq(collections.network, input.network),
        eq(transactions.contractAddress, input.contractAddress),
        eq(transactions.status, 'success'),
      ),
    )

/** What collections that were created here were named, by address, whosever they are. */
export const readCollectionNames = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[] },
): Promise<ReadonlyMap<string, Pick<CollectionRow, 'name' | 'symbol'>>> => {
  if (input.addresses.length === 0) return new Map()
  const rows = await db
    .select({ address: transactions.contractAddress, name: collections.name, symbol: collections.symbol })
    .from(collections)
    .innerJoin(transactions, eq(transactions.id, collections.transactionId))
    .where(
      and(
        eq(transactions.network, input.network),
        inArray(transactions.contractAddress, [...input.addresses]),
        eq(transactions.status, 'success'),
      ),
    )
    .orderBy(asc(collections.createdAt))
  return new Map(rows.flatMap(({ address, ...names }) => (address === null ? [] : [[address, names] as const])))
}
