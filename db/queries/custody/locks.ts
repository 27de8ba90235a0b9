import { and, eq, getTableColumns, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { developerKeys, ownerLocks, pinGuesses, userKeys } from '../../schema.ts'
import type { FreezeScope, Network } from '../../words.ts'
import { frozenScopeOf } from '../freezes.ts'

/** A credential's key as it was read. It is replaced only if both are still the same. */
type Versioned = Pick<typeof developerKeys.$inferSelect, 'sealed' | 'version'>

export const readDeveloperKey = async (db: Queryable, projectId: string): Promise<Versioned | null> => {
  const [row] = await db
    .select({ sealed: developerKeys.sealed, version: developerKeys.version })
    .from(developerKeys)
    .where(eq(developerKeys.projectId, projectId))
  return row ?? null
}

export const insertDeveloperKey = async (db: Queryable, row: typeof developerKeys.$inferInsert): Promise<void> => {
  await db.insert(developerKeys).values(row)
}

const isStill = (table: typeof developerKeys | typeof userKeys, was: Versioned) =>
  and(eq(table.version, was.version), eq(table.sealed, was.sealed))

/** @returns false if the row is not `was` any more. */
export const updateDeveloperKey = async (
  db: Queryable,
  input: { readonly projectId: string; readonly was: Versioned; readonly sealed: Uint8Array },
): Promise<boolean> => {
  const { projectId, was, sealed } = input
  const { rowCount } = await db
    .update(developerKeys)
    .set({ sealed, version: was.version + 1, updatedAt: sql`now()` })
    .where(and(eq(developerKeys.projectId, projectId), isStill(developerKeys, was)))
  return rowCount === 1
}

export type NewUserKeyRow = typeof userKeys.$inferInsert & {
  /** The row that counts wrong PINs. */
  readonly guessesMac: Uint8Array
}

/** Inserts the owner's user key, and the row that counts wrong PINs. */
export const insertUserKey = async (db: Queryable, { guessesMac, ...row }: NewUserKeyRow): Promise<void> => {
  await db.insert(userKeys).values(row)
  await db.insert(pinGuesses).values({ projectId: row.projectId, ownerId: row.ownerId, mac: guessesMac })
}

type UserKeyRow = typeof userKeys.$inferSelect
type Owner = Pick<UserKeyRow, 'projectId' | 'ownerId'>

const ofOwner = (owner: Owner) => and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId))

/** The key of a wallet's owner, and the scope in which the wallet is frozen. */
export const readUserKey = async (
  db: Queryable,
  wallet: Owner & { readonly id: string; readonly network: Network },
): Promise<(UserKeyRow & { readonly frozen: FreezeScope | null }) | null> => {
  const { id: walletId, projectId, ownerId, network } = wallet
  const [row] = await db
    .select({ ...getTableColumns(userKeys), frozen: frozenScopeOf({ projectId, ownerId, network, walletId }) })
    .from(userKeys)
    .where(ofOwner(wallet))
  return row ?? null
}

/** @returns false if the row is not `was` any more. */
export const updateUserKey = async (
  db: Queryable,
  input: Owner & {
    readonly was: Versioned
    readonly version: number
    readonly salt: Uint8Array
    readonly sealed: Uint8Array
  },
): Promise<boolean> => {
  const { was, version, salt, sealed } = input
  const { rowCount } = await db
    .update(userKeys)
    .set({ salt, sealed, version, updatedAt: sql`now()` })
    .where(and(ofOwner(input), isStill(userKeys, was)))
  return rowCount === 1
}

export type NewOwnerLockRow = typeof ownerLocks.$inferInsert

export const insertOwnerLock = async (db: Queryable, row: NewOwnerLockRow): Promise<void> => {
  await db.insert(ownerLocks).values(row)
}
