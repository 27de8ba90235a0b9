import { and, eq, max, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Db, Queryable } from '../client.ts'
import { developerKeys, keyrings, ownerLocks, projectKeys, projects, userKeys, walletKeys, wallets } from '../schema.ts'

export type UserKeyRow = { readonly salt: Uint8Array; readonly sealed: Uint8Array; readonly version: number }
export type OwnerLockRow = { readonly id: string; readonly sealed: Uint8Array }

/** What opens a wallet's private key: the key itself, the lock of the wallet's own mode, and both credentials' keys. */
export type WalletKeyRow = {
  readonly walletId: string
  readonly sealed: Uint8Array
  readonly lock: OwnerLockRow
  readonly developerKey: Uint8Array | null
  readonly userKey: UserKeyRow | null
}

const userKeyColumns = { salt: userKeys.salt, sealed: userKeys.sealed, version: userKeys.version }

/** Prepares the one read of a signature: many wallets at once, by id. */
export const prepareWalletKeyRead = (db: Db): ((ids: readonly string[]) => Promise<readonly WalletKeyRow[]>) => {
  const statement = db
    .select({
      walletId: walletKeys.walletId,
      sealed: walletKeys.sealed,
      lock: { id: ownerLocks.id, sealed: ownerLocks.sealed },
      developerKey: developerKeys.sealed,
      userKey: userKeyColumns,
    })
    .from(walletKeys)
    .innerJoin(wallets, eq(wallets.id, walletKeys.walletId))
    .innerJoin(
      ownerLocks,
      and(eq(ownerLocks.keyringId, wallets.keyringId), eq(ownerLocks.controlMode, wallets.controlMode)),
    )
    .leftJoin(developerKeys, eq(developerKeys.projectId, wallets.projectId))
    .leftJoin(userKeys, and(eq(userKeys.projectId, wallets.projectId), eq(userKeys.ownerId, wallets.ownerId)))
    .where(sql`${walletKeys.walletId} = any(${sql.placeholder('ids')}::uuid[])`)
    .prepare('wallet_key_read')
  return (ids) => statement.execute({ ids })
}

export type OwnerSeedRow = { readonly id: string; readonly sealed: Uint8Array }

/** Where an owner stands before a wallet is made: what there is of keys, seed and locks. */
export type OwnerRow = {
  readonly projectKeyVersion: number
  readonly developerKey: Uint8Array | null
  readonly userKey: UserKeyRow | null
  readonly seed: OwnerSeedRow | null
  readonly developerLock: OwnerLockRow | null
  readonly userLock: OwnerLockRow | null
}

/** @returns null where the project does not exist. */
export const readOwner = async (
  db: Queryable,
  input: { readonly projectId: string; readonly ownerId: string },
): Promise<OwnerRow | null> => {
  const developerLocks = alias(ownerLocks, 'developer_locks')
  const userLocks = alias(ownerLocks, 'user_locks')
  const newest = db
    .select({ version: max(projectKeys.version).as('newest_version') })
    .from(projectKeys)
    .where(eq(projectKeys.projectId, input.projectId))
    .as('newest')
  const [row] = await db
    .select({
      projectKeyVersion: newest.version,
      developerKey: developerKeys.sealed,
      userKey: userKeyColumns,
      seed: { id: keyrings.id, sealed: keyrings.sealed },
      developerLock: { id: developerLocks.id, sealed: developerLocks.sealed },
      userLock: { id: userLocks.id, sealed: userLocks.sealed },
    })
    .from(projects)
    .innerJoin(newest, sql`true`)
    .leftJoin(developerKeys, eq(developerKeys.projectId, projects.id))
    .leftJoin(userKeys, and(eq(userKeys.projectId, projects.id), eq(userKeys.ownerId, input.ownerId)))
    .leftJoin(
      keyrings,
      and(eq(keyrings.projectId, projects.id), eq(keyrings.ownerId, input.ownerId), eq(keyrings.kind, 'seed')),
    )
    .leftJoin(
      developerLocks,
      and(eq(developerLocks.keyringId, keyrings.id), eq(developerLocks.controlMode, 'developer')),
    )
    .leftJoin(userLocks, and(eq(userLocks.keyringId, keyrings.id), eq(userLocks.controlMode, 'user')))
    .where(eq(projects.id, input.projectId))
  if (row === undefined || row.projectKeyVersion === null) return null
  return { ...row, projectKeyVersion: row.projectKeyVersion }
}

export const insertKeyring = async (db: Queryable, row: typeof keyrings.$inferInsert): Promise<void> => {
  await db.insert(keyrings).values(row)
}

export const insertWalletKey = async (db: Queryable, row: typeof walletKeys.$inferInsert): Promise<void> => {
  await db.insert(walletKeys).values(row)
}
