// A new wallet: the owner's seed is opened with the credentials, or made for a new owner, and the wallet's key derived
// from it and sealed by itself. All keys are made and zeroed here; what is written later is sealed.
//
//   the owner has                  it takes                     and makes
//   no seed                        the mode's credential        a keyring, its seed, a lock of the mode
//   a lock of the mode             the mode's credential        nothing more
//   a lock of the other mode only  both credentials             a second lock: control is shared from then on
//
// A user's credential opens the owner's user key where there is one, and otherwise makes it: the PIN is the owner's.

import { randomBytes, randomUUID } from 'node:crypto'
import type { Db, Tx } from '../../db/client.ts'
import {
  insertKeyring,
  insertWalletKey,
  type NewKeyringRow,
  type OwnerRow,
  type OwnerSeedRow,
  readOwner,
} from '../../db/queries/keyrings.ts'
import { insertOwnerLock, insertUserKey, type NewOwnerLockRow, type NewUserKeyRow } from '../../db/queries/locks.ts'
import { type ChainFamily, CONTROL_MODES, type ControlMode } from '../../db/words.ts'
import { notFound } from '../errors.ts'
import type { Audit, AuditAct } from './audit.ts'
import { type CredentialKeys, notActivated } from './credential-keys.ts'
import { type Credentials, modesForCreation, type Proof, requireCredentials } from './credentials.ts'
import { derivationOf, ENTROPY_BYTES } from './derive.ts'
import { HeldKeys } from './held-keys.ts'
import {
  identityOf,
  openKeyring,
  openLock,
  requireCanonicalIds,
  sealKeyring,
  sealLock,
  sealWalletKey,
} from './hierarchy.ts'
import { KEY_BYTES } from './kdf.ts'
import type { ProjectKeys } from './project-keys.ts'

export type NewWalletInput = {
  readonly walletId: string
  readonly projectId: string
  readonly ownerId: string
  readonly controlMode: ControlMode
  readonly family: ChainFamily
  readonly credentials: Credentials
  readonly actor: string
}

export type NewWallet = {
  readonly keyringId: string
  /** 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  readonly publicKey: Uint8Array
  /**
   * Writes keyring, locks and user key where they are new, then calls `insertWallet`, then writes the wallet's sealed key
   * and the audit row. A concurrent first wallet of the same owner shows as a unique violation: begin again.
   */
  write(tx: Tx, insertWallet: () => Promise<void>): Promise<void>
}

type Parts = {
  readonly db: Db
  readonly projectKeys: ProjectKeys
  readonly credentialKeys: CredentialKeys
  readonly audit: Audit
}

type Opening = NewWalletInput & { readonly owner: OwnerRow; readonly keys: HeldKeys }

/** The opened keys of the credentials that belong, by control mode. */
type CredentialKeyOf = Readonly<Record<ControlMode, Uint8Array | null>>

/** Opens the owner's user key with the PIN, or makes it. */
const openUser = async (
  parts: Parts,
  input: Opening & { readonly pin: string },
): Promise<{ readonly key: Uint8Array; readonly newUserKey: NewUserKeyRow | null }> => {
  const { projectId, ownerId, owner, pin, keys } = input
  if (owner.userKey !== null) {
    const key = await parts.credentialKeys.openUser({ projectId, ownerId, row: owner.userKey, pin })
    return { key: keys.hold(key), newUserKey: null }
  }
  const { projectKeyVersion } = owner
  const { key, row } = await parts.credentialKeys.makeUser({ projectId, ownerId, pin, projectKeyVersion })
  return { key: keys.hold(key), newUserKey: row }
}

/** The secret comes first: a wrong one then costs no guess of the PIN. */
const openCredentials = async (
  parts: Parts,
  input: Opening & { readonly proof: Proof },
): Promise<{ readonly credentialKeyOf: CredentialKeyOf; readonly newUserKey: NewUserKeyRow | null }> => {
  const { projectId, owner, keys } = input
  const { developerSecret: secret, userPin: pin } = input.proof
  const developer =
    secret === null
      ? null
      : keys.hold(await parts.credentialKeys.openDeveloper({ projectId, sealed: owner.developerKey, secret }))
  if (pin === null) return { credentialKeyOf: { developer, user: null }, newUserKey: null }
  const { key: user, newUserKey } = await openUser(parts, { ...input, pin })
  return { credentialKeyOf: { developer, user }, newUserKey }
}

type Seed = {
  readonly keyringId: string
  readonly keyringKey: Uint8Array
  readonly entropy: Uint8Array
  /** What is to be written where the seed is new. */
  readonly newKeyring: NewKeyringRow | null
}

