import { and, eq, max, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Db, Queryable } from '../../client.ts'
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
import { CONTROL_MODES, type ControlMode, type KeyringKind, type Network } from '../../words.ts'
import { freezeMacsOf } from '../freezes.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage, requireImage } from './proofs.ts'

export type DeveloperKeyRow = Pick<typeof developerKeys.$inferSelect, 'sealed' | 'version'>
export type UserKeyRow = Pick<typeof userKeys.$inferSelect, 'salt' | 'sealed' | 'version'>
export type OwnerLockRow = Pick<
  typeof ownerLocks.$inferSelect,
  'id' | 'controlMode' | 'sealed' | 'policiesOnly' | 'version'
>

/** Everything that opens a wallet's private key: the sealed key, the lock of the wallet's mode, and both credentials' keys. */
export type WalletKeyRow = {
  readonly walletId: string
  readonly sealed: Uint8Array
  readonly lock: OwnerLockRow
  readonly developerKey: DeveloperKeyRow | null
  readonly userKey: UserKeyRow | null
  readonly freezeMacs: Uint8Array | null
}

const developerKeyColumns = { sealed: developerKeys.sealed, version: developerKeys.version }
const userKeyColumns = { salt: userKeys.salt, sealed: userKeys.sealed, version: userKeys.version }

/** A project's developer key, as columns of a row. */
export type DeveloperKeyColumns = {
  readonly developerSealed: Uint8Array | null
  readonly developerVersion: number | null
}

type WalletKeyColumns = Pick<WalletKeyRow, 'walletId' | 'sealed' | 'freezeMacs'> &
  DeveloperKeyColumns & {
    readonly lockId: string
    readonly lockSealed: Uint8Array
    readonly controlMode: ControlMode
    readonly policiesOnly: boolean
    readonly lockVersion: number
    readonly userSalt: Uint8Array | null
    readonly userSealed: Uint8Array | null
    readonly userVersion: number | null
  }

export const developerKeyOf = ({ developerSealed: sealed, developerVersion: version }: DeveloperKeyColumns) =>
  sealed === null || version === null ? null : { sealed, version }

const userKeyOf = (row: WalletKeyColumns): UserKeyRow | null =>
  row.userSalt === null || row.userSealed === null || row.userVersion === null
    ? null
    : { salt: row.userSalt, sealed: row.userSealed, version: row.userVersion }

const lockOf = (row: WalletKeyColumns): OwnerLockRow => ({
  id: row.lockId,
  sealed: row.lockSealed,
  controlMode: row.controlMode,
  policiesOnly: row.policiesOnly,
  version: row.lockVersion,
})

/** All that a signature needs, for many wallets at once; a prepared statement. */
export const readWalletKeys = async (db: Db, ids: readonly string[]): Promise<readonly WalletKeyRow[]> => {
  const rows = await db.prepared<WalletKeyColumns>`
    select k.wallet_id as "walletId", k.sealed, l.id as "lockId", l.sealed as "lockSealed",
      l.control_mode as "controlMode", l.policies_only as "policiesOnly", l.version as "lockVersion",
      d.sealed as "developerSealed", d.version as "developerVersion", u.salt as "userSalt", u.sealed as "userSealed",
      u.version as "userVersion",
      (select string_agg(f.mac, ''::bytea order by f.id) from public.freeze_lists f
        where f.id in ('00000000-0000-0000-0000-000000000000', w.project_id)) as "freezeMacs"
    from public.wallet_keys k
    join public.wallets w on w.id = k.wallet_id
    join public.owner_locks l on l.keyring_id = w.keyring_id and l.control_mode = w.control_mode
    left join public.developer_keys d on d.project_id = w.project_id
    left join public.user_keys u on u.project_id = w.project_id and u.owner_id = w.owner_id
    where k.wallet_id = any(${[...ids]}::uuid[])`
  return rows.map((row) => ({
    walletId: row.walletId,
    sealed: row.sealed,
    lock: lockOf(row),
    developerKey: developerKeyOf(row),
    userKey: userKeyOf(row),
    freezeMacs: row.freezeMacs,
  }))
}

type OwnerSeedRow = Pick<typeof keyrings.$inferSelect, 'id' | 'sealed' | 'imported' | 'createdAt'>

type Locks<Lock> = Readonly<Record<ControlMode, Lock | null>>

