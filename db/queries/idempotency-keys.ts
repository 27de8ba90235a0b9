import { and, eq, gt, lte, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { idempotencyKeys } from '../schema.ts'

export type IdempotencyScope = {
  readonly projectId: string
  readonly principal: string
  readonly path: string
  readonly key: string
}

export type FirstAnswer = { readonly fingerprint: Uint8Array; readonly answer: unknown }

/** Keys live 24 h. */
const dayAgo = sql`now() - interval '24 hours'`

/** What the first request with a key was answered, or null. */
export const findFirstAnswer = async (db: Queryable, scope: IdempotencyScope): Promise<FirstAnswer | null> => {
  const [row] = await db
    .select({ fingerprint: idempotencyKeys.fingerprint, answer: idempotencyKeys.answer })
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
 * Keeps the first answer; what is older than a day makes room. Waits for whoever else is about to keep one.
 * @returns false where another request's answer is there already.
 */
export const insertFirstAnswer = async (tx: Tx, scope: IdempotencyScope, first: FirstAnswer): Promise<boolean> => {
  const { projectId, principal, path, key } = idempotencyKeys
  const kept = await tx
    .insert(idempotencyKeys)
    .values({ ...scope, ...first })
    .onConflictDoUpdate({
      target: [projectId, principal, path, key],
      set: { fingerprint: first.fingerprint, answer: first.answer, createdAt: sql`now()` },
      setWhere: lte(idempotencyKeys.createdAt, dayAgo),
    })
    .returning({ key })
  return kept.length === 1
}

/** Drops the keys that are older than a day. @returns how many. */
export const dropOldIdempotencyKeys = async (db: Db): Promise<number> => {
  const dropped = await db
    .delete(idempotencyKeys)
    .where(lte(idempotencyKeys.createdAt, dayAgo))
    .returning({ key: idempotencyKeys.key })
  return dropped.length
}
