import type { Queryable } from '../client.ts'
import { collections } from '../schema.ts'

/** Records what a collection was created with, beside the transaction that creates it. */
export const insertCollection = async (db: Queryable, row: typeof collections.$inferInsert): Promise<void> => {
  await db.insert(collections).values(row)
}
