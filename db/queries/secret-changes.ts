// Changes of what opens the wallets of a user, of which the user was not told yet.

import { eq, lt, sql } from 'drizzle-orm'
import type { Db, Tx } from '../client.ts'
import { deleteRows, insertRow } from '../deciding-rows.ts'
import { secretChanges } from '../schema.ts'

type SecretChange = typeof secretChanges.$inferSelect

/** @returns its id. */
export const insertSecretChange = async (
  db: Db,
  { projectId, userId, secret, actor }: Pick<SecretChange, 'projectId' | 'userId' | 'secret' | 'actor'>,
): Promise<string> => {
  const row = { projectId, userId, secret, actor }
  return (await insertRow(db, secretChanges, row)).id
}

export const deleteSecretChange = async (db: Db | Tx, id: string): Promise<void> => {
  await deleteRows(db, secretChanges, { where: eq(secretChanges.id, id) })
}

/** Some that were not ended in time, locked; another process skips them. */
export const lockLeftSecretChanges = (
  tx: Tx,
  { ageSeconds, limit }: { readonly ageSeconds: number; readonly limit: number },
): Promise<readonly SecretChange[]> =>
  tx
    .select()
    .from(secretChanges)
    .where(lt(secretChanges.createdAt, sql`now() - make_interval(secs => ${ageSeconds})`))
    .orderBy(secretChanges.createdAt)
    .limit(limit)
    .for('update', { skipLocked: true })
