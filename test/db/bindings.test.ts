// docs/custody.md lists every table with what binds its rows, or why nothing does.

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import * as schema from '../../db/schema.ts'

const page = readFileSync(new URL('../../docs/custody.md', import.meta.url), 'utf8')
const section = page.split('\n## All tables, and what binds them\n')[1]?.split('\n## ')[0] ?? ''
const LISTED = [...section.matchAll(/^\| `(\w+)` \| (MAC|seal|signature|chain|hash|none): (.{12,}) \|$/gm)].map(
  (row) => ({
    name: String(row[1]),
    binding: String(row[2]),
  }),
)

const TABLES = Object.values(schema)
  .filter((each) => is(each, PgTable))
  .map((table) => ({
    name: getTableName(table),
    columns: Object.values(getTableColumns(table)).map(({ name }) => name),
  }))

/** The column that a binding is in. */
const COLUMN_OF: Readonly<Record<string, RegExp>> = {
  MAC: /^(code_)?mac$/,
  seal: /^(sealed|wrapped)$|_sealed$/,
  signature: /^signature$/,
  chain: /^head$/,
  hash: /^digest$/,
}

test('each table is listed once, in the order of names, with its binding or the reason why it has none', () => {
  expect(LISTED.map(({ name }) => name)).toEqual(TABLES.map(({ name }) => name).toSorted())
})

test('each binding that is listed is a column of the table, and no MAC or seal is left out', () => {
  const wrong = TABLES.filter(({ name, columns }) => {
    const { binding = '' } = LISTED.find((row) => row.name === name) ?? {}
    const has = (kind: string) => columns.some((column) => COLUMN_OF[kind]?.test(column))
    return binding === 'none' ? has('MAC') || has('seal') : !has(binding)
  })
  expect(wrong.map(({ name }) => name)).toEqual([])
})
