// Statements that drizzle writes once, at their first use: to write one takes as long as PostgreSQL takes to run it.

import { Column, is, Param, Placeholder, SQL, sql } from 'drizzle-orm'
import { drizzle, type PgRemoteDatabase } from 'drizzle-orm/pg-proxy'
import type { Queryable } from './client.ts'

/** Writes statements, and sends none. It loads no driver, as the vault's rooms do not. */
export type Writer = PgRemoteDatabase
const writer: Writer = drizzle(() => Promise.reject(new Error('A statement is sent with `prepare`.')))

/** Each stands for a value that a use of the statement gives. */
export type Given<Values> = { readonly [Name in keyof Values]: Placeholder }

/** A statement as drizzle prepares it; what its types do not show. */
type Prepared = {
  readonly queryString: string
  readonly params: readonly unknown[]
  /** Absent: it returns no rows. */
  readonly fields?: readonly { readonly path: readonly string[]; readonly field: unknown }[]
}

type Written<Row> = PromiseLike<readonly Row[] | object> & { prepare(name: string): unknown }

const encoderOf = <Values>(part: unknown): ((values: Values) => unknown) => {
  const valueIn = (given: Placeholder) => (values: Values) => values[given.name as keyof Values]
  if (is(part, Placeholder)) return valueIn(part)
  if (!is(part, Param) || !is(part.value, Placeholder)) return () => part
  const [read, { encoder }] = [valueIn(part.value), part]
  return (values) => {
    const value = read(values)
    return value === null ? null : encoder.mapToDriverValue(value)
  }
}

/** What drizzle decodes with: a column, or what `mapWith` gave to a piece of SQL. */
type Decoder = { mapFromDriverValue(value: unknown): unknown }

const decoderOf = (field: unknown): Decoder => {
  if (is(field, Column)) return field
  return ((is(field, SQL.Aliased) ? field.sql : field) as unknown as { readonly decoder: Decoder }).decoder
}

const readerOf = <Row>(fields: NonNullable<Prepared['fields']>): ((columns: readonly unknown[]) => Row) => {
  const readers = fields.map(({ path, field }) => ({ path, decoder: decoderOf(field) }))
  return (columns) => {
    const row: Record<string, unknown> = {}
    for (const [index, { path, decoder }] of readers.entries()) {
      const [first = '', second] = path
      const column = columns[index]
      const value = column === null ? null : decoder.mapFromDriverValue(column)
      if (second === undefined) row[first] = value
      else row[first] = Object.assign(row[first] ?? {}, { [second]: value })
    }
    return row as Row
  }
}

const GIVEN = new Proxy({}, { get: (_, name) => sql.placeholder(String(name)) })

/**
 * A statement with the same text at each use. Joins that may find no row are not read.
 * @param write is called once, with what stands for the values.
 */
export const prepare = <Values extends object, Row>(
  write: (db: Writer, given: Given<Values>) => Written<Row>,
): ((db: Queryable, values: Values) => Promise<readonly Row[]>) => {
  const makeReady = () => {
    const { queryString, params, fields } = write(writer, GIVEN as Given<Values>).prepare('') as Prepared
    return {
      text: queryString,
      encoders: params.map((part) => encoderOf<Values>(part)),
      read: readerOf<Row>(fields ?? []),
    }
  }
  let ready: ReturnType<typeof makeReady> | null = null
  return async (db, values) => {
    ready ??= makeReady()
    const { text, encoders, read } = ready
    return (await db.send({ text, values: encoders.map((encode) => encode(values)) })).map(read)
  }
}
