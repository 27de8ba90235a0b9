import { and, asc, eq, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { abiItems } from '../schema.ts'
import type { AbiItemKind, Network } from '../words.ts'
import { readRemoved } from './audit-rows.ts'

type AbiItemRow = typeof abiItems.$inferSelect

export type AbiItemFacts = Pick<
  AbiItemRow,
  'abiName' | 'network' | 'address' | 'kind' | 'selector' | 'signature' | 'item'
>
type StoredAbiItem = AbiItemFacts & Pick<AbiItemRow, 'mac'>

/** null: for every contract. */
export type AbiBinding = { readonly network: Network; readonly address: string } | null

const withSelectorsOf = async (
  db: Db,
  name: string,
  { kind, selectors }: { readonly kind: AbiItemKind; readonly selectors: readonly string[] },
): Promise<readonly string[]> => {
  const isNamed = eq(sql`split_part(${abiItems.signature}, '(', 1)`, name)
  const rows = await db
    .selectDistinct({ selector: abiItems.selector })
    .from(abiItems)
    .where(and(eq(abiItems.kind, kind), isNamed))
  return [...new Set([...selectors, ...rows.map(({ selector }) => selector)])]
}

/** Items with one of these selectors, or with that of an item of this name, oldest first. A prepared statement. */
export const readAbiItems = async (
  db: Db,
  input: {
    readonly network: Network
    readonly kind: AbiItemKind
    readonly selectors: readonly string[]
    readonly name?: string
  },
): Promise<readonly StoredAbiItem[]> => {
  const selectors = input.name === undefined ? input.selectors : await withSelectorsOf(db, input.name, input)
  if (selectors.length === 0) return []
  return db.prepared<StoredAbiItem>`
    select abi_name as "abiName", network, address, kind, selector, signature, item, mac
    from public.abi_items
    where selector = any(${[...selectors]}::text[]) and kind = ${input.kind}
      and (network is null or network = ${input.network})
    order by id`
}

/** Inserts all items of an ABI. @returns false if there is an ABI with this name. */
export const insertAbi = async (
  tx: Tx,
  input: {
    readonly name: string
    readonly items: readonly StoredAbiItem[]
  },
) => {
  const { name, items } = input
  // Two at a time would mix their items under one name.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('abi_items'))`)
  const there = await tx.select({ id: abiItems.id }).from(abiItems).where(eq(abiItems.abiName, name)).limit(1)
  if (there.length > 0) return false
  await tx.insert(abiItems).values([...items])
  return true
}

export const deleteAbi = async (db: Queryable, name: string) =>
  (await db.delete(abiItems).where(eq(abiItems.abiName, name))).rowCount ?? 0

export const allAbiItems = (db: Queryable): Promise<readonly StoredAbiItem[]> =>
  db.select().from(abiItems).orderBy(asc(abiItems.abiName), asc(abiItems.id))

export const removedAbis = (db: Queryable) => readRemoved(db, { added: 'abi_added', removed: 'abi_removed' })

/** One row for each name, oldest first. */
export const listAbis = async (db: Queryable) =>
  db
    .select({
      name: abiItems.abiName,
      network: abiItems.network,
      address: abiItems.address,
      functions: sql<number>`(count(*) filter (where ${abiItems.kind} = 'function'))::int`,
      errors: sql<number>`(count(*) filter (where ${abiItems.kind} = 'error'))::int`,
      createdAt: sql<Date>`min(${abiItems.createdAt})`.mapWith(abiItems.createdAt),
    })
    .from(abiItems)
    .groupBy(abiItems.abiName, abiItems.network, abiItems.address)
    .orderBy(sql`min(${abiItems.id})`)
