// Writes the table of error codes into its page. Run it after a change: `bun run build`.

import { readFileSync, writeFileSync } from 'node:fs'
import { errorTable } from './error-words.ts'

const PAGE_URL = new URL('../../docs/errors.md', import.meta.url)
const TABLE = /(<!-- Made of [^\n]*\n\n)[\s\S]*?(\n\n## )/

/** The page with the table as the present sources give it. */
export const withErrorTable = (page: string): string => {
  if (!TABLE.test(page)) throw new Error('docs/errors.md has no place for the table.')
  return page.replace(TABLE, (_, before: string, after: string) => `${before}${errorTable()}${after}`)
}

if (import.meta.main) writeFileSync(PAGE_URL, withErrorTable(readFileSync(PAGE_URL, 'utf8')))
