import { and, eq, max, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Db, Queryable } from '../client.ts'
import { developerKeys, keyrings, ownerLocks, projectKeys, projects, userKeys, walletKeys } from '../schema.ts'
import type { ControlMode } from '../words.ts'

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

type WalletKeyColumns = {
  readonly walletId: string
  readonly sealed: Uint8Array
  readonly lockId: string
  readonly lockSealed: Uint8Array
  readonly developerKey: Uint8Array | null
  readonly userSalt: Uint8Array | null
  readonly userSealed: Uint8Array | null
  readonly userVersion: number | null
}

const userKeyOf = (row: WalletKeyColumns): UserKeyRow | null =>
  row.userSalt === null || row.userSealed === null || row.userVersion === null
    ? null
    : { salt: row.userSalt, sealed: row.userSealed, version: row.userVersion }

/** The one read of a signature: many wallets at once, by id; a prepared statement. */
export const readWalletKeys = async (db: Db, ids: readonly string[]): Promise<readonly WalletKeyRow[]> => {
  const rows = await db.prepared<WalletKeyColumns[]>`
    select k.wallet_id as "walletId", k.sealed, l.id as "lockId", l.sealed as "lockSealed",
      d.sealed as "developerKey", u.salt as "userSalt", u.sealed as "userSealed", u.version as "userVersion"
    from public.wallet_keys k
    join public.wallets w on w.id = k.wallet_id
    join public.owner_locks l on l.keyring_id = w.keyring_id and l.control_mode = w.control_mode
    left join public.developer_keys d on d.project_id = w.project_id
    left join public.user_keys u on u.project_id = w.project_id and u.owner_id = w.owner_id
    where k.wallet_id = any(${[...ids]}::uuid[])`
  return rows.map((row) => ({
    walletId: row.walletId,
    sealed: row.sealed,
    lock: { id: row.lockId, sealed: row.lockSealed },
    developerKey: row.developerKey,
    userKey: userKeyOf(row),
  }))
}

export type OwnerSeedRow = { readonly id: string; readonly sealed: Uint8Array }

/** Where an owner stands before a wallet is made: what there is of keys, seed and locks. */
export type OwnerRow = {
  readonly projectKeyVersion: number
  readonly developerKey: Uint8Array | null
  readonly userKey: UserKeyRow | null
  readonly seed: OwnerSeedRow | null
  /** Of the seed's keyring. */
  readonly locks: Readonly<Record<ControlMode, OwnerLockRow | null>>
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
  const { projectKeyVersion, developerKey, userKey, seed, developerLock, userLock } = row
  return { projectKeyVersion, developerKey, userKey, seed, locks: { developer: developerLock, user: userLock } }
}

export type NewKeyringRow = typeof keyrings.$inferInsert

export const insertKeyring = async (db: Queryable, row: NewKeyringRow): Promise<void> => {
  await db.insert(keyrings).values(row)
}

export const insertWalletKey = async (db: Queryable, row: typeof walletKeys.$inferInsert): Promise<void> => {
  await db.insert(walletKeys).values(row)
}
