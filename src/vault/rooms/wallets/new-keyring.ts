// The keyring that a new wallet comes from. It is made; or one of its locks is opened; or its control is shared from
// now on. Nothing is written here: src/vault/rooms/wallets/new-wallet.ts commits it all together.

import { randomBytes, randomUUID } from 'node:crypto'
import { type NewKeyringRow, type OwnerRow, readOwner } from '../../../../db/queries/vault/keyrings.ts'
import type { NewOwnerLockRow } from '../../../../db/queries/vault/locks.ts'
import { type ChainFamily, CONTROL_MODES, type ControlMode, type KeyringKind } from '../../../../db/words.ts'
import type { HeldKeys } from '../../../platform/sealing/bytes.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import type { RoomCtx } from '../ctx.ts'
import { deriveFamilyKeys, deriveKeyPair, ENTROPY_BYTES, type KeyPair, keyPairFrom } from '../keys/derive.ts'
import type { Imported } from '../keys/imported.ts'
import { type CredentialKeyOf, openFamilyKeys } from '../sealing/hierarchy.ts'
import { makeOwnerLock, makeSeedLock, openOwnerLock, openSeedLock, refuseKeyringUnderPolicies } from './keyring.ts'
import { unlessForged, walletForged } from './read-wallet.ts'

type Input = {
  readonly projectId: string
  readonly ownerId: string
  readonly actor: string
  readonly controlMode: ControlMode
  readonly family: ChainFamily
  readonly owner: OwnerRow
  /** Instead of the owner's seed. */
  readonly importedSecret: Imported | null
  readonly credentialKeyOf: CredentialKeyOf
  /** Holds every key that is opened or made. */
  readonly keys: HeldKeys
}

/** A keyring as far as the wallet's control mode opens it. */
export type OpenKeyring = {
  readonly keyringId: string
  readonly kind: KeyringKind
  readonly controlKey: Uint8Array
  readonly keyPair: KeyPair
  /** Its row; null if the keyring is not new. */
  readonly newKeyring: NewKeyringRow | null
  /** null if the keyring has a lock of the mode. */
  readonly newLock: NewOwnerLockRow | null
  /** If control is shared from now on: the sealed seed as it was, and as it is then. */
  readonly shared: { readonly was: Uint8Array; readonly sealed: Uint8Array } | null
}

/** The modes that control the owner's seed. */
export const modesOfSeed = ({ locks }: OwnerRow): readonly ControlMode[] =>
  CONTROL_MODES.filter((mode) => locks[mode] !== null)

/** How new an owner's rows must be: the version of each lock, and how many locks the seed must have. */
const floorsOf = (ctx: RoomCtx, keyringId: string) => ({
  locks: CONTROL_MODES.map((mode) => ({ mode, versionAtLeast: ctx.journal.floorOf('owner_locks', [keyringId, mode]) })),
  locksAtLeast: ctx.journal.floorOf('keyrings', [keyringId]),
})

const isSetBack = (owner: OwnerRow, mode: ControlMode, floors: ReturnType<typeof floorsOf>): boolean =>
  floors.locks.some((floor) => (owner.locks[floor.mode]?.version ?? 0) < floor.versionAtLeast) ||
  (owner.locks[mode] === null && modesOfSeed(owner).length < floors.locksAtLeast)

/**
 * Reads the owner of a new wallet.
 * @returns null if the project does not exist.
 * @throws internal, with a security event, if the locks of the owner's seed were replaced by earlier ones.
 */
export const readOwnerOfNew = async (
  ctx: RoomCtx,
  input: Parameters<typeof readOwner>[1] & Pick<Input, 'controlMode' | 'actor'>,
): Promise<OwnerRow | null> => {
  const { projectId, controlMode, actor } = input
  const owner = await readOwner(ctx.db, input)
  const keyringId = owner?.seed?.id
  if (owner === null || keyringId === undefined) return owner
  const floors = floorsOf(ctx, keyringId)
  if (!isSetBack(owner, controlMode, floors)) return owner
  // The rows may have changed after the floors were read. Then they are newer than the floors, which is fine.
  const again = await readOwner(ctx.db, input)
  if (again === null || !isSetBack(again, controlMode, floors)) return again
  throw walletForged({ wallet: { projectId, id: keyringId }, actor })
}

