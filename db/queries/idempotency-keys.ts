import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { firstRow, pickColumns } from '../rows.ts'
import { idempotencyKeys } from '../schema.ts'
import { NotWritten, requireWritten } from '../written.ts'
import { clearExpired } from './logins.ts'

type Row = typeof idempotencyKeys.$inferSelect
export type IdempotencyScope = Pick<Row, 'projectId' | 'principal' | 'path' | 'key'>
export type FirstAnswer = Pick<Row, 'fingerprint' | 'answer' | 'mac'>

const dayAgo = sql`now() - interval '24 hours'`

export const findFirstAnswer = (db: Queryable, scope: IdempotencyScope): Promise<FirstAnswer | null> =>
  firstRow(
    db
      .select(pickColumns(idempotencyKeys, 'fingerprint', 'answer', 'mac'))
      .from(idempotencyKeys)
      .where(
        and(
          eq(idempotencyKeys.projectId, scope.projectId),
          eq(idempotencyKeys.principal, scope.principal),
          eq(idempotencyKeys.path, scope.path),
          eq(idempotencyKeys.key, scope.key),
          gt(idempotencyKeys.createdAt, dayAgo),
        ),
      ),
  )

/** Replaces an answer older than a day. Waits for writers of one. @returns false if another answer is stored. */
export const insertFirstAnswer = async (db: Queryable, scope: IdempotencyScope, first: FirstAnswer) => {
  const { projectId, principal, path, key } = idempotencyKeys
  const row = { ...scope, ...first }
  const [written] = await db
    .insert(idempotencyKeys)
    .values(row)
    .onConflictDoUpdate({
      target: [projectId, principal, path, key],
      set: { ...first, createdAt: sql`now()` },
      setWhere: lte(idempotencyKeys.createdAt, dayAgo),
    })
    .returning()
  // Not read once more: that would be a round trip of each signature, and nothing is made twice without the row.
  if (written !== undefined) requireWritten({ table: 'idempotency_keys', meant: row, returned: written })
  else if ((await findFirstAnswer(db, scope)) === null) throw new NotWritten('idempotency_keys', scope)
  return written !== undefined
}

export const dropOldIdempotencyKeys = (db: Db) => clearExpired(db, 'idempotency_keys')
