import { and, eq, max, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Db, Queryable } from '../../client.ts'
import { pickColumns } from '../../rows.ts'
import {
  developerKeys,
  keyrings,
  ownerLocks,
  projectKeys,
  projects,
  userKeys,
  walletKeys,
  type wallets,
} from '../../schema.ts'
import { CONTROL_MODES, type ControlMode, type KeyringKind } from '../../words.ts'
import { selectFreezeMacs } from '../freezes.ts'
import type { RowImage } from './journal.ts'
import { insertProven, updateProven } from './proofs.ts'

export type DeveloperKeyRow = Pick<typeof developerKeys.$inferSelect, 'sealed' | 'version'>
export type UserKeyRow = Pick<typeof userKeys.$inferSelect, 'salt' | 'sealed' | 'version'>
type FullLock = typeof ownerLocks.$inferSelect
const LOCK = ['id', 'controlMode', 'sealed', 'policiesOnly', 'version'] as const
export type OwnerLockRow = Pick<FullLock, (typeof LOCK)[number]>

const developerKeyColumns = { sealed: developerKeys.sealed, version: developerKeys.version }
const userKeyColumns = { salt: userKeys.salt, sealed: userKeys.sealed, version: userKeys.version }

type OwnerSeedRow = Pick<typeof keyrings.$inferSelect, 'id' | 'sealed' | 'imported' | 'createdAt'>

type Locks<Lock> = Readonly<Record<ControlMode, Lock | null>>

type MadeWallet = Pick<typeof walletKeys.$inferSelect, 'keyringId' | 'network' | 'controlMode' | 'publicKey'> &
  Pick<typeof keyrings.$inferSelect, 'projectId' | 'ownerId'>

export type OwnerRow = {
  readonly freezeMacs: Uint8Array | null
  readonly projectKeyVersion: number
  readonly developerKey: DeveloperKeyRow | null
  readonly userKey: UserKeyRow | null
  readonly seed: OwnerSeedRow | null
  readonly locks: Locks<OwnerLockRow & Pick<FullLock, 'familyKeys'>>
  /** null if there is no key of the wallet. */
  readonly made: MadeWallet | null
}

