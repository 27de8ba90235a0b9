import type { Queryable } from '../client.ts'
import { developerKeys, ownerLocks, pinGuesses, userKeys } from '../schema.ts'

export const insertDeveloperKey = async (db: Queryable, row: typeof developerKeys.$inferInsert): Promise<void> => {
  await db.insert(developerKeys).values(row)
}

export type NewUserKeyRow = typeof userKeys.$inferInsert

/** Writes the owner's user key, and the row that counts the guesses at its PIN. */
export const insertUserKey = async (db: Queryable, row: NewUserKeyRow): Promise<void> => {
  await db.insert(userKeys).values(row)
  await db.insert(pinGuesses).values({ projectId: row.projectId, ownerId: row.ownerId })
}

export type NewOwnerLockRow = typeof ownerLocks.$inferInsert

export const insertOwnerLock = async (db: Queryable, row: NewOwnerLockRow): Promise<void> => {
  await db.insert(ownerLocks).values(row)
}