/** What a wallet was made of. */
type MadeWallet = Pick<typeof walletKeys.$inferSelect, 'keyringId' | 'network' | 'controlMode' | 'publicKey'> &
  Pick<typeof keyrings.$inferSelect, 'projectId' | 'ownerId'>

/** What is needed to make a wallet: the owner's keys, seed and locks. */
export type OwnerRow = {
  readonly freezeMacs: Uint8Array | null
  readonly projectKeyVersion: number
  readonly developerKey: DeveloperKeyRow | null
  readonly userKey: UserKeyRow | null
  readonly seed: OwnerSeedRow | null
  /** The locks of the seed's keyring. */
  readonly locks: Locks<OwnerLockRow & Pick<typeof ownerLocks.$inferSelect, 'familyKeys'>>
  /** null if there is no key of the wallet. */
  readonly made: MadeWallet | null
}

/** @returns null if the project does not exist. */
export const readOwner = async (
  db: Queryable,
  input: {
    readonly projectId: string
    readonly ownerId: string
    readonly network: Network
    readonly walletId: string
  },
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
      freezeMacs: freezeMacsOf(input.projectId),
      projectKeyVersion: newest.version,
      developerKey: developerKeyColumns,
      userKey: userKeyColumns,
      seed: { id: keyrings.id, sealed: keyrings.sealed, imported: keyrings.imported, createdAt: keyrings.createdAt },
      developerLock: {
        id: developerLocks.id,
        controlMode: developerLocks.controlMode,
        sealed: developerLocks.sealed,
        policiesOnly: developerLocks.policiesOnly,
        version: developerLocks.version,
        familyKeys: developerLocks.familyKeys,
      },
      userLock: {
        id: userLocks.id,
        controlMode: userLocks.controlMode,
        sealed: userLocks.sealed,
        policiesOnly: userLocks.policiesOnly,
        version: userLocks.version,
        familyKeys: userLocks.familyKeys,
      },
      walletKey: {
        keyringId: walletKeys.keyringId,
        network: walletKeys.network,
        controlMode: walletKeys.controlMode,
        publicKey: walletKeys.publicKey,
      },
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
  const { freezeMacs, projectKeyVersion, developerKey, userKey, seed, developerLock, userLock } = row
  const locks = { developer: developerLock, user: userLock }
  const made = row.walletKey === null || row.madeOf === null ? null : { ...row.walletKey, ...row.madeOf }
  return { freezeMacs, projectKeyVersion, developerKey, userKey, seed, locks, made }
}

/** Everything that opens a wallet's keyring and the wallet's own key: the sealed seed, all locks, and both credentials' keys. */
export type KeyringRow = {
  readonly freezeMacs: Uint8Array | null
  readonly kind: KeyringKind
  readonly sealed: Uint8Array
  readonly walletKey: Uint8Array
  readonly locks: Locks<OwnerLockRow>
  /** The control modes of the locks. */
  readonly controlModes: readonly ControlMode[]
  readonly developerKey: DeveloperKeyRow | null
  readonly userKey: UserKeyRow | null
}

/** The keyring of a wallet. */
export const readKeyring = async (
  db: Queryable,
  wallet: Pick<typeof wallets.$inferSelect, 'id' | 'projectId' | 'ownerId' | 'network' | 'keyringId'>,
): Promise<KeyringRow | null> => {
  const { id: walletId, projectId, ownerId, keyringId } = wallet
  const rows = await db
    .select({
      freezeMacs: freezeMacsOf(projectId),
      kind: keyrings.kind,
      sealed: keyrings.sealed,
      walletKey: walletKeys.sealed,
      lock: {
        id: ownerLocks.id,
        controlMode: ownerLocks.controlMode,
        sealed: ownerLocks.sealed,
        policiesOnly: ownerLocks.policiesOnly,
        version: ownerLocks.version,
      },
      developerKey: developerKeyColumns,
      userKey: userKeyColumns,
    })
    .from(keyrings)
    .innerJoin(walletKeys, eq(walletKeys.walletId, walletId))
    .innerJoin(ownerLocks, eq(ownerLocks.keyringId, keyrings.id))
    .leftJoin(developerKeys, eq(developerKeys.projectId, keyrings.projectId))
    .leftJoin(userKeys, and(eq(userKeys.projectId, keyrings.projectId), eq(userKeys.ownerId, keyrings.ownerId)))
    .where(and(eq(keyrings.id, keyringId), eq(keyrings.projectId, projectId), eq(keyrings.ownerId, ownerId)))
  const [row] = rows
  if (row === undefined) return null
  const locks = rows.map(({ lock }) => lock)
  const lockOf = (mode: ControlMode) => locks.find(({ controlMode }) => controlMode === mode) ?? null
  const controlModes = locks.map(({ controlMode }) => controlMode)
  return { ...row, locks: { developer: lockOf('developer'), user: lockOf('user') }, controlModes }
}

