// The hierarchy of keys, from a credential to one wallet's private key. These functions are pure: bytes in, bytes out.
//
//   developer key  (random, one a project)   sealed under HMAC(developer secret, "developer key" ‖ project)
//   user key       (random, one an owner)    sealed under HKDF(argon2id(PIN, salt), "user key" ‖ project ‖ owner)
//   keyring key    (random, one a keyring)   sealed in an owner lock for each control mode, under
//                                            KEK = HKDF(developer key | user key, "owner lock" ‖ lock)
//     ├ seed       the keyring's entropy, phrase or imported key, sealed under the keyring key
//     └ wallet key = HKDF(keyring key, "wallet" ‖ wallet)   seals that wallet's private key: what signing opens
//
// A policy lock lets the developer open one wallet's key without the keyring: it holds the wallet key, sealed under
// KEK = HKDF(developer key, "policy lock" ‖ lock). A wallet key does not reveal the keyring key, so a policy lock opens neither
// the seed nor another wallet. The terms of the policy are additional data of both layers: edited ones open nothing.
//
// That the developer key or the user key opens is the check of the credential; no hash of a credential is stored. Developer
// keys, user keys and all locks get an outer layer under the project's key (project-keys.ts); these functions seal and open
// the inner layer. So even database and root key together open nothing without the credential.
//
// Who receives a key zeroes it.

import type { ControlMode, KeyringKind, Network } from '../../../db/words.ts'
import { type BoundFields, encodeFields } from './bytes.ts'
import { EnvelopeError, type Identity, NO_KEY_ID, open, seal } from './envelope.ts'
import { deriveKey, hmac } from './kdf.ts'

type Project = { readonly projectId: string }
type Owner = Project & { readonly ownerId: string }
type Keyring = Project & { readonly keyringId: string }
/** The set of a keyring's locks says which credentials open it, so each lock is bound to it. */
type Lock = Keyring & {
  readonly lockId: string
  readonly controlMode: ControlMode
  /** Of all locks of the keyring. */
  readonly controlModes: readonly ControlMode[]
}
type Wallet = Keyring & { readonly walletId: string }
/** The network and the mode say what the key may sign and who may use it, so they are bound. */
type WalletKey = Wallet & { readonly network: Network; readonly controlMode: ControlMode }
type PolicyLock = Wallet & { readonly lockId: string; readonly terms: BoundFields }

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Call it for new rows: the database returns UUIDs in lower case, so a row sealed with an upper-case id would never open. */
export const requireCanonicalIds = (ids: readonly string[]): void => {
  if (!ids.every((id) => CANONICAL_UUID.test(id))) throw new Error('an id to seal under is not a UUID in lower case')
}

const NOWHERE = { keyringId: '', walletId: '' }

/** The identities under which rows are sealed. They are part of the frozen format. */
export const identityOf = {
  projectKey: ({ projectId, version }: Project & { readonly version: number }): Identity => ({
    ...NOWHERE,
    purpose: 'project key',
    projectId,
    rowId: String(version),
  }),
  developerKey: ({ projectId }: Project): Identity => ({
    ...NOWHERE,
    purpose: 'developer key',
    projectId,
    rowId: projectId,
  }),
  userKey: ({ projectId, ownerId: rowId }: Owner): Identity => ({ ...NOWHERE, purpose: 'user key', projectId, rowId }),
  pinGuesses: ({ projectId, ownerId: rowId }: Owner): Identity => ({
    ...NOWHERE,
    purpose: 'pin guesses',
    projectId,
    rowId,
  }),
  ownerLock: ({ projectId, keyringId, lockId: rowId, controlMode, controlModes }: Lock): Identity => ({
    ...NOWHERE,
    purpose: 'owner lock',
    projectId,
    keyringId,
    rowId,
    bound: { control_mode: controlMode, control_modes: controlModes.toSorted().join(' ') },
  }),
  keyring: ({ projectId, keyringId, kind }: Keyring & { readonly kind: KeyringKind }): Identity => ({
    ...NOWHERE,
    purpose: `keyring ${kind}`,
    projectId,
    keyringId,
    rowId: keyringId,
  }),
  walletKey: ({ projectId, keyringId, walletId, network, controlMode }: WalletKey): Identity => ({
    purpose: 'wallet key',
    projectId,
    keyringId,
    walletId,
    rowId: walletId,
    bound: { network, control_mode: controlMode },
  }),
  policyLock: ({ projectId, keyringId, walletId, lockId: rowId, terms: bound }: PolicyLock): Identity => ({
    purpose: 'policy lock',
    projectId,
    keyringId,
    walletId,
    rowId,
    bound,
  }),
  policySpending: ({ projectId, policyId: rowId }: Project & { readonly policyId: string }): Identity => ({
    ...NOWHERE,
    purpose: 'policy spending',
    projectId,
    rowId,
  }),
}

type Under = { readonly key: Uint8Array; readonly identity: Identity }