const makeSeed = (input: Opening): Seed => {
  const { projectId, ownerId, keys } = input
  const keyringId = randomUUID()
  const keyringKey = keys.hold(randomBytes(KEY_BYTES))
  const entropy = keys.hold(randomBytes(ENTROPY_BYTES))
  const sealed = sealKeyring({ projectId, keyringId, kind: 'seed', keyringKey, secret: entropy })
  return { keyringId, keyringKey, entropy, newKeyring: { id: keyringId, projectId, ownerId, kind: 'seed', sealed } }
}

/** Opens the owner's seed by a lock of whose mode the credential was given. */
const openSeed = async (
  parts: Parts,
  input: Opening & { readonly seed: OwnerSeedRow; readonly credentialKeyOf: CredentialKeyOf },
): Promise<Seed> => {
  const { projectId, owner, seed, keys } = input
  const keyringId = seed.id
  for (const mode of CONTROL_MODES) {
    const lock = owner.locks[mode]
    const credentialKey = input.credentialKeyOf[mode]
    if (lock === null || credentialKey === null) continue
    const of = { projectId, keyringId, lockId: lock.id }
    const inner = await parts.projectKeys.peel({ identity: identityOf.ownerLock(of), sealed: lock.sealed })
    const keyringKey = keys.hold(openLock({ ...of, credentialKey, sealed: inner }))
    const entropy = keys.hold(openKeyring({ projectId, keyringId, kind: 'seed', keyringKey, sealed: seed.sealed }))
    return { keyringId, keyringKey, entropy, newKeyring: null }
  }
  throw new Error('an owner has a seed, and none of the required credentials has a lock of it')
}

/** A lock by which the new wallet's own credential opens the seed from now on. */
const makeLock = async (
  parts: Parts,
  input: Opening & { readonly seed: Seed; readonly credentialKeyOf: CredentialKeyOf },
): Promise<NewOwnerLockRow> => {
  const { projectId, owner, controlMode } = input
  const { keyringId, keyringKey } = input.seed
  const credentialKey = input.credentialKeyOf[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  const lockId = randomUUID()
  const of = { projectId, keyringId, lockId }
  const inner = sealLock({ ...of, credentialKey, keyringKey })
  const identity = identityOf.ownerLock(of)
  const sealed = await parts.projectKeys.addLayer({ version: owner.projectKeyVersion, identity, inner })
  return { id: lockId, keyringId, controlMode, sealed }
}

const auditOf = (input: NewWalletInput & { readonly keyringId: string; readonly shares: boolean }): AuditAct => ({
  projectId: input.projectId,
  actor: input.actor,
  action: 'wallet_created',
  subject: input.walletId,
  details: {
    control_mode: input.controlMode,
    keyring_id: input.keyringId,
    ...(input.shares ? { control_shared: 'true' } : {}),
  },
})

/** Makes a wallet's keys, as `Vault.newWallet` says. */
export const newWallet = async (parts: Parts, input: NewWalletInput): Promise<NewWallet> => {
  using keys = new HeldKeys()
  const { walletId, projectId, ownerId, controlMode, credentials } = input
  requireCanonicalIds([walletId, projectId])
  const derive = derivationOf(input.family)
  const owner = await readOwner(parts.db, { projectId, ownerId })
  if (owner === null) throw notFound('project')
  const locked = CONTROL_MODES.filter((mode) => owner.locks[mode] !== null)
  const proof = requireCredentials({ modes: modesForCreation({ mode: controlMode, locked }), credentials })
  if (owner.developerKey === null) throw notActivated()

  const opening = { ...input, owner, keys }
  const { credentialKeyOf, newUserKey } = await openCredentials(parts, { ...opening, proof })
  const seed =
    owner.seed === null ? makeSeed(opening) : await openSeed(parts, { ...opening, seed: owner.seed, credentialKeyOf })
  const newLock = locked.includes(controlMode) ? null : await makeLock(parts, { ...opening, seed, credentialKeyOf })
  const { keyringId, keyringKey } = seed
  const { privateKey, publicKey } = derive(seed.entropy)
  keys.hold(privateKey)
  const sealed = sealWalletKey({ projectId, keyringId, walletId, keyringKey, privateKey })
  const act = auditOf({ ...input, keyringId, shares: newLock !== null && locked.length > 0 })

  return {
    keyringId,
    publicKey,
    write: async (tx, insertWallet) => {
      if (newUserKey !== null) await insertUserKey(tx, newUserKey)
      if (seed.newKeyring !== null) await insertKeyring(tx, seed.newKeyring)
      if (newLock !== null) await insertOwnerLock(tx, newLock)
      await insertWallet()
      await insertWalletKey(tx, { walletId, sealed })
      await parts.audit.record(tx, act)
    },
  }
}
