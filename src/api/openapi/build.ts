// Writes the tables of codes into their page. Run it after a change: `bun run build`.

import { readFileSync, writeFileSync } from 'node:fs'
import { failureTable } from '../../signing/transactions/failure-words.ts'
import { errorTable } from './error-words.ts'

const PAGE_URL = new URL('../../../docs/errors.md', import.meta.url)
/** A table is between the comment that names its sources and the next empty line. */
const TABLES = [
  { place: /(<!-- Made of src\/platform\/errors\.ts [^\n]*\n\n)(?:\|[^\n]*\n)+/, table: errorTable },
  { place: /(<!-- Made of db\/words\.ts [^\n]*\n\n)(?:\|[^\n]*\n)+/, table: failureTable },
] as const

export const withTables = (page: string): string =>
  TABLES.reduce((text, { place, table }) => {
    if (!place.test(text)) throw new Error('docs/errors.md has no place for a table.')
    return text.replace(place, (_, before: string) => `${before}${table()}\n`)
  }, page)

if (import.meta.main) writeFileSync(PAGE_URL, withTables(readFileSync(PAGE_URL, 'utf8')))
