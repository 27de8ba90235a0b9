import { describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { openDb } from '../../db/client.ts'
import { AppError } from '../../src/errors.ts'
import { shownError } from '../../src/security/log.ts'
import { createDatabase } from '../support/postgres.ts'

const MARK = 'marked-value-4711'

describe('an error in the log', () => {
  test('says what failed and where, without the values of the statement', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.url, maxConnections: 1, applicationName: 'test' })
    try {
      const {
        rows: [project],
      } = await db.execute<{ id: string }>(sql`insert into projects (name) values (${MARK}) returning id`)
      for (const statement of [
        sql`select ${MARK}::text from nowhere`,
        sql`insert into projects (id, name) values (${project?.id}, ${MARK})`,
        sql`insert into projects (name, id) values (${MARK}, null)`,
      ]) {
        const error = await db.execute(statement).catch((thrown: unknown) => thrown)
        const shown = JSON.stringify(shownError(error))
        expect(shown).not.toContain(MARK)
        expect(shown).not.toContain(project?.id ?? '')
        expect(shown).toContain('Failed query: ')
        expect(shown).toMatch(/"code":"(42P01|23505|23502)"/)
      }
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  test('has the message, the code and the frames of each cause', () => {
    const cause = new TypeError('what went wrong')
    const shown = shownError(new AppError('unavailable', 'A sentence.', { cause }))
    expect(shown).toMatchObject({
      type: 'AppError',
      message: 'A sentence.',
      code: 'unavailable',
      cause: { type: 'TypeError', message: 'what went wrong' },
    })
    expect(JSON.stringify(shown)).toContain('log.test.ts')
  })

  test('handles circular causes and values that are no errors', () => {
    const circle = new Error('one')
    circle.cause = circle
    expect(JSON.stringify(shownError(circle)).match(/"one"/g)?.length).toBe(5)
    expect(shownError(MARK)).toEqual({ type: 'string' })
    expect(shownError(undefined)).toEqual({ type: 'undefined' })
  })

  test('does not contain an answer that does not fit its schema', () => {
    const error = Object.assign(new Error(JSON.stringify({ found: MARK })), { code: 'VALIDATION', value: MARK })
    expect(JSON.stringify(shownError(error))).not.toContain(MARK)
  })
})
