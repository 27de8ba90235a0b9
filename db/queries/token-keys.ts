// The keys that sign access tokens.

import { and, asc, gt, isNull, lte, or, sql } from 'drizzle-orm'
import type { Db, Tx } from '../client.ts'
import { tokenKeys } from '../schema.ts'

export type TokenKeyRow = typeof tokenKeys.$inferSelect

/** Those of which a token may be valid, or will be, oldest first. */
export const listTokenKeys = async (db: Db | Tx): Promise<readonly TokenKeyRow[]> =>
  db
    .select()
    .from(tokenKeys)
    .where(or(isNull(tokenKeys.publishedUntil), gt(tokenKeys.publishedUntil, sql`now()`)))
    .orderBy(asc(tokenKeys.signsFrom), asc(tokenKeys.createdAt))

/** Only one at a time decides whether there must be another key. */
export const lockTokenKeys = async (tx: Tx): Promise<void> => {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('token_keys'))`)
}

/**
 * Adds a key that signs from some seconds on; those before it are published until what they sign has expired.
 */
export const insertTokenKey = async (
  tx: Tx,
  input: {
    readonly id: string
    readonly publicKey: string
    readonly sealed: Uint8Array
    readonly signsInSeconds: number
    readonly tokenSeconds: number
  },
): Promise<void> => {
  const { signsInSeconds, tokenSeconds, ...values } = input
  await tx
    .update(tokenKeys)
    .set({ publishedUntil: sql`now() + make_interval(secs => ${signsInSeconds + tokenSeconds})` })
    .where(isNull(tokenKeys.publishedUntil))
  await tx.insert(tokenKeys).values({ ...values, signsFrom: sql`now() + make_interval(secs => ${signsInSeconds})` })
}

/** @returns how many were dropped. */
export const dropOldTokenKeys = async (db: Db | Tx): Promise<number> =>
  (
    await db
      .delete(tokenKeys)
      .where(and(lte(tokenKeys.publishedUntil, sql`now()`)))
      .returning({ id: tokenKeys.id })
  ).length

/** Drops every key: no token that was signed before is believed any more. */
export const dropAllTokenKeys = async (tx: Tx): Promise<void> => {
  await tx.delete(tokenKeys)
}
