// The keys that sign access tokens.

import { asc, gt, isNull, lte, or, sql } from 'drizzle-orm'
import type { Db, Tx } from '../client.ts'
import { deleteRows, insertRow, updateRows } from '../deciding-rows.ts'
import { tokenKeys } from '../schema.ts'

export type TokenKeyRow = typeof tokenKeys.$inferSelect

/** The keys whose tokens may be valid now or later, oldest first. */
export const listTokenKeys = async (db: Db | Tx): Promise<readonly TokenKeyRow[]> =>
  db
    .select()
    .from(tokenKeys)
    .where(or(isNull(tokenKeys.publishedUntil), gt(tokenKeys.publishedUntil, sql`now()`)))
    .orderBy(asc(tokenKeys.signsFrom), asc(tokenKeys.createdAt))

export const listAllTokenKeys = async (db: Db): Promise<readonly TokenKeyRow[]> =>
  db.select().from(tokenKeys).orderBy(asc(tokenKeys.createdAt))

/** Only one transaction at a time may decide whether another key is needed. */
export const lockTokenKeys = async (tx: Tx) => {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('token_keys'))`)
}

/** Adds a key that signs after `signsInSeconds`. The keys before it are published until their tokens have expired. */
export const insertTokenKey = async (
  tx: Tx,
  input: Pick<TokenKeyRow, 'id' | 'publicKey' | 'sealed'> & {
    readonly signsInSeconds: number
    readonly tokenSeconds: number
  },
) => {
  const { signsInSeconds, tokenSeconds, ...values } = input
  await updateRows(tx, tokenKeys, {
    set: { publishedUntil: sql`now() + make_interval(secs => ${signsInSeconds + tokenSeconds})` },
    where: isNull(tokenKeys.publishedUntil),
  })
  await insertRow(tx, tokenKeys, { ...values, signsFrom: sql`now() + make_interval(secs => ${signsInSeconds})` })
}

export const dropOldTokenKeys = async (db: Db | Tx) =>
  (await db.delete(tokenKeys).where(lte(tokenKeys.publishedUntil, sql`now()`))).rowCount ?? 0

/** Deletes every key: no token that exists is valid any more. */
export const dropAllTokenKeys = async (tx: Tx) => {
  await deleteRows(tx, tokenKeys, { where: undefined })
}
