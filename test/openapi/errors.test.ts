// The documented contract of errors: docs/errors.md is the table of the code.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { FAILURE_CODES, type FailureCode } from '../../db/words.ts'
import { withTables } from '../../src/api/openapi/build.ts'
import { ERROR_WORDS } from '../../src/api/openapi/error-words.ts'
import { ERROR_STATUS } from '../../src/platform/errors.ts'
import { FAILURE_SENTENCES } from '../../src/signing/transactions/failure-words.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

describe('docs/errors.md', () => {
  test('has exactly the codes of the code, with status, meaning, advice and retry (else run `bun run build`)', () => {
    expect(page).toBe(withTables(page))
    expect(Object.keys(ERROR_WORDS).sort()).toEqual(Object.keys(ERROR_STATUS).sort())
    const rows = [
      ...page.matchAll(/^\| `(\w+)` \| (\d{3}) \| [^|]+ \| [^|]+ \| (?:no|later|later, with the same key) \|$/gm),
    ]
    expect(rows.map(([, code, status]) => [code, Number(status)])).toEqual(Object.entries(ERROR_STATUS))
  })

  test('has exactly the codes of failed transactions, with the sentence that their status has', () => {
    const [, section = ''] = page.split('\n## Failed transactions\n')
    const rows = [...section.matchAll(/^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$/gm)]
    expect(rows.map(([, code]) => code)).toEqual([...FAILURE_CODES])
    for (const [, code = '', meaning] of rows) expect(meaning).toStartWith(FAILURE_SENTENCES[code as FailureCode])
  })

  test('tells only those to repeat a request that may succeed later', () => {
    const later = Object.entries(ERROR_WORDS).filter(([, { retry }]) => retry !== undefined)
    const statuses = new Set(later.map(([code]) => ERROR_STATUS[code as keyof typeof ERROR_STATUS]))
    expect([...statuses].sort()).toEqual([403, 429, 499, 500, 503])
    expect(
      later.filter(([code]) => ERROR_STATUS[code as keyof typeof ERROR_STATUS] === 403).map(([code]) => code),
    ).toEqual(['TOO_MANY_FAILED_ATTEMPTS'])
  })
})
