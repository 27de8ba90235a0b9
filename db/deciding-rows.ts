// Writes of rows that decide. PostgreSQL reports success even if a trigger of its owner undoes a write. So what was
// meant is compared twice: with what the statement returns, and with the row at the end of the transaction, after
// deferred triggers. If it differs, the transaction is rolled back. A row that is put back after the commit is not
// found here: each process remembers what it has ended (`ended`).

import { isDeepStrictEqual } from 'node:util'
import { and, eq, getTableColumns, getTableName, type InferSelectModel, is, SQL } from 'drizzle-orm'
import {
  getTableConfig,
  type PgColumn,
  type PgInsertValue,
  type PgTable,
  type PgUpdateSetSource,
} from 'drizzle-orm/pg-core'
import type { Db, Tx } from './client.ts'
import { type Given, prepare } from './prepare.ts'
import { NotWritten, requireWritten } from './written.ts'

type Values = Readonly<Record<string, unknown>>

/** What a transaction means to leave behind, by table and key; `values` null: no row. */
export type Writes = Map<string, { readonly table: PgTable; readonly key: Values; readonly values: Values | null }>

const ENDED_MAX = 100_000

/** Names of rows that this process has ended, or seen ended; the newest of each table. */
export type Ended = {
  readonly has: (name: string) => boolean
  readonly add: (name: string) => void
  /** The row admits a caller now. */
  readonly admit: (name: string) => void
  /** The row does not exist. If it has admitted a caller before, it has ended. */
  readonly miss: (name: string) => void
}

const addNewest = (names: Set<string>, name: string): void => {
  names.delete(name)
  names.add(name)
  const [oldest] = names
  if (names.size > ENDED_MAX && oldest !== undefined) names.delete(oldest)
}

export const createEnded = (): Ended => {
  // Refresh tokens and nonces end all the time: together with them, revocations would be forgotten.
  const tables = new Map<string, Set<string>>()
  const admitted = new Set<string>()
  const namesOf = (name: string): Set<string> => {
    const table = name.slice(0, name.indexOf(' '))
    const names = tables.get(table) ?? new Set()
    tables.set(table, names)
    return names
  }
  const add = (name: string): void => addNewest(namesOf(name), name)
  return {
    has: (name) => namesOf(name).has(name),
    add,
    admit: (name) => addNewest(admitted, name),
    miss: (name) => {
      if (admitted.delete(name)) add(name)
    },
  }
}

/** Reads again what this process knows to have ended: the answer may be older than the end. */
export const readUnlessEnded = async <Read>(
  read: () => Promise<Read>,
  hasEnded: (found: Read) => boolean,
): Promise<Read> => {
  const found = await read()
  return hasEnded(found) ? read() : found
}

/** What `Ended` calls a row. @param key the values of its primary key. */
export const endedName = (table: string, key: readonly unknown[]): string =>
  [table, ...key.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value))].join(' ')

/** SQL is computed by the database, and undefined stays as it is. */
const isKnown = (value: unknown): boolean => value !== undefined && !is(value, SQL)

/** @throws NotWritten */
const compareRow = (table: PgTable, values: Values, row: Values | undefined): void => {
  const meant = Object.fromEntries(Object.entries(values).filter(([, value]) => isKnown(value)))
  if (row === undefined) throw notWritten(table, values)
  requireWritten({ table: getTableName(table), meant, returned: row })
}

const notWritten = (table: PgTable, row: Values): NotWritten => new NotWritten(getTableName(table), row)

/** What `make` makes of a table, made once. */
const perTable = <Made>(make: (table: PgTable) => Made): ((table: PgTable) => Made) => {
  const made = new WeakMap<PgTable, Made>()
  return (table) => {
    const known = made.get(table) ?? make(table)
    made.set(table, known)
    return known
  }
}

/** The columns of the primary key, by their names in code. */
const keyColumns = perTable((table) => {
  const keys = getTableConfig(table).primaryKeys.flatMap(({ columns }) => columns.map(({ name }) => name))
  return Object.entries(getTableColumns(table)).filter(([, { primary, name }]) => primary || keys.includes(name))
})

const keyOf = (table: PgTable, row: Values): Values =>
  Object.fromEntries(keyColumns(table).map(([name]) => [name, row[name]]))

