import { and, asc, eq, getTableColumns, gte, inArray, lt, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Db, Queryable } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { firstRow, type Ids, isOneOf } from '../rows.ts'
import { wallets } from '../schema.ts'
import type { Network } from '../words.ts'

/** A row as stored. `src/signing/wallets/get.ts` checks whether the service wrote it. */
export type StoredWallet = typeof wallets.$inferSelect
export type WalletRow = Omit<StoredWallet, 'mac'>

/** The values that decide where coins go and which key signs. The name is only for people. */
export type WalletFacts = Pick<
  WalletRow,
  'id' | 'projectId' | 'network' | 'ownerId' | 'controlMode' | 'type' | 'keyringId' | 'publicKey' | 'address'
>

export const insertWallet = async (db: Queryable, row: typeof wallets.$inferInsert): Promise<WalletRow> => {
  const [inserted] = await db.insert(wallets).values(row).returning()
  if (inserted === undefined) throw new Error('A wallet was not inserted.')
  return inserted
}

/** What a caller can see: all wallets of a project, or only those of one owner. */
export type Reach = {
  readonly projectId: string
  /** null: all owners. */
  readonly ownedBy: string | null
}

export type Page = { readonly limit: number; readonly offset: number }

export const within = (reach: Reach) =>
  and(eq(wallets.projectId, reach.projectId), reach.ownedBy === null ? undefined : eq(wallets.ownerId, reach.ownedBy))

type WalletKey = { readonly id: string } | { readonly address: string } | { readonly ownerId: string }

type WalletKeyValue = { readonly projectId: string; readonly network: Network; readonly key: string }

const findBy = (column: PgColumn) =>
  prepare((db, { projectId, network, key }: Given<WalletKeyValue>) =>
    db
      .select()
      .from(wallets)
      .where(and(eq(wallets.projectId, projectId), eq(wallets.network, network), eq(column, key))),
  )
const finders = { id: findBy(wallets.id), address: findBy(wallets.address), ownerId: findBy(wallets.ownerId) }

/** A project has one wallet of an owner, and one at an address, on a network. */
export const findWallet = async (
  db: Queryable,
  { ownedBy, by, ...place }: Reach & { readonly network: Network; readonly by: WalletKey },
): Promise<StoredWallet | null> => {
  const [[name, key] = ['id', '']] = Object.entries(by)
  const found = await firstRow(finders[name as keyof typeof finders](db, { ...place, key }))
  return ownedBy === null || found?.ownerId === ownedBy ? found : null
}

export const findWalletById = (db: Queryable, id: string): Promise<StoredWallet | null> =>
  firstRow(findWalletsById(db, [id]))

const byIds = prepare((db, { ids }: Given<Ids>) => db.select().from(wallets).where(isOneOf(wallets.id, ids)))

export const findWalletsById = (db: Queryable, ids: readonly string[]): Promise<readonly StoredWallet[]> =>
  byIds(db, { ids: [...ids] })

export const hasOwner = async (db: Queryable, { projectId, ownerId }: Pick<WalletRow, 'projectId' | 'ownerId'>) =>
  (await firstRow(
    db
      .select({ id: wallets.id })
      .from(wallets)
      .where(within({ projectId, ownedBy: ownerId }))
      .limit(1),
  )) !== null

const OLDEST_FIRST = [asc(wallets.createdAt), asc(wallets.id)]

/** The oldest wallets on some networks that an owner's own credential opens. */
export const listUserControlled = (
  db: Queryable,
  input: Pick<WalletRow, 'projectId' | 'ownerId'> & { readonly networks: readonly Network[]; readonly limit: number },
): Promise<readonly StoredWallet[]> =>
  db
    .select()
    .from(wallets)
    .where(
      and(
        within({ projectId: input.projectId, ownedBy: input.ownerId }),
        eq(wallets.controlMode, 'user'),
        inArray(wallets.network, [...input.networks]),
      ),
    )
    .orderBy(...OLDEST_FIRST)
    .limit(input.limit)

export type WalletPlace = Pick<WalletRow, 'projectId' | 'network' | 'address'>