const ownCredentialKey = ({ controlMode, credentialKeyOf }: Input): Uint8Array => {
  const credentialKey = credentialKeyOf[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  return credentialKey
}

type Seed = { readonly keyringId: string; readonly kind: KeyringKind; readonly seed: Uint8Array }

/** Makes the control key of the wallet's mode, and its lock. */
const makeControl = async (ctx: RoomCtx, { keyringId, kind, seed, ...input }: Input & Seed) => {
  const { projectId, controlMode, family, owner, keys } = input
  const controlKey = keys.hold(randomBytes(KEY_BYTES))
  const familyKeys = kind === 'seed' ? keys.hold(await deriveFamilyKeys(ctx, seed)) : null
  const keyPair =
    familyKeys === null ? await deriveKeyPair(ctx, { family, kind, secret: seed }) : keyPairFrom({ family, familyKeys })
  keys.hold(keyPair.privateKey)
  const credentialKey = ownCredentialKey(input)
  const { projectKeyVersion } = owner
  const scope = { projectId, keyringId, controlMode, controlKey, familyKeys, credentialKey, projectKeyVersion }
  return { controlKey, keyPair, newLock: await makeOwnerLock(ctx, scope) }
}

const makeKeyring = async (ctx: RoomCtx, input: Input): Promise<OpenKeyring> => {
  const { projectId, ownerId, controlMode, credentialKeyOf, owner, importedSecret, keys } = input
  const isSeed = owner.seed === null && importedSecret?.kind !== 'key'
  const kind: KeyringKind = isSeed ? 'seed' : (importedSecret?.kind ?? 'seed')
  const keyringId = randomUUID()
  const seed = importedSecret?.secret ?? keys.hold(randomBytes(ENTROPY_BYTES))
  const { projectKeyVersion } = owner
  const scope = { projectId, keyringId, kind, controlModes: [controlMode], credentialKeyOf, seed, projectKeyVersion }
  const sealed = await makeSeedLock(ctx, scope)
  const imported = importedSecret !== null
  const newKeyring: NewKeyringRow = { id: keyringId, projectId, ownerId, kind, sealed, imported }
  return { keyringId, kind, newKeyring, shared: null, ...(await makeControl(ctx, { ...input, keyringId, kind, seed })) }
}

type SeedRow = { readonly seedRow: NonNullable<OwnerRow['seed']> }

/** Opens the lock that the wallet's mode has of the owner's seed. The seed itself stays sealed. */
const openControl = async (
  ctx: RoomCtx,
  { seedRow, lock, ...input }: Input & SeedRow & { readonly lock: NonNullable<OwnerRow['locks'][ControlMode]> },
): Promise<OpenKeyring> => {
  const { projectId, controlMode, family, keys } = input
  const { id: keyringId } = seedRow
  const { id: lockId, familyKeys: sealed } = lock
  if (sealed === null) throw new Error('a lock of a seed has no family keys')
  const credentialKey = ownCredentialKey(input)
  const controlKey = keys.hold(await openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }))
  const familyKeys = keys.hold(openFamilyKeys({ projectId, keyringId, lockId, controlMode, controlKey, sealed }))
  const keyPair = keyPairFrom({ family, familyKeys })
  keys.hold(keyPair.privateKey)
  return { keyringId, kind: 'seed', controlKey, keyPair, newKeyring: null, newLock: null, shared: null }
}

/** Opens the owner's seed with the other mode's credential, and seals it anew with both. */
const shareControl = async (ctx: RoomCtx, { seedRow, ...input }: Input & SeedRow): Promise<OpenKeyring> => {
  const { projectId, credentialKeyOf, owner, keys } = input
  const { id: keyringId, sealed: was } = seedRow
  const { projectKeyVersion } = owner
  const scope = { projectId, keyringId, kind: 'seed', credentialKeyOf } as const
  const seed = keys.hold(await openSeedLock(ctx, { ...scope, controlModes: modesOfSeed(owner), sealed: was }))
  const sealed = await makeSeedLock(ctx, { ...scope, controlModes: CONTROL_MODES, seed, projectKeyVersion })
  const control = await makeControl(ctx, { ...input, keyringId, kind: 'seed', seed })
  return { keyringId, kind: 'seed', newKeyring: null, shared: { was, sealed }, ...control }
}

/** Opens, shares or makes the keyring of a new wallet, with the keys of the credentials that it needs. */
export const keyringFor = async (ctx: RoomCtx, input: Input): Promise<OpenKeyring> => {
  const { owner, importedSecret, controlMode, projectId, actor } = input
  const { seed: seedRow, locks } = owner
  if (seedRow === null || importedSecret !== null) return makeKeyring(ctx, input)
  const { id: keyringId } = seedRow
  if (owner.made === null) {
    await unlessForged({ wallet: { projectId, id: keyringId }, actor }, () =>
      refuseKeyringUnderPolicies(ctx, { projectId, keyringId, locks }),
    )
  }
  const lock = locks[controlMode]
  return lock === null ? shareControl(ctx, { ...input, seedRow }) : openControl(ctx, { ...input, seedRow, lock })
}
