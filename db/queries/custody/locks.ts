import { and, asc, eq, getTableColumns, gt, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { developerKeys, ownerLocks, pinGuesses, userKeys } from '../../schema.ts'
import { freezeMacsOf } from '../freezes.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage, requireImage } from './proofs.ts'

/** A credential's key as it was read. It is replaced only if both are still the same. */
type Versioned = Pick<typeof developerKeys.$inferSelect, 'sealed' | 'version'>

export const readDeveloperKey = async (db: Queryable, projectId: string): Promise<Versioned | null> => {
  const [row] = await db
    .select({ sealed: developerKeys.sealed, version: developerKeys.version })
    .from(developerKeys)
    .where(eq(developerKeys.projectId, projectId))
  return row ?? null
}

/** `after`: the last id of the page before; null for the first page. `projectId`: null for all projects. */
type Page<Id> = { readonly projectId: string | null; readonly after: Id | null; readonly limit: number }

/** Developer keys in the order of their projects. */
export const pageOfDeveloperKeys = (db: Queryable, { projectId, after, limit }: Page<string>) => {
  const { projectId: id, sealed, version } = developerKeys
  return db
    .select({ id, projectId: id, sealed, version })
    .from(developerKeys)
    .where(and(projectId === null ? undefined : eq(id, projectId), after === null ? undefined : gt(id, after)))
    .orderBy(asc(id))
    .limit(limit)
}

/** @throws NotWritten */
export const insertDeveloperKey = async (db: Queryable, row: typeof developerKeys.$inferInsert): Promise<RowImage> =>
  requireImage(developerKeys, row, await db.insert(developerKeys).values(row).returning(proofOf(developerKeys, row)))

const isStill = (table: typeof developerKeys | typeof userKeys, was: Versioned) =>
  and(eq(table.version, was.version), eq(table.sealed, was.sealed))

/** @returns null if the row is not `was` any more. @throws NotWritten */
export const updateDeveloperKey = async (
  db: Queryable,
  input: { readonly projectId: string; readonly was: Versioned; readonly version: number; readonly sealed: Uint8Array },
): Promise<RowImage | null> => {
  const { was, ...meant } = input
  const { projectId, sealed, version } = meant
  const written = await db
    .update(developerKeys)
    .set({ sealed, version, updatedAt: sql`now()` })
    .where(and(eq(developerKeys.projectId, projectId), isStill(developerKeys, was)))
    .returning(proofOf(developerKeys, meant))
  return provenImage(developerKeys, meant, written)
}

export type NewUserKeyRow = typeof userKeys.$inferInsert & {
  /** The row that counts wrong PINs. */
  readonly guessesMac: Uint8Array
}

/** Inserts the owner's user key, and the row that counts wrong PINs. @throws NotWritten */
export const insertUserKey = async (
  db: Queryable,
  { guessesMac: mac, ...row }: NewUserKeyRow,
): Promise<readonly RowImage[]> => {
  const guesses = {
    projectId: row.projectId,
    ownerId: row.ownerId,
    fails: 0,
    total: 0,
    lockedUntil: null,
    revision: 0,
    mac,
  }
  return [
    requireImage(userKeys, row, await db.insert(userKeys).values(row).returning(proofOf(userKeys, row))),
    requireImage(
      pinGuesses,
      guesses,
      await db.insert(pinGuesses).values(guesses).returning(proofOf(pinGuesses, guesses)),
    ),
  ]
}

type UserKeyRow = typeof userKeys.$inferSelect
type Owner = Pick<UserKeyRow, 'projectId' | 'ownerId'>

const ofOwner = (owner: Owner) => and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId))

/** User keys in the order of their owners. */
export const pageOfUserKeys = (db: Queryable, { projectId, after, limit }: Page<Owner>) => {
  const { projectId: project, ownerId: owner, sealed, version } = userKeys
  const isAfter =
    after === null ? undefined : sql`(${project}, ${owner}) > (${after.projectId}::uuid, ${after.ownerId}::text)`
  return db
    .select({ id: { projectId: project, ownerId: owner }, sealed, version })
    .from(userKeys)
    .where(and(projectId === null ? undefined : eq(project, projectId), isAfter))
    .orderBy(asc(project), asc(owner))
    .limit(limit)
}

/** The key of an owner, and the MACs of what is frozen. */
export const readUserKey = async (
  db: Queryable,
  owner: Owner,
): Promise<(UserKeyRow & { readonly freezeMacs: Uint8Array | null }) | null> => {
  const [row] = await db
    .select({ ...getTableColumns(userKeys), freezeMacs: freezeMacsOf(owner.projectId) })
    .from(userKeys)
    .where(ofOwner(owner))
  return row ?? null
}

/** @returns null if the row is not `was` any more. @throws NotWritten */
export const updateUserKey = async (
  db: Queryable,
  input: Owner & {
    readonly was: Versioned
    readonly version: number
    readonly salt: Uint8Array
    readonly sealed: Uint8Array
  },
): Promise<RowImage | null> => {
  const { projectId, ownerId, was, version, salt, sealed } = input
  const meant = { projectId, ownerId, salt, sealed, version }
  const written = await db
    .update(userKeys)
    .set({ salt, sealed, version, updatedAt: sql`now()` })
    .where(and(ofOwner(input), isStill(userKeys, was)))
    .returning(proofOf(userKeys, meant))
  return provenImage(userKeys, meant, written)
}

export type NewOwnerLockRow = typeof ownerLocks.$inferInsert

/** @throws NotWritten */
export const insertOwnerLock = async (db: Queryable, row: NewOwnerLockRow): Promise<RowImage> =>
  requireImage(ownerLocks, row, await db.insert(ownerLocks).values(row).returning(proofOf(ownerLocks, row)))