/** The wallets at many places, each a project, network and address; a prepared statement. */
export const walletsAt = async (db: Db, places: readonly WalletPlace[]): Promise<readonly StoredWallet[]> => {
  const projectIds = places.map((place) => place.projectId)
  const networks = places.map((place) => place.network)
  const addresses = places.map((place) => place.address)
  return db.prepared<StoredWallet>`
    select w.id, w.project_id as "projectId", w.network, w.owner_id as "ownerId", w.name, w.address,
      w.control_mode as "controlMode", w.type, w.keyring_id as "keyringId", w.public_key as "publicKey",
      w.created_at as "createdAt", w.mac
    from unnest(${projectIds}::uuid[], ${networks}::text[], ${addresses}::text[]) as place(project_id, network, address)
    join public.wallets w using (project_id, network, address)`
}

/** The networks on which a wallet within reach has this address: an owner has one address on all EVM networks. */
export const networksOfAddress = async (
  db: Queryable,
  input: Reach & { readonly address: string },
): Promise<readonly Network[]> => {
  const rows = await db
    .select({ network: wallets.network })
    .from(wallets)
    .where(and(within(input), eq(wallets.address, input.address)))
  return rows.map((row) => row.network)
}

const afterWallet = (id: string | null) =>
  id === null
    ? undefined
    : sql`(${wallets.createdAt}, ${wallets.id}) > ((select created_at from ${wallets} where id = ${id}), ${id}::uuid)`

/** In the order of the index `wallets_listed`. @param input.after where the page begins; null: at the first. */
export const listWallets = async (
  db: Queryable,
  input: Reach & {
    readonly network: Network
    readonly after: string | null
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly StoredWallet[]> => {
  const page = db
    .select({ id: wallets.id })
    .from(wallets)
    .where(and(within(input), eq(wallets.network, input.network), afterWallet(input.after)))
    .orderBy(...OLDEST_FIRST)
    .limit(input.limit)
    .offset(input.offset)
    .as('page')
  return db
    .select(getTableColumns(wallets))
    .from(page)
    .innerJoin(wallets, eq(wallets.id, page.id))
    .orderBy(...OLDEST_FIRST)
}

/** No transaction lasts as long: no wallet can be committed any more that is older than this. */
const SETTLED_AFTER = sql`interval '10 minutes'`

/**
 * The ids of every so many of a project's wallets, oldest first. Wallets are never deleted, so these keep their places.
 * @param input.after counts from behind this wallet; null: from the beginning.
 * @param input.count how many wallets are counted.
 */
export const walletMarks = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly network: Network
    readonly after: string | null
    readonly count: number
    readonly every: number
  },
): Promise<readonly string[]> => {
  const { projectId, network, after, count, every } = input
  const counted = db
    .select({ id: wallets.id, place: sql<number>`row_number() over (order by created_at, id)`.as('place') })
    .from(wallets)
    .where(
      and(
        eq(wallets.projectId, projectId),
        eq(wallets.network, network),
        sql`${wallets.createdAt} < now() - ${SETTLED_AFTER}`,
        afterWallet(after),
      ),
    )
    .orderBy(...OLDEST_FIRST)
    .limit(count)
    .as('counted')
  const rows = await db
    .select({ id: counted.id })
    .from(counted)
    .where(sql`${counted.place} % ${every} = 0`)
    .orderBy(counted.place)
  return rows.map(({ id }) => id)
}

/** Which of these addresses belong to a wallet of any project. */
export const watchedAddresses = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[] },
): Promise<ReadonlySet<string>> => {
  if (input.addresses.length === 0) return new Set()
  // As PostgreSQL writes an array: pg would look in each address for what must be escaped.
  const isAmong = eq(wallets.address, sql`any(${`{${input.addresses.join()}}`}::text[])`)
  const rows = await db
    .selectDistinct({ address: wallets.address })
    .from(wallets)
    .where(and(eq(wallets.network, input.network), isAmong))
  return new Set(rows.map((row) => row.address))
}

/** Up to `limit` addresses in alphabetical order, beginning at `from`; after the last comes the first again. */
export const watchedAddressesFrom = async (
  db: Queryable,
  input: { readonly network: Network; readonly from: string; readonly limit: number },
): Promise<readonly string[]> => {
  const { network, from, limit } = input
  const some = (side: SQL, count: number) =>
    db
      .selectDistinct({ address: wallets.address })
      .from(wallets)
      .where(and(eq(wallets.network, network), side))
      .orderBy(wallets.address)
      .limit(count)
  const after = await some(gte(wallets.address, from), limit)
  const before = after.length < limit ? await some(lt(wallets.address, from), limit - after.length) : []
  return [...after, ...before].map(({ address }) => address)
}
