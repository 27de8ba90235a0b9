// Changes of PINs after which the sessions of their users have not ended yet.

import { eq, lt, sql } from 'drizzle-orm'
import type { Db, Tx } from '../client.ts'
import { pinChanges } from '../schema.ts'

type PinChange = typeof pinChanges.$inferSelect

/** @returns its id. */
export const insertPinChange = async (
  db: Db,
  { projectId, userId, actor }: Pick<PinChange, 'projectId' | 'userId' | 'actor'>,
): Promise<string> => {
  const [row] = await db.insert(pinChanges).values({ projectId, userId, actor }).returning({ id: pinChanges.id })
  if (row === undefined) throw new Error('a change of a PIN was not inserted')
  return row.id
}

export const deletePinChange = async (db: Db | Tx, id: string): Promise<void> => {
  await db.delete(pinChanges).where(eq(pinChanges.id, id))
}

/** Some that were not ended in time, locked; another process skips them. */
export const lockLeftPinChanges = (
  tx: Tx,
  { ageSeconds, limit }: { readonly ageSeconds: number; readonly limit: number },
): Promise<readonly PinChange[]> =>
  tx
    .select()
    .from(pinChanges)
    .where(lt(pinChanges.createdAt, sql`now() - make_interval(secs => ${ageSeconds})`))
    .orderBy(pinChanges.createdAt)
    .limit(limit)
    .for('update', { skipLocked: true })
