// What a statement of the vault returns of the rows that it writes, compared with what was meant, before and after the
// commit.

import { and, eq, getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm'
import type { PgColumn, PgInsertValue, PgTable, PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Queryable, Tx } from '../../client.ts'
import { isSame, NotWritten, requireWritten } from '../../written.ts'
import { ENDED, imageOf, type JournalTable, KEPT, type Kept, type RowImage, readImage } from './journal.ts'

type Proof<Meant> = Readonly<Record<keyof Meant, unknown>> & { readonly image: string }

/** What a statement returns: the columns of `meant`, and the image. @param more how many locks a keyring has. */
export const proofOf = <Meant extends object>(table: PgTable, meant: Meant, more?: number) => {
  const name = getTableName(table) as JournalTable
  const image = imageOf(name, sql`${sql.identifier(name)}`)
  const all = more === undefined ? image : sql<string>`(${image}::jsonb || ${JSON.stringify({ more })}::jsonb)::text`
  const columns = Object.entries(getTableColumns(table)).filter(([column]) => column in meant)
  return { ...(Object.fromEntries(columns) as Record<keyof Meant, PgColumn>), image: all }
}

/** @param row what the statement returned for `proofOf`. @returns null if it wrote none. @throws NotWritten */
export const provenImage = <Meant extends object>(
  table: PgTable,
  meant: Meant,
  [row]: readonly Proof<Meant>[],
): RowImage | null => {
  if (row === undefined) return null
  const name = getTableName(table) as JournalTable
  requireWritten({ table: name, meant, returned: row })
  const image = { table: name, text: row.image }
  requireSameImage(table, meant, image)
  proven.set(image, { table, meant })
  return image
}

/** What was meant by the images of this process. */
const proven = new WeakMap<RowImage, { readonly table: PgTable; readonly meant: object }>()

/** A value as PostgreSQL writes it in JSON. Numbers beyond a double are compared in their own column. */
const inJson = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return typeof value === 'bigint' ? Number(value) : value
}

/** A function of the database's owner may have made the image, which decides how old a row is. @throws NotWritten */
const requireSameImage = (source: PgTable, meant: object, { table, text }: RowImage): void => {
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>
  const columns = getTableColumns(source)
  const { without = [] }: Kept = KEPT[table]
  for (const [name, wanted] of Object.entries(meant)) {
    const column = columns[name]?.name ?? ''
    if (without.includes(column)) continue
    const shown = row[column]
    const value = wanted instanceof Date && typeof shown === 'string' ? new Date(shown) : shown
    if (!isSame({ value: inJson(wanted) }, { value })) throw new NotWritten(table, meant)
  }
}

/** The same of a statement that must write a row. @throws NotWritten also if it wrote none. */
export const requireImage = <Meant extends object>(
  table: PgTable,
  meant: Meant,
  rows: readonly Proof<Meant>[],
): RowImage => {
  const image = provenImage(table, meant, rows)
  if (image === null) throw new NotWritten(getTableName(table), meant)
  return image
}

/** Inserts a row. @param more as of `proofOf`. @throws NotWritten */
export const insertProven = async <Row extends PgTable>(
  db: Queryable,
  table: Row,
  row: Row['$inferInsert'],
  more?: number,
): Promise<RowImage> => {
  const proof = proofOf<object>(table, row, more)
  return requireImage<object>(table, row, await db.insert<PgTable>(table).values(row).returning(proof))
}

type Change = {
  /** The values that the row must have afterwards. */
  readonly meant: object
  readonly set: PgUpdateSetSource<PgTable>
  readonly where: SQL | undefined
  readonly more?: number
}

/** Updates one row. @returns null if none is found. @throws NotWritten */
export const updateProven = async (
  db: Queryable,
  table: PgTable,
  { meant, set, where, more }: Change,
): Promise<RowImage | null> =>
  provenImage(
    table,
    meant,
    await db
      .update(table)
      .set(set)
      .where(where)
      .returning(proofOf(table, meant, more)),
  )

type Upsert = Parameters<ReturnType<ReturnType<Tx['insert']>['values']>['onConflictDoUpdate']>[0] & {
  readonly row: PgInsertValue<PgTable>
  /** What is compared; absent: the whole row. */
  readonly meant?: object
}

/** Inserts a row, or changes the one that is there. @returns null if `setWhere` does not hold. @throws NotWritten */
export const upsertProven = async (
  db: Queryable,
  table: PgTable,
  { row, meant = row, ...conflict }: Upsert,
): Promise<RowImage | null> => {
  const written = await db.insert(table).values(row).onConflictDoUpdate(conflict).returning(proofOf(table, meant))
  return provenImage(table, meant, written)
}

/** The key of the project's or the root's that an envelope names: a rotation seals the same again under a newer one. */
const keyIdOf = (sealed: unknown): number =>
  sealed instanceof Uint8Array && sealed.length > 6 ? new DataView(sealed.buffer, sealed.byteOffset).getUint32(2) : -1

type Meant = Readonly<Record<string, unknown>>

/** Whether a row is as it was written, but for a rotation since. */
const isStill = (table: string, meant: Meant, found: Meant): boolean => {
  const isRotated =
    table === 'project_keys' ? found.rootKeyId !== meant.rootKeyId : keyIdOf(found.sealed) > keyIdOf(meant.sealed)
  const { sealed: _s, wrapped: _w, rootKeyId: _r, ...others } = meant
  return isSame(isRotated ? others : meant, found)
}

/**
 * Reads committed rows once more: a trigger after the statement, or the transaction's end, may have put earlier ones
 * back, or deleted them.
 * @throws NotWritten unless each row is as it was written, or newer.
 */
export const requireKept = async (db: Queryable, images: readonly RowImage[]) => {
  const found = await Promise.all(
    images.map(async (image) => {
      const { table, meant } = proven.get(image) ?? {}
      if (table === undefined || meant === undefined) throw new Error('a row was not compared when it was written')
      const { key, age }: Kept = KEPT[image.table]
      const columns = Object.entries(getTableColumns(table))
      const row = JSON.parse(image.text) as Meant
      const where = columns.flatMap(([, column]) => (key.includes(column.name) ? [eq(column, row[column.name])] : []))
      const shown = columns.filter(
        ([name, { name: column }]) => name in meant || column === age?.grows || column === age?.ends,
      )
      const [present] = await db
        .select(Object.fromEntries(shown))
        .from(table)
        .where(and(...where))
      const ofColumn = (column: string | undefined): unknown =>
        present?.[shown.find(([, each]) => each.name === column)?.[0] ?? '']
      const hasEnded = age?.ends !== undefined && present !== undefined && ofColumn(age.ends) !== null
      const presentAge = hasEnded ? ENDED : Number(ofColumn(age?.grows) ?? 0)
      return { image, meant: meant as Meant, present, age: presentAge }
    }),
  )
  // Its lock is gone by now if a caller has revoked a new policy.
  const isRevoked = found.some(({ image, age }) => image.table === 'policies' && age === ENDED)
  for (const { image, meant, present, age } of found) {
    const isKept = present !== undefined && (isStill(image.table, meant, present) || age > readImage(image).age)
    if (!isKept && !(isRevoked && image.table === 'policy_locks')) throw new NotWritten(image.table, meant)
  }
}
