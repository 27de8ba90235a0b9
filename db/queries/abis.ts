import { and, eq, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { abiItems } from '../schema.ts'
import type { AbiItemKind, Network } from '../words.ts'

type AbiItemRow = typeof abiItems.$inferInsert

/** null: for every contract. */
export type AbiBinding = { readonly network: Network; readonly address: string } | null

type AddedItemRow = AbiItemRow['item'] & {
  readonly selector: string
  readonly isGeneral: boolean
  readonly addresses: readonly string[]
}

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

/**
 * Items with one of these selectors, or the selector of an item with this name, for every contract or for one on this network,
 * oldest first. A prepared statement.
 */
export const readAbiItems = async (
  db: Db,
  input: {
    readonly network: Network
    readonly kind: AbiItemKind
    readonly selectors: readonly string[]
    readonly name?: string
  },
): Promise<readonly AddedItemRow[]> => {
  const selectors = input.name === undefined ? input.selectors : await withSelectorsOf(db, input.name, input)
  if (selectors.length === 0) return []
  const rows = await db.prepared<Omit<AddedItemRow, 'name' | 'inputs'> & { readonly item: AbiItemRow['item'] }>`
    select selector, item, bool_or(address is null) as "isGeneral", array_remove(array_agg(address), null) as addresses
    from public.abi_items
    where selector = any(${[...selectors]}::text[]) and kind = ${input.kind}
      and (network is null or network = ${input.network})
    group by selector, item
    order by min(id)`
  return rows.map(({ item, ...row }) => ({ ...item, ...row }))
}

/** Inserts all items of an ABI. @returns false if there is an ABI with this name. */
export const insertAbi = async (
  tx: Tx,
  input: {
    readonly name: string
    readonly binding: AbiBinding
    readonly items: readonly Pick<AbiItemRow, 'kind' | 'selector' | 'signature' | 'item'>[]
  },
): Promise<boolean> => {
  const { name, binding, items } = input
  // Two at a time would mix their items under one name.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('abi_items'))`)
  const there = await tx.select({ id: abiItems.id }).from(abiItems).where(eq(abiItems.abiName, name)).limit(1)
  if (there.length > 0) return false
  const { network, address } = binding ?? { network: null, address: null }
  await tx.insert(abiItems).values(items.map((item) => ({ abiName: name, network, address, ...item })))
  return true
}

/** @returns the number of functions and errors that were deleted. */
export const deleteAbi = async (db: Queryable, name: string): Promise<number> =>
  (await db.delete(abiItems).where(eq(abiItems.abiName, name))).rowCount ?? 0

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
