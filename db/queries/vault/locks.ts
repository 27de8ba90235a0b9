import { and, asc, eq, getTableColumns, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { eqIfGiven, firstRow, gtIfGiven, pickColumns } from '../../rows.ts'
import { developerKeys, keyrings, ownerLocks, pinGuesses, userKeys } from '../../schema.ts'
import type { ControlMode } from '../../words.ts'
import { selectFreezeMacs } from '../freezes.ts'
import type { RowImage } from './journal.ts'
import { insertProven, updateProven } from './proofs.ts'

/** `after`: the last id of the page before; null for the first page. `projectId`: null for all projects. */
export type Page<Id> = { readonly projectId: string | null; readonly after: Id | null; readonly limit: number }

const LOCK = pickColumns(ownerLocks, 'id', 'keyringId', 'controlMode', 'policiesOnly', 'version', 'sealed')

export const pageOfOwnerLocks = (db: Queryable, input: Page<string>) =>
  db
    .select({ ...LOCK, projectId: keyrings.projectId })
    .from(ownerLocks)
    .innerJoin(keyrings, eq(keyrings.id, ownerLocks.keyringId))
    .where(and(eqIfGiven(keyrings.projectId, input.projectId), gtIfGiven(ownerLocks.id, input.after)))
    .orderBy(asc(ownerLocks.id))
    .limit(input.limit)

export const pageOfKeyrings = (db: Queryable, input: Page<string>) =>
  db
    .select({
      ...pickColumns(keyrings, 'id', 'projectId', 'kind', 'sealed'),
      controlModes: sql<
        ControlMode[]
      >`array(select l.control_mode from owner_locks l where l.keyring_id = keyrings.id)`,
    })
    .from(keyrings)
    .where(and(eqIfGiven(keyrings.projectId, input.projectId), gtIfGiven(keyrings.id, input.after)))
    .orderBy(asc(keyrings.id))
    .limit(input.limit)

type LockState = Pick<typeof ownerLocks.$inferSelect, 'sealed' | 'policiesOnly' | 'version'>

/** @returns null if the lock's bytes are not `was` any more. @throws NotWritten */
export const updateOwnerLock = (
  tx: Tx,
  { id, was, ...set }: LockState & { readonly id: string; readonly was: Uint8Array },
): Promise<RowImage | null> => {
  const where = and(eq(ownerLocks.id, id), eq(ownerLocks.sealed, was))
  return updateProven(tx, ownerLocks, { meant: { id, ...set }, set, where })
}

export const holdOwnerLocks = (tx: Tx, keyringId: string) =>
  tx
    .select({ controlMode: ownerLocks.controlMode, version: ownerLocks.version })
    .from(ownerLocks)
    .where(eq(ownerLocks.keyringId, keyringId))
    .orderBy(asc(ownerLocks.id))
    .for('share')

export const locksUnderPolicies = (
  db: Queryable,
  { projectId, ownerId }: { readonly projectId: string; readonly ownerId: string },
) =>
  db
    .select(LOCK)
    .from(ownerLocks)
    .innerJoin(keyrings, eq(keyrings.id, ownerLocks.keyringId))
    .where(and(eq(keyrings.projectId, projectId), eq(keyrings.ownerId, ownerId), eq(ownerLocks.policiesOnly, true)))
    .orderBy(asc(ownerLocks.id))

/** A credential's key as it was read. It is replaced only if both are still the same. */
type Versioned = Pick<typeof developerKeys.$inferSelect, 'sealed' | 'version'>

export const readDeveloperKey = (db: Queryable, projectId: string): Promise<Versioned | null> =>
  firstRow(
    db
      .select({ sealed: developerKeys.sealed, version: developerKeys.version })
      .from(developerKeys)
      .where(eq(developerKeys.projectId, projectId)),
  )

export const pageOfDeveloperKeys = (db: Queryable, { projectId, after, limit }: Page<string>) => {
  const { projectId: id, sealed, version } = developerKeys
  return db
    .select({ id, projectId: id, sealed, version })
    .from(developerKeys)
    .where(and(eqIfGiven(id, projectId), gtIfGiven(id, after)))
    .orderBy(asc(id))
    .limit(limit)
}

/** @throws NotWritten */
export const insertDeveloperKey = (db: Queryable, row: typeof developerKeys.$inferInsert): Promise<RowImage> =>
  insertProven(db, developerKeys, row)

const isStill = (table: typeof developerKeys | typeof userKeys, was: Versioned) =>
  and(eq(table.version, was.version), eq(table.sealed, was.sealed))

/** @returns null if the row is not `was` any more. @throws NotWritten */
export const updateDeveloperKey = (
  db: Queryable,
  { projectId, was, ...next }: Versioned & { readonly projectId: string; readonly was: Versioned },
): Promise<RowImage | null> =>
  updateProven(db, developerKeys, {
    meant: { projectId, ...next },
    set: { ...next, updatedAt: sql`now()` },
    where: and(eq(developerKeys.projectId, projectId), isStill(developerKeys, was)),
  })

export type NewUserKeyRow = typeof userKeys.$inferInsert & {
  /** The row that counts wrong PINs. */
  readonly guessesMac: Uint8Array
}

/** Inserts the owner's user key, and the row that counts wrong PINs. @throws NotWritten */
export const insertUserKey = async (
  db: Queryable,
  { guessesMac: mac, ...row }: NewUserKeyRow,
): Promise<readonly RowImage[]> => {
  const { projectId, ownerId } = row
  const guesses = { projectId, ownerId, fails: 0, total: 0, lockedUntil: null, revision: 0, mac }
  return [await insertProven(db, userKeys, row), await insertProven(db, pinGuesses, guesses)]
}

type UserKeyRow = typeof userKeys.$inferSelect
type Owner = Pick<UserKeyRow, 'projectId' | 'ownerId'>

const ofOwner = (owner: Owner) => and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId))

export const pageOfUserKeys = (db: Queryable, { projectId, after, limit }: Page<Owner>) => {
  const { projectId: project, ownerId: owner, sealed, version } = userKeys
  const isAfter =
    after === null ? undefined : sql`(${project}, ${owner}) > (${after.projectId}::uuid, ${after.ownerId}::text)`
  return db
    .select({ id: { projectId: project, ownerId: owner }, sealed, version })
    .from(userKeys)
    .where(and(eqIfGiven(project, projectId), isAfter))
    .orderBy(asc(project), asc(owner))
    .limit(limit)
}

export const readUserKey = (
  db: Queryable,
  owner: Owner,
): Promise<(UserKeyRow & { readonly freezeMacs: Uint8Array | null }) | null> =>
  firstRow(
    db
      .select({ ...getTableColumns(userKeys), freezeMacs: selectFreezeMacs(owner.projectId) })
      .from(userKeys)
      .where(ofOwner(owner)),
  )

/** @returns null if the row is not `was` any more. @throws NotWritten */
export const updateUserKey = (
  db: Queryable,
  { projectId, ownerId, was, ...next }: Owner & Versioned & { readonly was: Versioned; readonly salt: Uint8Array },
): Promise<RowImage | null> =>
  updateProven(db, userKeys, {
    meant: { projectId, ownerId, ...next },
    set: { ...next, updatedAt: sql`now()` },
    where: and(ofOwner({ projectId, ownerId }), isStill(userKeys, was)),
  })

export type NewOwnerLockRow = typeof ownerLocks.$inferInsert

/** @throws NotWritten */
export const insertOwnerLock = (db: Queryable, row: NewOwnerLockRow): Promise<RowImage> =>
  insertProven(db, ownerLocks, row)