type AskedWallet = Parameters<typeof readKeyring>[1]

type KeyringColumns = WalletKeyColumns & Pick<KeyringRow, 'kind' | 'walletKey'> & { readonly place: number }

/** The keyrings of many wallets, in the order of the wallets; a prepared statement. */
export const readKeyrings = async (db: Db, asked: readonly AskedWallet[]): Promise<readonly (KeyringRow | null)[]> => {
  const of = (member: keyof AskedWallet) => asked.map((wallet) => wallet[member])
  const rows = await db.prepared<KeyringColumns>`
    select a.place::int, k.kind, k.sealed, wk.sealed as "walletKey", l.id as "lockId", l.sealed as "lockSealed",
      l.control_mode as "controlMode", l.policies_only as "policiesOnly", l.version as "lockVersion",
      d.sealed as "developerSealed", d.version as "developerVersion", u.salt as "userSalt", u.sealed as "userSealed",
      u.version as "userVersion",
      (select string_agg(f.mac, ''::bytea order by f.id) from public.freeze_lists f
        where f.id in ('00000000-0000-0000-0000-000000000000', a.project_id)) as "freezeMacs"
    from unnest(${of('id')}::uuid[], ${of('projectId')}::uuid[], ${of('ownerId')}::text[], ${of('network')}::text[],
      ${of('keyringId')}::uuid[]) with ordinality as a(wallet_id, project_id, owner_id, network, keyring_id, place)
    join public.keyrings k on k.id = a.keyring_id and k.project_id = a.project_id and k.owner_id = a.owner_id
    join public.wallet_keys wk on wk.wallet_id = a.wallet_id
    join public.owner_locks l on l.keyring_id = k.id
    left join public.developer_keys d on d.project_id = k.project_id
    left join public.user_keys u on u.project_id = k.project_id and u.owner_id = k.owner_id`
  const byPlace = Map.groupBy(rows, ({ place }) => place)
  return asked.map((_, index) => {
    const own = byPlace.get(index + 1) ?? []
    const [row] = own
    if (row === undefined) return null
    const locks = own.map(lockOf)
    const of = (mode: ControlMode) => locks.find(({ controlMode }) => controlMode === mode) ?? null
    const { freezeMacs, kind, sealed, walletKey } = row
    const controlModes = locks.map(({ controlMode }) => controlMode)
    const opening = { freezeMacs, kind, sealed, walletKey, developerKey: developerKeyOf(row), userKey: userKeyOf(row) }
    return { ...opening, locks: { developer: of('developer'), user: of('user') }, controlModes }
  })
}

export type NewKeyringRow = typeof keyrings.$inferInsert

/** @throws NotWritten */
export const insertKeyring = async (db: Queryable, row: NewKeyringRow): Promise<RowImage> =>
  requireImage(
    keyrings,
    row,
    await db
      .insert(keyrings)
      .values(row)
      .returning(proofOf(keyrings, row, 1)),
  )

/** Replaces a sealed seed by one under both credentials. @returns null if its bytes are not `was` any more. @throws NotWritten */
export const replaceSeed = async (
  db: Queryable,
  input: { readonly keyringId: string; readonly was: Uint8Array; readonly sealed: Uint8Array },
): Promise<RowImage | null> => {
  const { keyringId: id, was, sealed } = input
  const meant = { id, sealed }
  const written = await db
    .update(keyrings)
    .set({ sealed })
    .where(and(eq(keyrings.id, id), eq(keyrings.sealed, was)))
    .returning(proofOf(keyrings, meant, CONTROL_MODES.length))
  return provenImage(keyrings, meant, written)
}

/** @throws NotWritten */
export const insertWalletKey = async (db: Queryable, row: typeof walletKeys.$inferInsert): Promise<RowImage> =>
  requireImage(walletKeys, row, await db.insert(walletKeys).values(row).returning(proofOf(walletKeys, row)))