const nameOf = (table: PgTable, row: Values): string => endedName(getTableName(table), Object.values(keyOf(table, row)))

const selectByKey = perTable((table) =>
  prepare((db, key: Given<Values>) =>
    db
      .select()
      .from(table)
      .where(and(...keyColumns(table).map(([name, column]) => eq(column, key[name])))),
  ),
)

const inTransaction = <Result>(db: Db | Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  'writes' in db ? work(db) : db.transaction(work)

/** Compares a written row, and records what it must be at the commit. Later writes add to it. @throws NotWritten */
const expectRow = (tx: Tx, table: PgTable, meant: Values, row: Values | undefined): void => {
  compareRow(table, meant, row)
  if (row === undefined) return
  const name = nameOf(table, row)
  const columns = Object.keys(meant).filter((column) => meant[column] !== undefined)
  const values = Object.fromEntries(columns.map((column) => [column, row[column]]))
  tx.writes.set(name, { table, key: keyOf(table, row), values: { ...tx.writes.get(name)?.values, ...values } })
}

/** Reads what the transaction has written once more, after the triggers that wait for its end. @throws NotWritten */
export const confirmWrites = async (tx: Tx): Promise<void> => {
  if (tx.writes.size === 0) return
  const writes = [...tx.writes.values()]
  // In one message, one after the other: drizzle would not say in which order it sends them.
  const [, ...found] = await Promise.all([
    tx.send({ text: 'set constraints all immediate' }),
    ...writes.map(({ table, key }) => selectByKey(table)(tx, key)),
  ])
  for (const [index, { table, key, values }] of writes.entries()) {
    const row: Values | undefined = found[index]?.[0]
    if (values !== null) compareRow(table, values, row)
    else if (row !== undefined) throw notWritten(table, key)
  }
}

/** By the names of the columns that are given. */
const inserts = perTable((table) => {
  const byNames = new Map<string, (tx: Tx, values: Values) => Promise<readonly Values[]>>()
  return (names: readonly string[]) => {
    const key = names.join()
    const insert =
      byNames.get(key) ??
      prepare((db, given: Given<Values>) =>
        db
          .insert(table)
          .values(Object.fromEntries(names.map((name) => [name, given[name]])) as PgInsertValue<PgTable>)
          .returning(),
      )
    byNames.set(key, insert)
    return insert
  }
})

/** @throws NotWritten */
export const insertRow = <Table extends PgTable>(
  db: Db | Tx,
  table: Table,
  values: PgInsertValue<Table>,
): Promise<InferSelectModel<Table>> =>
  inTransaction(db, async (tx) => {
    const given: Values = values
    const names = Object.keys(given).filter((name) => given[name] !== undefined)
    const isPlain = names.every((name) => isKnown(given[name]))
    const [row] = isPlain
      ? await inserts(table)(names)(tx, given)
      : await tx
          .insert<PgTable>(table)
          .values(values as PgInsertValue<PgTable>)
          .returning()
    expectRow(tx, table, values, row)
    return row as InferSelectModel<Table>
  })

/** @param input.there finds a row with its unique values. @returns null if it is there. @throws NotWritten */
export const insertUnlessThere = <Table extends PgTable>(
  db: Db | Tx,
  table: Table,
  { values, there }: { readonly values: PgInsertValue<Table>; readonly there: SQL | undefined },
): Promise<InferSelectModel<Table> | null> =>
  inTransaction(db, async (tx) => {
    const insert = tx.insert<PgTable>(table).values(values as PgInsertValue<PgTable>)
    const [row] = await insert.onConflictDoNothing().returning()
    if (row === undefined && (await tx.select().from<PgTable>(table).where(there)).length > 0) return null
    expectRow(tx, table, values, row)
    return row as InferSelectModel<Table>
  })

/** Inserts a row, or gives the one that is there the values `set`. @throws NotWritten */
export const upsertRow = <Table extends PgTable>(
  db: Db | Tx,
  table: Table,
  { values, target, set }: { readonly values: PgInsertValue<Table>; readonly target: PgColumn[]; readonly set: Values },
): Promise<void> =>
  inTransaction(db, async (tx) => {
    const insert = tx.insert<PgTable>(table).values(values as PgInsertValue<PgTable>)
    const [row] = await insert.onConflictDoUpdate({ target, set }).returning()
    expectRow(tx, table, { ...values, ...set }, row)
  })

type Found = {
  readonly where: SQL | undefined
  /**
   * Nothing makes it undone, and this process remembers it. A row that was put back is refused where the write itself
   * admits something `once`; what has only `ended` can be ended again.
   */
  readonly final?: 'once' | 'ended' | undefined
}

/** @throws NotWritten for a row that admitted something once, and that this process has ended before. */
const endRow = (tx: Tx, table: PgTable, { row, final }: Pick<Found, 'final'> & { readonly row: Values }): void => {
  if (final === undefined) return
  const name = nameOf(table, row)
  if (final === 'once' && tx.ended.has(name)) throw notWritten(table, row)
  tx.afterCommit(() => tx.ended.add(name))
}

/** Changes the rows that are found. @returns them as they are now. @throws NotWritten */
export const updateRows = <Table extends PgTable>(
  db: Db | Tx,
  table: Table,
  { set, where, final }: Found & { readonly set: PgUpdateSetSource<Table> },
): Promise<readonly InferSelectModel<Table>[]> =>
  inTransaction(db, async (tx) => {
    // PostgreSQL alone knows what it computes: that has to be another value than before.
    const isComputed = !Object.values(set).some(isKnown)
    const before = isComputed ? await tx.select().from<PgTable>(table).where(where) : []
    const former = new Map(before.map((row: Values) => [nameOf(table, row), row]))
    const [rows, left] = await Promise.all([
      tx
        .update<PgTable>(table)
        .set(set as PgUpdateSetSource<PgTable>)
        .where(where)
        .returning(),
      tx.select().from<PgTable>(table).where(where),
    ])
    const names = new Set(rows.map((row) => nameOf(table, row)))
    for (const row of left) if (!names.has(nameOf(table, row))) throw notWritten(table, row)
    for (const row of rows) {
      expectRow(tx, table, set, row)
      if (isDeepStrictEqual(former.get(nameOf(table, row)), row)) throw notWritten(table, row)
      endRow(tx, table, { row, final })
    }
    return rows as InferSelectModel<Table>[]
  })

type Deleted = Pick<Found, 'final'> & { readonly rows: readonly Values[]; readonly left: readonly Values[] }

/** @param deleted.left what the same condition finds after the deletion. @throws NotWritten */
const noteDeleted = (tx: Tx, table: PgTable, { rows, left: [undone], final }: Deleted): void => {
  if (undone !== undefined) throw notWritten(table, undone)
  for (const row of rows) {
    tx.writes.set(nameOf(table, row), { table, key: keyOf(table, row), values: null })
    endRow(tx, table, { row, final })
  }
}

/** Deletes the rows that are found. @returns them. @throws NotWritten */
export const deleteRows = <Table extends PgTable>(
  db: Db | Tx,
  table: Table,
  { where, final }: Found,
): Promise<readonly InferSelectModel<Table>[]> =>
  inTransaction(db, async (tx) => {
    const [rows, left] = await Promise.all([
      tx.delete<PgTable>(table).where(where).returning(),
      tx.select().from<PgTable>(table).where(where).limit(1),
    ])
    noteDeleted(tx, table, { rows, left, final })
    return rows as InferSelectModel<Table>[]
  })

/** `deleteRows` with statements that are written once. @throws NotWritten, when it is used */
export const rowDeleter = <Table extends PgTable, Key extends object>(
  table: Table,
  found: Pick<Found, 'final'> & { readonly where: (key: Given<Key>) => SQL | undefined },
): ((tx: Tx, key: Key) => Promise<readonly InferSelectModel<Table>[]>) => {
  const { where, final } = found
  const remove = prepare((db, key: Given<Key>) => db.delete<PgTable>(table).where(where(key)).returning())
  const find = prepare((db, key: Given<Key>) => db.select().from<PgTable>(table).where(where(key)).limit(1))
  return async (tx, key) => {
    const [rows, left] = await Promise.all([remove(tx, key), find(tx, key)])
    noteDeleted(tx, table, { rows, left, final })
    return rows as InferSelectModel<Table>[]
  }
}