/** Seals under a key that was derived for this value alone, and zeroes the key. */
const sealUnder = (under: Under, plaintext: Uint8Array): Uint8Array => {
  try {
    return seal({ ...under, keyId: NO_KEY_ID, plaintext })
  } finally {
    under.key.fill(0)
  }
}

/** The inverse of `sealUnder`; zeroes the key as well. */
const openUnder = (under: Under, sealed: Uint8Array): Uint8Array => {
  try {
    return open({ ...under, keyId: NO_KEY_ID, sealed })
  } finally {
    under.key.fill(0)
  }
}

/** As `openUnder`, with a key from a credential. @returns null if the credential is wrong. */
const openUnderCredential = (under: Under, sealed: Uint8Array): Uint8Array | null => {
  try {
    return openUnder(under, sealed)
  } catch (error) {
    if (error instanceof EnvelopeError && error.fault === 'authentication failed') return null
    throw error
  }
}

const underSecret = (of: Project & { readonly secret: string }): Under => ({
  key: hmac({ key: of.secret, message: encodeFields(['developer key', of.projectId]) }),
  identity: identityOf.developerKey(of),
})

export const sealDeveloperKey = (of: Project & { readonly secret: string; readonly developerKey: Uint8Array }) =>
  sealUnder(underSecret(of), of.developerKey)

/** @returns null if the secret is wrong. */
export const openDeveloperKey = (of: Project & { readonly secret: string; readonly sealed: Uint8Array }) =>
  openUnderCredential(underSecret(of), of.sealed)

/** @param of.stretched argon2id of the PIN. */
const underPin = (of: Owner & { readonly stretched: Uint8Array }): Under => ({
  key: deriveKey(of.stretched, ['user key', of.projectId, of.ownerId]),
  identity: identityOf.userKey(of),
})

export const sealUserKey = (of: Owner & { readonly stretched: Uint8Array; readonly userKey: Uint8Array }) =>
  sealUnder(underPin(of), of.userKey)

/** @returns null if the PIN is wrong. */
export const openUserKey = (of: Owner & { readonly stretched: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnderCredential(underPin(of), of.sealed)

/** @param of.credentialKey the key of the lock's control mode: the developer key or the user key. */
const underLock = (of: Lock & { readonly credentialKey: Uint8Array }): Under => ({
  key: deriveKey(of.credentialKey, ['owner lock', of.lockId]),
  identity: identityOf.ownerLock(of),
})

export const sealLock = (of: Lock & { readonly credentialKey: Uint8Array; readonly keyringKey: Uint8Array }) =>
  sealUnder(underLock(of), of.keyringKey)

/** @returns the keyring key. */
export const openLock = (of: Lock & { readonly credentialKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder(underLock(of), of.sealed)

type OpenKeyring = Keyring & { readonly kind: KeyringKind; readonly keyringKey: Uint8Array }

/** @param of.secret the seed's entropy, or the imported key. */
export const sealKeyring = (of: OpenKeyring & { readonly secret: Uint8Array }) =>
  seal({ key: of.keyringKey, keyId: NO_KEY_ID, identity: identityOf.keyring(of), plaintext: of.secret })

/** @returns the seed's entropy, or the imported key. */
export const openKeyring = (of: OpenKeyring & { readonly sealed: Uint8Array }) =>
  open({ key: of.keyringKey, keyId: NO_KEY_ID, identity: identityOf.keyring(of), sealed: of.sealed })

/** The key that seals one wallet's private key. */
export const walletKeyOf = (of: Wallet & { readonly keyringKey: Uint8Array }): Uint8Array =>
  deriveKey(of.keyringKey, ['wallet', of.walletId])

const underWallet = (of: WalletKey & { readonly keyringKey: Uint8Array }): Under => ({
  key: walletKeyOf(of),
  identity: identityOf.walletKey(of),
})

export const sealWalletKey = (of: WalletKey & { readonly keyringKey: Uint8Array; readonly privateKey: Uint8Array }) =>
  sealUnder(underWallet(of), of.privateKey)

/** @returns the wallet's private key. */
export const openWalletKey = (of: WalletKey & { readonly keyringKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder(underWallet(of), of.sealed)

/** The same with the wallet key, which it zeroes. */
export const openWalletKeyBy = (of: WalletKey & { readonly walletKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder({ key: of.walletKey, identity: identityOf.walletKey(of) }, of.sealed)

const underPolicyLock = (of: PolicyLock & { readonly developerKey: Uint8Array }): Under => ({
  key: deriveKey(of.developerKey, ['policy lock', of.lockId]),
  identity: identityOf.policyLock(of),
})

export const sealPolicyLock = (
  of: PolicyLock & { readonly developerKey: Uint8Array; readonly walletKey: Uint8Array },
) => sealUnder(underPolicyLock(of), of.walletKey)

/** @returns the wallet key. */
export const openPolicyLock = (of: PolicyLock & { readonly developerKey: Uint8Array; readonly sealed: Uint8Array }) =>
  openUnder(underPolicyLock(of), of.sealed)
