// Statements that drizzle writes once, at their first use: to write one takes as long as PostgreSQL takes to run it.

import { Column, is, Param, Placeholder, SQL, sql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import type { Queryable } from './client.ts'

/** Each stands for a value that a use of the statement gives. */
export type Given<Values> = { readonly [Name in keyof Values]: Placeholder }

type Read<Row> = (columns: readonly unknown[]) => Row

/** A statement as drizzle prepares it; what its types do not show. */
type Prepared = {
  readonly rawQueryConfig: { readonly text: string }
  readonly params: readonly unknown[]
  /** Absent: it returns no rows. */
  readonly fields?: readonly { readonly path: readonly string[]; readonly field: unknown }[]
}

type Written<Row> = PromiseLike<readonly Row[] | pg.QueryResult> & { prepare(name: string): unknown }

/** What each use sends, and how its rows are read. */
type Ready<Values, Row> = {
  readonly text: string
  readonly encode: (values: Values) => unknown[]
  readonly read: Read<Row>
}

const TIMES: ReadonlySet<number> = new Set([pg.types.builtins.TIMESTAMPTZ, pg.types.builtins.TIMESTAMP])

/** As drizzle reads times: as texts, which the columns decode. */
const types = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    TIMES.has(id) ? String : pg.types.getTypeParser(id, format as 'text'),
}

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

type Decode = (value: unknown) => unknown

/** What drizzle decodes with: a column, or what `mapWith` gave to a piece of SQL. */
type Decoder = { mapFromDriverValue(value: unknown): unknown }

const decoderOf = (field: unknown): Decode => {
  const ofSql = () => ((is(field, SQL.Aliased) ? field.sql : field) as unknown as { decoder: Decoder }).decoder
  const decoder: Decoder = is(field, Column) ? field : ofSql()
  return (value) => (value === null ? null : decoder.mapFromDriverValue(value))
}

const readerOf = <Row>(fields: NonNullable<Prepared['fields']>): Read<Row> => {
  const readers = fields.map(({ path, field }) => ({ path, decode: decoderOf(field) }))
  return (columns) => {
    const row: Record<string, unknown> = {}
    const part = (name: string): Record<string, unknown> => {
      row[name] ??= {}
      return row[name] as Record<string, unknown>
    }
    for (const [index, { path, decode }] of readers.entries()) {
      const [first = '', second] = path
      const value = decode(columns[index])
      if (second === undefined) row[first] = value
      else part(first)[second] = value
    }
    return row as Row
  }
}

const given = <Values>(): Given<Values> =>
  new Proxy({} as Given<Values>, { get: (_, name) => sql.placeholder(String(name)) })

/**
 * A statement with the same text at each use. Joins that may find no row are not read.
 * @param write is called once, with what stands for the values.
 */
export const prepare = <Values extends object, Row>(
  write: (db: NodePgDatabase, given: Given<Values>) => Written<Row>,
): ((db: Queryable, values: Values) => Promise<readonly Row[]>) => {
  const makeReady = (): Ready<Values, Row> => {
    const { rawQueryConfig, params, fields } = write(drizzle.mock(), given()).prepare('') as Prepared
    const encoders = params.map((part) => encoderOf<Values>(part))
    return {
      text: rawQueryConfig.text,
      encode: (values) => encoders.map((encode) => encode(values)),
      read: readerOf(fields ?? []),
    }
  }
  let ready: Ready<Values, Row> | null = null
  return async (db, values) => {
    ready ??= makeReady()
    const { text, encode, read } = ready
    const { rows } = await db.send({ text, values: encode(values), rowMode: 'array', types } as pg.QueryConfig)
    return rows.map(read)
  }
}
