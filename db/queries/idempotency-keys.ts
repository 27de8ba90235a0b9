import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { idempotencyKeys } from '../schema.ts'
import { NotWritten, requireWritten } from '../written.ts'
import { clearExpired } from './clear-expired.ts'

type Row = typeof idempotencyKeys.$inferSelect
export type IdempotencyScope = Pick<Row, 'projectId' | 'principal' | 'path' | 'key'>
export type FirstAnswer = Pick<Row, 'fingerprint' | 'answer' | 'mac'>

/** Keys are valid for 24 h. */
const dayAgo = sql`now() - interval '24 hours'`

/** The answer to the first request with a key, or null. */
export const findFirstAnswer = async (db: Queryable, scope: IdempotencyScope): Promise<FirstAnswer | null> => {
  const [row] = await db
    .select({
      fingerprint: idempotencyKeys.fingerprint,
      answer: idempotencyKeys.answer,
      mac: idempotencyKeys.mac,
    })
    .from(idempotencyKeys)
    .where(
      and(
        eq(idempotencyKeys.projectId, scope.projectId),
        eq(idempotencyKeys.principal, scope.principal),
        eq(idempotencyKeys.path, scope.path),
        eq(idempotencyKeys.key, scope.key),
        gt(idempotencyKeys.createdAt, dayAgo),
      ),
    )
  return row ?? null
}

/**
 * Stores the first answer, and replaces one that is older than a day. Waits for other transactions that store one.
 * @returns false if the answer to another request is stored.
 */
export const insertFirstAnswer = async (
  db: Queryable,
  scope: IdempotencyScope,
  first: FirstAnswer,
): Promise<boolean> => {
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

/** Deletes the keys that are older than a day. @returns how many. */
export const dropOldIdempotencyKeys = (db: Db): Promise<number> => clearExpired(db, 'idempotency_keys')
