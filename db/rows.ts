import { type Column, eq, getTableColumns, gt, type Placeholder, type SQL, sql, type Table } from 'drizzle-orm'
import type { Queryable } from './client.ts'

/** As PostgreSQL's driver reads some columns of plain SQL: numbers beyond 32 bits, and what is cast to text. */
export type AsText<Row, Name extends keyof Row> = Omit<Row, Name> & {
  readonly [Each in Name]: string | Extract<Row[Each], null>
}

/** The first row that a query returns; null if it returns none. */
export const firstRow = async <Row>(query: PromiseLike<readonly Row[]>): Promise<Row | null> => (await query)[0] ?? null

/** The rows of a statement. The caller says what they are: nothing checks it. */
export const readRows =
  <Row extends object>(db: Queryable) =>
  async (text: TemplateStringsArray, ...values: readonly unknown[]): Promise<readonly Row[]> =>
    (await db.execute(sql(text, ...values))).rows as readonly Row[]

/** The first column of the first row of a statement; null if it returns none. */
export const readValue =
  <Value>(db: Queryable) =>
  async (text: TemplateStringsArray, ...values: readonly unknown[]): Promise<Value | null> => {
    const [row = {}] = await readRows<Record<string, Value>>(db)(text, ...values)
    return Object.values(row)[0] ?? null
  }

/** Some columns of a table, for a select. */
export const pickColumns = <Source extends Table, Name extends keyof Source['_']['columns'] & string>(
  table: Source,
  ...names: readonly Name[]
) => {
  const columns: Source['_']['columns'] = getTableColumns(table)
  return Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<Source['_']['columns'], Name>
}

/** A condition on a column; none without a value. */
export const eqIfGiven = (column: Column, value: unknown): SQL | undefined =>
  value === null || value === undefined ? undefined : eq(column, value)

/** Likewise for what comes after a value. */
export const gtIfGiven = (column: Column, value: unknown): SQL | undefined =>
  value === null || value === undefined ? undefined : gt(column, value)

/** Of rows. */
export type Ids = { readonly ids: readonly string[] }

/**
 * The rows with these ids, in a statement with one text for any number of them. Within a select of its own the planner
 * does not see how many they are: it would plan a statement with few ids anew at each use.
 */
export const isOneOf = (column: Column | SQL, ids: Placeholder | SQL) =>
  sql`${column} = any((select ${ids}::uuid[])::uuid[])`

/** Rows for `json_to_recordset`. */
export const encodeRows = (rows: readonly object[]): string =>
  JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