/** @returns null if the project does not exist. */
export const readOwner = async (
  db: Queryable,
  input: { readonly projectId: string; readonly ownerId: string; readonly walletId: string },
): Promise<OwnerRow | null> => {
  const developerLocks = alias(ownerLocks, 'developer_locks')
  const userLocks = alias(ownerLocks, 'user_locks')
  const madeOf = alias(keyrings, 'made_of')
  const newest = db
    .select({ version: max(projectKeys.version).as('newest_version') })
    .from(projectKeys)
    .where(eq(projectKeys.projectId, input.projectId))
    .as('newest')
  const [row] = await db
    .select({
      freezeMacs: selectFreezeMacs(input.projectId),
      projectKeyVersion: newest.version,
      developerKey: developerKeyColumns,
      userKey: userKeyColumns,
      seed: { id: keyrings.id, sealed: keyrings.sealed, imported: keyrings.imported, createdAt: keyrings.createdAt },
      developerLock: pickColumns(developerLocks, ...LOCK, 'familyKeys'),
      userLock: pickColumns(userLocks, ...LOCK, 'familyKeys'),
      walletKey: pickColumns(walletKeys, 'keyringId', 'network', 'controlMode', 'publicKey'),
      madeOf: { projectId: madeOf.projectId, ownerId: madeOf.ownerId },
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
    .leftJoin(walletKeys, eq(walletKeys.walletId, input.walletId))
    .leftJoin(madeOf, eq(madeOf.id, walletKeys.keyringId))
    .where(eq(projects.id, input.projectId))
  if (row === undefined || row.projectKeyVersion === null) return null
  const { projectKeyVersion, developerLock, userLock, walletKey, madeOf: keyring, ...others } = row
  const made = walletKey === null || keyring === null ? null : { ...walletKey, ...keyring }
  return { ...others, projectKeyVersion, locks: { developer: developerLock, user: userLock }, made }
}

/** A wallet, as both its row in `wallets` and the rows of its key say. */
export type WalletRow = Pick<
  typeof wallets.$inferSelect,
  'id' | 'projectId' | 'ownerId' | 'network' | 'keyringId' | 'controlMode' | 'type' | 'publicKey' | 'address'
>

/**
 * Everything that opens a wallet's key and its keyring: the sealed key and seed, all locks, and both credentials' keys.
 */
export type WalletKeyRow = {
  /** null if `wallets` has no such row, or another one. */
  readonly wallet: WalletRow | null
  /** The wallet's sealed key. */
  readonly walletKey: Uint8Array
  readonly kind: KeyringKind
  /** The sealed seed. */
  readonly sealed: Uint8Array
  readonly locks: Locks<OwnerLockRow>
  readonly controlModes: readonly ControlMode[]
  readonly developerKey: DeveloperKeyRow | null
  readonly userKey: UserKeyRow | null
  readonly freezeMacs: Uint8Array | null
}

type WalletKeyColumns = Pick<WalletKeyRow, 'walletKey' | 'kind' | 'sealed' | 'freezeMacs'> &
  Omit<WalletRow, 'type' | 'address'> & { readonly [Name in 'type' | 'address']: WalletRow[Name] | null } & {
    readonly lockId: string
    readonly lockSealed: Uint8Array
    readonly lockMode: ControlMode
    readonly policiesOnly: boolean
    readonly lockVersion: number
    readonly developerSealed: Uint8Array | null
    readonly developerVersion: number | null
    readonly userSalt: Uint8Array | null
    readonly userSealed: Uint8Array | null
    readonly userVersion: number | null
  }

const developerKeyOf = ({ developerSealed: sealed, developerVersion: version }: WalletKeyColumns) =>
  sealed === null || version === null ? null : { sealed, version }

const userKeyOf = ({ userSalt: salt, userSealed: sealed, userVersion: version }: WalletKeyColumns) =>
  salt === null || sealed === null || version === null ? null : { salt, sealed, version }

const lockOf = (row: WalletKeyColumns): OwnerLockRow => ({
  id: row.lockId,
  sealed: row.lockSealed,
  controlMode: row.lockMode,
  policiesOnly: row.policiesOnly,
  version: row.lockVersion,
})

/**
 * All that signatures of many wallets need, by the wallet's id. A signature waits for it, so it is a prepared
 * statement, shorter than `PREPARED_LENGTH_MAX`.
 */
export const readWalletKeys = async (db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, WalletKeyRow>> => {
  const rows = await db.prepared<WalletKeyColumns>`
    select k.wallet_id id, g.project_id "projectId", g.owner_id "ownerId", k.network, k.keyring_id "keyringId",
      k.control_mode "controlMode", k.public_key "publicKey", w.type, w.address, k.sealed "walletKey", g.kind, g.sealed,
      l.id "lockId", l.sealed "lockSealed", l.control_mode "lockMode", l.policies_only "policiesOnly",
      l.version "lockVersion", d.sealed "developerSealed", d.version "developerVersion", u.salt "userSalt",
      u.sealed "userSealed", u.version "userVersion",
      (select string_agg(f.mac, ''::bytea order by f.id) from public.freeze_lists f
        where f.id in ('00000000-0000-0000-0000-000000000000', g.project_id)) "freezeMacs"
    from public.wallet_keys k join public.keyrings g on g.id = k.keyring_id
    join public.owner_locks l on l.keyring_id = g.id
    left join public.wallets w on (w.id, w.keyring_id, w.network, w.control_mode, w.public_key, w.project_id, w.owner_id)
      = (k.wallet_id, k.keyring_id, k.network, k.control_mode, k.public_key, g.project_id, g.owner_id)
    left join public.developer_keys d on d.project_id = g.project_id
    left join public.user_keys u on u.project_id = g.project_id and u.owner_id = g.owner_id
    where k.wallet_id = any(${[...ids]}::uuid[])`
  const found = new Map<string, WalletKeyRow>()
  for (const [id, own] of Map.groupBy(rows, (row) => row.id)) {
    const [row] = own
    if (row === undefined) continue
    const { projectId, ownerId, network, keyringId, controlMode, publicKey, type, address } = row
    const { walletKey, kind, sealed, freezeMacs } = row
    const wallet = { id, projectId, ownerId, network, keyringId, controlMode, publicKey }
    const locks = own.map(lockOf)
    const ofMode = (mode: ControlMode) => locks.find(({ controlMode }) => controlMode === mode) ?? null
    found.set(id, {
      wallet: type === null || address === null ? null : { ...wallet, type, address },
      walletKey,
      kind,
      sealed,
      locks: { developer: ofMode('developer'), user: ofMode('user') },
      controlModes: locks.map(({ controlMode }) => controlMode),
      developerKey: developerKeyOf(row),
      userKey: userKeyOf(row),
      freezeMacs,
    })
  }
  return found
}

export type NewKeyringRow = typeof keyrings.$inferInsert

/** @throws NotWritten */
export const insertKeyring = (db: Queryable, row: NewKeyringRow): Promise<RowImage> =>
  insertProven(db, keyrings, row, 1)

/** Seals a seed under both credentials. @returns null if its bytes are not `was` any more. @throws NotWritten */
export const replaceSeed = (
  db: Queryable,
  { keyringId: id, was, sealed }: { readonly keyringId: string; readonly was: Uint8Array; readonly sealed: Uint8Array },
): Promise<RowImage | null> =>
  updateProven(db, keyrings, {
    meant: { id, sealed },
    set: { sealed },
    where: and(eq(keyrings.id, id), eq(keyrings.sealed, was)),
    more: CONTROL_MODES.length,
  })

/** @throws NotWritten */
export const insertWalletKey = (db: Queryable, row: typeof walletKeys.$inferInsert): Promise<RowImage> =>
  insertProven(db, walletKeys, row)
