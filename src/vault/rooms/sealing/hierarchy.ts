// The hierarchy of keys, from a credential to one wallet's private key. These functions are pure: bytes in, bytes out.
//
//   developer key  (random, one a project)  sealed under HMAC(developer secret, "developer key" ‖ project). From it
//                    comes a key pair: the public key stands before the sealed developer key
//   user key       (random, one an owner)   sealed under HKDF(argon2id(PIN, salt), "user key" ‖ project ‖ owner), and
//                    in a user key lock for each further secret, under
//                    HKDF(secret, "user key lock" ‖ project ‖ owner ‖ kind ‖ passkey)
//   control key    (random, one for each     sealed in an owner lock, under
//                  keyring and control mode)   HKDF(developer key | user key, "owner lock" ‖ lock)
//     ├ wallet key = HKDF(control key, "wallet" ‖ wallet)   seals that wallet's private key: what signing opens
//     └ family keys  the seed's private keys, one for each family, from which further wallets of the mode come, sealed
//                    under HKDF(control key, "family keys" ‖ lock)
//   seed           the keyring's entropy, phrase or imported key, sealed in the seed lock, under
//                    HKDF(keys of all modes that control the keyring, "seed lock" ‖ keyring ‖ modes).
//                    So if control is shared, the seed needs developer key ‖ user key
//
// A policy lock lets the developer open one wallet's key without the owner lock: it holds the wallet key, sealed by
// HPKE to the public key of HKDF(developer key, "policies" ‖ project). So a user makes one without the developer's
// secret. A wallet key does not reveal the control key, so a policy lock opens no other wallet and no family key. The
// terms of the policy are bound into both layers: edited ones open nothing.
//
// That the developer key or the user key opens is the check of the credential; no hash of a credential is stored.
// Developer keys, user keys and all locks get an outer layer under the project's key (project-keys.ts), so even
// database and root key together open nothing without the credential. These functions seal and open the inner layer.
// The receiver of a key zeroes it.

import {
  CONTROL_MODES,
  type ControlMode,
  type KeyringKind,
  type Network,
  type UserSecretKind,
  type WalletType,
} from '../../../../db/words.ts'
import { type BoundFields, encodeFields, HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import {
  EnvelopeError,
  encodeIdentity,
  NO_KEY_ID,
  open,
  type RowIdentity,
  seal,
} from '../../../platform/sealing/envelope.ts'
import { deriveKey, hmac, KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { openSealedTo, publicKeyOf, sealTo } from './hpke.ts'

type Project = { readonly projectId: string }
type Owner = Project & { readonly ownerId: string }
/** It rises with each change of a credential, so what an earlier one opened does not open as the later one's. */
type Version = { readonly version: number }
type DeveloperKey = Project & Version
type UserKey = Owner & Version
type UserKeyLock = UserKey & { readonly kind: UserSecretKind; readonly passkeyId: string }
type Keyring = Project & { readonly keyringId: string }
type OwnerLock = Keyring & { readonly lockId: string; readonly controlMode: ControlMode }
/** The parts of a lock that can change without a credential. So only its outer layer binds them. */
type OuterOwnerLock = OwnerLock & { readonly policiesOnly: boolean; readonly version: number }
/** The modes say which credentials open the seed, so they are bound. */
type SeedLock = Keyring & {
  readonly kind: KeyringKind
  /** All that control the keyring, in any order. */
  readonly controlModes: readonly ControlMode[]
}
type Wallet = Keyring & { readonly walletId: string }
/** What decides for what the key signs, who may use it and whether it is frozen. A key's two wallets differ in type. */
type WalletKey = Wallet & {
  readonly network: Network
  readonly controlMode: ControlMode
  readonly type: WalletType
  readonly ownerId: string
}
type PolicyLock = Wallet & { readonly lockId: string; readonly terms: BoundFields }

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** For new rows: the database returns UUIDs in lower case, so a row sealed with an upper-case id would never open. */
export const requireCanonicalIds = (ids: readonly string[]): void => {
  if (!ids.every((id) => CANONICAL_UUID.test(id))) throw new Error('an id to seal under is not a UUID in lower case')
}

/** The opened keys of the credentials that were given, by control mode. */
export type CredentialKeyOf = Readonly<Record<ControlMode, Uint8Array | null>>

const inOrder = (modes: readonly ControlMode[]) => CONTROL_MODES.filter((mode) => modes.includes(mode))

type Place = Project & Partial<Omit<RowIdentity, 'projectId' | 'purpose'>> & { readonly rowId: string }

const identity = (purpose: string, place: Place): RowIdentity => ({ keyringId: '', walletId: '', purpose, ...place })

const ofOwnerLock = (purpose: string, { projectId, keyringId, lockId: rowId, controlMode }: OwnerLock): RowIdentity =>
  identity(purpose, { projectId, keyringId, rowId, bound: { control_mode: controlMode } })

/** The identities under which rows are sealed. They are part of the frozen format. */
export const identityOf = {
  projectKey: ({ projectId, version }: Project & Version) =>
    identity('project key', { projectId, rowId: String(version) }),
  developerKey: ({ projectId, version }: DeveloperKey) =>
    identity('developer key', { projectId, rowId: projectId, bound: { version } }),
  userKey: ({ projectId, ownerId: rowId, version }: UserKey) =>
    identity('user key', { projectId, rowId, bound: { version } }),
  userKeyLock: ({ projectId, ownerId: rowId, kind, passkeyId, version }: UserKeyLock) =>
    identity('user key lock', { projectId, rowId, bound: { kind, passkey_id: passkeyId, version } }),
  pinGuesses: ({ projectId, ownerId: rowId }: Owner) => identity('pin guesses', { projectId, rowId }),
  seedLock: ({ projectId, keyringId, kind, controlModes }: SeedLock) => {
    const bound = { kind, control_modes: inOrder(controlModes).join(' ') }
    return identity('seed lock', { projectId, keyringId, rowId: keyringId, bound })
  },
  ownerLock: (row: OwnerLock) => ofOwnerLock('owner lock', row),
  /** The identity of the outer layer. It equals the inner one if the lock was never put under policies. */
  outerOwnerLock: ({ policiesOnly, version, ...row }: OuterOwnerLock): RowIdentity => {
    const inner = ofOwnerLock('owner lock', row)
    if (!policiesOnly && version === 1) return inner
    return { ...inner, bound: { ...inner.bound, policies_only: String(policiesOnly), version } }
  },
  familyKeys: (row: OwnerLock) => ofOwnerLock('family keys', row),
  walletKey: ({ projectId, keyringId, walletId, ...row }: WalletKey) => {
    const bound = { network: row.network, control_mode: row.controlMode, type: row.type, owner_id: row.ownerId }
    return identity('wallet key', { projectId, keyringId, walletId, rowId: walletId, bound })
  },
  policyLock: ({ projectId, keyringId, walletId, lockId: rowId, terms: bound }: PolicyLock) =>
    identity('policy lock', { projectId, keyringId, walletId, rowId, bound }),
  policySpending: ({ projectId, policyId: rowId }: Project & { readonly policyId: string }) =>
    identity('policy spending', { projectId, rowId }),
  delegateList: ({ projectId }: Project) => identity('delegate list', { projectId, rowId: projectId }),
}

type Under = { readonly key: Uint8Array; readonly identity: RowIdentity }

/** Seals under a key that was derived for this value alone, and zeroes the key. */
const sealUnder = (under: Under, plaintext: Uint8Array): Uint8Array => {
  try {
    return seal({ ...under, keyId: NO_KEY_ID, plaintext })
  } finally {
    under.key.fill(0)
  }
}

const openUnder = (under: Under, sealed: Uint8Array): Uint8Array => {
  try {
    return open({ ...under, keyId: NO_KEY_ID, sealed })
  } finally {
    under.key.fill(0)
  }
}

/** As `openUnder`. @returns null if the credential from which the key comes is wrong. */
const openUnderCredential = (under: Under, sealed: Uint8Array): Uint8Array | null => {
  try {
    return openUnder(under, sealed)
  } catch (error) {
    if (error instanceof EnvelopeError && error.fault === 'authentication failed') return null
    throw error
  }
}

const underSecret = (row: DeveloperKey & { readonly secret: SecretText }): Under => ({
  key: hmac({ key: row.secret, message: encodeFields(['developer key', row.projectId]) }),
  identity: identityOf.developerKey(row),
})

/** The private key to which policies of a project are sealed. */
const policiesKeyOf = (row: Project & { readonly developerKey: Uint8Array }): Uint8Array =>
  deriveKey(row.developerKey, ['policies', row.projectId])

/** @returns the public key for policies (32 bytes), then the envelope of the developer key. */
export const sealDeveloperKey = (
  row: DeveloperKey & { readonly secret: SecretText; readonly developerKey: Uint8Array },
): Uint8Array => {
  using keys = new HeldKeys()
  const publicKey = publicKeyOf(keys.hold(policiesKeyOf(row)))
  return Buffer.concat([publicKey, sealUnder(underSecret(row), row.developerKey)])
}

/** @returns null if the secret is wrong. */
export const openDeveloperKey = (row: DeveloperKey & { readonly secret: SecretText; readonly sealed: Uint8Array }) =>
  openUnderCredential(underSecret(row), row.sealed.subarray(KEY_BYTES))

/** The developer's public key for policies. @param sealed what `sealDeveloperKey` returned. */
export const policiesPublicKeyIn = (sealed: Uint8Array): Uint8Array => sealed.subarray(0, KEY_BYTES)

/** @param row.stretched argon2id of the PIN. */
const underPin = (row: UserKey & { readonly stretched: Uint8Array }): Under => ({
  key: deriveKey(row.stretched, ['user key', row.projectId, row.ownerId]),
  identity: identityOf.userKey(row),
})

export const sealUserKey = (row: UserKey & { readonly stretched: Uint8Array; readonly userKey: Uint8Array }) =>
  sealUnder(underPin(row), row.userKey)

/** @returns null if the PIN is wrong. */
export const openUserKey = (row: UserKey & { readonly stretched: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnderCredential(underPin(row), row.sealed)

/** @param row.secret uniformly random, at least 16 bytes. */
const underUserSecret = (row: UserKeyLock & { readonly secret: Uint8Array }): Under => ({
  key: deriveKey(row.secret, ['user key lock', row.projectId, row.ownerId, row.kind, row.passkeyId]),
  identity: identityOf.userKeyLock(row),
})

export const sealUserKeyLock = (row: UserKeyLock & { readonly secret: Uint8Array; readonly userKey: Uint8Array }) =>
  sealUnder(underUserSecret(row), row.userKey)

/** @returns the user key; null if the secret is wrong. */
export const openUserKeyLock = (row: UserKeyLock & { readonly secret: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnderCredential(underUserSecret(row), row.sealed)

/** The developer key, the user key, or if control is shared both, each after its length. */
const underSeedLock = ({
  credentialKeyOf,
  ...row
}: SeedLock & { readonly credentialKeyOf: CredentialKeyOf }): Under => {
  using keys = new HeldKeys()
  const controlModes = inOrder(row.controlModes)
  const credentialKeys = controlModes.map((mode) => {
    const key = credentialKeyOf[mode]
    if (key === null) throw new Error('a seed needs the credentials of all modes that control it')
    return key
  })
  const together = keys.hold(encodeFields(credentialKeys))
  return {
    key: deriveKey(together, ['seed lock', row.keyringId, ...controlModes]),
    identity: identityOf.seedLock(row),
  }
}

/** @param row.seed the entropy of a phrase, or the imported key. */
export const sealSeed = (row: SeedLock & { readonly credentialKeyOf: CredentialKeyOf; readonly seed: Uint8Array }) =>
  sealUnder(underSeedLock(row), row.seed)

export const openSeed = (row: SeedLock & { readonly credentialKeyOf: CredentialKeyOf; readonly sealed: Uint8Array }) =>
  openUnder(underSeedLock(row), row.sealed)

/** @param row.credentialKey the key of the lock's control mode: the developer key or the user key. */
const underOwnerLock = (row: OwnerLock & { readonly credentialKey: Uint8Array }): Under => ({
  key: deriveKey(row.credentialKey, ['owner lock', row.lockId]),
  identity: identityOf.ownerLock(row),
})

export const sealControlKey = (
  row: OwnerLock & { readonly credentialKey: Uint8Array; readonly controlKey: Uint8Array },
) => sealUnder(underOwnerLock(row), row.controlKey)

export const openControlKey = (row: OwnerLock & { readonly credentialKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder(underOwnerLock(row), row.sealed)

const underControlKey = (row: OwnerLock & { readonly controlKey: Uint8Array }): Under => ({
  key: deriveKey(row.controlKey, ['family keys', row.lockId]),
  identity: identityOf.familyKeys(row),
})

export const sealFamilyKeys = (row: OwnerLock & { readonly controlKey: Uint8Array; readonly familyKeys: Uint8Array }) =>
  sealUnder(underControlKey(row), row.familyKeys)

/** @returns the private keys of all families, as `familyKeysOf` makes them. */
export const openFamilyKeys = (row: OwnerLock & { readonly controlKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder(underControlKey(row), row.sealed)

export const deriveWalletKey = (row: Wallet & { readonly controlKey: Uint8Array }): Uint8Array =>
  deriveKey(row.controlKey, ['wallet', row.walletId])

const underWallet = (row: WalletKey & { readonly controlKey: Uint8Array }): Under => ({
  key: deriveWalletKey(row),
  identity: identityOf.walletKey(row),
})

export const sealWalletKey = (row: WalletKey & { readonly controlKey: Uint8Array; readonly privateKey: Uint8Array }) =>
  sealUnder(underWallet(row), row.privateKey)

export const openWalletKey = (row: WalletKey & { readonly controlKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder(underWallet(row), row.sealed)

/** The same with the wallet key, which it zeroes. */
export const openWalletKeyBy = (row: WalletKey & { readonly walletKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder({ key: row.walletKey, identity: identityOf.walletKey(row) }, row.sealed)

const policyLockInfo = (row: PolicyLock): Uint8Array => encodeIdentity(identityOf.policyLock(row))

/** @param row.publicKey the developer's, for policies. */
export const sealPolicyLock = (row: PolicyLock & { readonly publicKey: Uint8Array; readonly walletKey: Uint8Array }) =>
  sealTo({ publicKey: row.publicKey, info: policyLockInfo(row), plaintext: row.walletKey })

export const openPolicyLock = (
  row: PolicyLock & { readonly developerKey: Uint8Array; readonly sealed: Uint8Array },
) => {
  using keys = new HeldKeys()
  const privateKey = keys.hold(policiesKeyOf(row))
  return openSealedTo({ privateKey, info: policyLockInfo(row), sealed: row.sealed })
}
