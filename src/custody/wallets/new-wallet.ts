// A new wallet. A keyring is made, or opened with the credentials; the wallet's key is derived from it and sealed by itself.
// All that is sealed is committed together. The caller writes the row of `wallets` afterwards.
//
//   the wallet comes from       it needs                     and makes
//   the owner's seed, which
//     does not exist yet        the mode's credential        a keyring, its seed, a lock of the mode
//     has a lock of the mode    the mode's credential        nothing more
//     has only the other lock   both credentials             a second lock: control is shared from then on
//   an imported phrase          the mode's credential        a keyring of its own and a lock of the mode; it is the owner's
//                                                            seed if there is none yet
//   an imported private key     the mode's credential        a keyring of its own and a lock of the mode
//
// A PIN opens the owner's user key. If the owner has none yet, it is made with that PIN.

import { randomBytes, randomUUID } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import {
  insertKeyring,
  insertWalletKey,
  type NewKeyringRow,
  type OwnerRow,
  readOwner,
} from '../../../db/queries/custody/keyrings.ts'
import {
  insertOwnerLock,
  insertUserKey,
  type NewOwnerLockRow,
  type NewUserKeyRow,
  replaceOwnerLock,
} from '../../../db/queries/custody/locks.ts'
import { type ChainFamily, CONTROL_MODES, type ControlMode, type KeyringKind, type Network } from '../../../db/words.ts'
import { notFound } from '../../errors.ts'
import type { AuditAct } from '../audit.ts'
import { type CredentialKeyOf, checkCredentials, makeUserKey, notActivated } from '../credentials/credential-keys.ts'
import {
  type Credentials,
  modesForCreation,
  onlyOf,
  type Proof,
  refuseFrozen,
  requireCredentials,
} from '../credentials/credentials.ts'
import { refuseObviousPin } from '../credentials/obvious-pin.ts'
import type { CustodyCtx } from '../ctx.ts'
import { ENTROPY_BYTES, keyPairOf } from '../keys/derive.ts'
import { type Imported, type ImportedText, readImported } from '../keys/imported.ts'
import { KeyRotated, madeOtherwise, repeatable } from '../repeatable.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { openKeyring, requireCanonicalIds, sealKeyring, sealWalletKey } from '../sealing/hierarchy.ts'
import { KEY_BYTES } from '../sealing/kdf.ts'
import { makeOwnerLock, openOwnerLock } from './keyring.ts'

type NewWalletInput = {
  readonly walletId: string
  readonly projectId: string
  readonly ownerId: string
  readonly network: Network
  readonly controlMode: ControlMode
  readonly family: ChainFamily
  /** Instead of the owner's seed. */
  readonly imported?: ImportedText | undefined
  readonly credentials: Credentials
  readonly actor: string
}

type NewWallet = {
  readonly keyringId: string
  /** 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  readonly publicKey: Uint8Array
  /** Since when the key can have been used: now; since it was made here; or ever, for an imported key. */
  readonly keyUsedSince: 'now' | Date | 'ever'
}

/** Another first wallet of this owner, or this wallet, was made at the same time. */
const RACED = [
  'keyrings_one_seed',
  'owner_locks_one_a_mode',
  'user_keys_project_id_owner_id_pk',
  'pin_guesses_project_id_owner_id_pk',
  'wallet_keys_pkey',
]

type Opening = NewWalletInput & {
  readonly owner: OwnerRow
  readonly importedSecret: Imported | null
  readonly keys: HeldKeys
}

/** Opens the keys of the credentials, and makes the user key of an owner who has none. */
const openCredentials = async (
  ctx: CustodyCtx,
  input: Opening & { readonly proof: Proof },
): Promise<{ readonly credentialKeyOf: CredentialKeyOf; readonly newUserKey: NewUserKeyRow | null }> => {
  const { projectId, ownerId, actor, owner, proof, keys } = input
  const { userPin: pin } = proof
  const of = { projectId, ownerId, actor, rows: owner, keys }
  if (pin === null || owner.userKey !== null) {
    return { credentialKeyOf: await checkCredentials(ctx, { ...of, proof }), newUserKey: null }
  }
  refuseObviousPin({ pin, field: 'user_pin' })
  const { developer } = await checkCredentials(ctx, { ...of, proof: { ...proof, userPin: null } })
  const { projectKeyVersion } = owner
  const { key, row } = await makeUserKey(ctx, { projectId, ownerId, pin, projectKeyVersion })
  return { credentialKeyOf: { developer, user: keys.hold(key) }, newUserKey: row }
}

type Keyring = {
  readonly keyringId: string
  readonly kind: KeyringKind
  readonly keyringKey: Uint8Array
  /** The entropy of a phrase, or an imported key. */
  readonly secret: Uint8Array
  /** Its row; null if the keyring is not new. */
  readonly newKeyring: NewKeyringRow | null
}

const makeKeyring = ({ projectId, ownerId, owner, importedSecret, keys }: Opening): Keyring => {
  const isSeed = owner.seed === null && importedSecret?.kind !== 'key'
  const kind = isSeed ? 'seed' : (importedSecret?.kind ?? 'seed')
  const keyringId = randomUUID()
  const keyringKey = keys.hold(randomBytes(KEY_BYTES))
  const secret = importedSecret?.secret ?? keys.hold(randomBytes(ENTROPY_BYTES))
  const sealed = sealKeyring({ projectId, keyringId, kind, keyringKey, secret })
  const imported = importedSecret !== null
  const newKeyring: NewKeyringRow = { id: keyringId, projectId, ownerId, kind, sealed, imported }
  return { keyringId, kind, keyringKey, secret, newKeyring }
}

/** Opens the owner's seed with a lock whose credential was given. */
const openSeed = async (
  ctx: CustodyCtx,
  input: Opening & { readonly seed: NonNullable<OwnerRow['seed']>; readonly credentialKeyOf: CredentialKeyOf },
): Promise<Keyring> => {
  const { projectId, owner, seed, keys } = input
  const of = { projectId, keyringId: seed.id, kind: 'seed' } as const
  for (const mode of CONTROL_MODES) {
    const lock = owner.locks[mode]
    const credentialKey = input.credentialKeyOf[mode]
    if (lock === null || credentialKey === null) continue
    const keyringKey = keys.hold(await openOwnerLock(ctx, { ...of, lock, credentialKey }))
    const secret = keys.hold(openKeyring({ ...of, keyringKey, sealed: seed.sealed }))
    return { ...of, keyringKey, secret, newKeyring: null }
  }
  throw new Error('an owner has a seed, and none of the required credentials has a lock of it')
}

type NewLock = {
  readonly row: NewOwnerLockRow
  /** The locks that the keyring had before: all of them are bound to the new set. */
  readonly resealed: readonly { readonly id: string; readonly was: Uint8Array; readonly sealed: Uint8Array }[]
}

/** Makes a keyring's lock of the wallet's control mode, and seals those that it has anew. */
const makeLock = async (
  ctx: CustodyCtx,
  input: Opening & {
    readonly keyring: Keyring
    readonly credentialKeyOf: CredentialKeyOf
    readonly locked: readonly ControlMode[]
  },
): Promise<NewLock> => {
  const { projectId, controlMode, owner, keyring, credentialKeyOf, locked } = input
  const { keyringId, keyringKey } = keyring
  const controlModes = [...locked, controlMode]
  const sealFor = (mode: ControlMode, lockId?: string) => {
    const credentialKey = credentialKeyOf[mode]
    if (credentialKey === null) throw new Error('sharing control needs the credentials of all locks')
    const of = { projectId, keyringId, keyringKey, controlMode: mode, controlModes, credentialKey }
    const { projectKeyVersion } = owner
    return makeOwnerLock(ctx, { ...of, projectKeyVersion, ...(lockId === undefined ? {} : { lockId }) })
  }
  const resealed: { id: string; was: Uint8Array; sealed: Uint8Array }[] = []
  for (const mode of locked) {
    const lock = owner.locks[mode]
    if (lock === null) continue
    const { sealed } = await sealFor(mode, lock.id)
    resealed.push({ id: lock.id, was: lock.sealed, sealed })
  }
  return { row: await sealFor(controlMode), resealed }
}

/** @throws KeyRotated if a rotation has sealed a lock anew meanwhile. */
const writeLock = async (tx: Tx, { row, resealed }: NewLock): Promise<void> => {
  for (const lock of resealed) if (!(await replaceOwnerLock(tx, lock))) throw new KeyRotated("project's key")
  await insertOwnerLock(tx, row)
}

const keyUsedSince = ({ newKeyring }: Keyring, { seed }: OwnerRow): NewWallet['keyUsedSince'] => {
  if (newKeyring !== null) return newKeyring.imported === true ? 'ever' : 'now'
  return seed === null || seed.imported ? 'ever' : seed.createdAt
}

const actsOf = (input: Opening & { readonly keyring: Keyring; readonly shares: boolean }): readonly AuditAct[] => {
  const { projectId, actor, walletId, ownerId, network, controlMode, keyring } = input
  const act = { projectId, actor, subject: walletId }
  const details = { control_mode: controlMode, keyring_id: keyring.keyringId }
  const action = input.imported === undefined ? 'wallet_created' : 'wallet_imported'
  return [
    { ...act, action, details: { ...details, keyring_kind: keyring.kind, network, owner_id: ownerId } },
    ...(input.shares ? [{ ...act, action: 'control_shared', details } as const] : []),
  ]
}

type Made = Opening & {
  readonly keyring: Keyring
  readonly newUserKey: NewUserKeyRow | null
  readonly newLock: NewLock | null
  readonly publicKey: Uint8Array
  readonly sealed: Uint8Array
}

const commit = (ctx: CustodyCtx, made: Made): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { walletId, projectId, network, controlMode, owner, keyring, newUserKey, newLock, publicKey, sealed } = made
    if (newUserKey !== null || newLock !== null) {
      await ctx.projectKeys.keepNewest(tx, { projectId, version: owner.projectKeyVersion })
    }
    if (newUserKey !== null) await insertUserKey(tx, newUserKey)
    if (keyring.newKeyring !== null) await insertKeyring(tx, keyring.newKeyring)
    if (newLock !== null) await writeLock(tx, newLock)
    const { keyringId } = keyring
    await insertWalletKey(tx, { walletId, keyringId, network, controlMode, publicKey, sealed })
    const shares = newLock !== null && newLock.resealed.length > 0
    for (const act of actsOf({ ...made, shares })) await ctx.audit.record(tx, act)
  })

const isMadeOf = (made: NonNullable<OwnerRow['made']>, input: NewWalletInput): boolean =>
  made.projectId === input.projectId &&
  made.ownerId === input.ownerId &&
  made.network === input.network &&
  made.controlMode === input.controlMode

const makeWallet = async (ctx: CustodyCtx, input: NewWalletInput): Promise<NewWallet> => {
  using keys = new HeldKeys()
  const { walletId, projectId, ownerId, network, controlMode, family, credentials } = input
  const importedSecret = input.imported === undefined ? null : readImported({ family, text: input.imported })
  if (importedSecret !== null) keys.hold(importedSecret.secret)
  const owner = await readOwner(ctx.db, { projectId, ownerId, network, walletId })
  if (owner === null) throw notFound('project')
  const { made } = owner
  if (made !== null && !isMadeOf(made, input)) throw madeOtherwise('wallet')
  const seed = importedSecret === null ? owner.seed : null
  const locked = seed === null ? [] : CONTROL_MODES.filter((mode) => owner.locks[mode] !== null)
  // Later one credential is enough, also if control of the keyring is shared since the first call, which needed both.
  const proof = requireCredentials(
    made === null
      ? { modes: modesForCreation({ mode: controlMode, locked }), credentials }
      : { modes: [controlMode], credentials: onlyOf({ mode: controlMode, credentials }) },
  )
  if (owner.developerKey === null) throw notActivated()
  refuseFrozen(owner.frozen)

  const opening = { ...input, owner, importedSecret, keys }
  const { credentialKeyOf, newUserKey } = await openCredentials(ctx, { ...opening, proof })
  const credentialKey = credentialKeyOf[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  const keyring = seed === null ? makeKeyring(opening) : await openSeed(ctx, { ...opening, seed, credentialKeyOf })
  const { privateKey, publicKey } = keyPairOf({ family, ...keyring })
  keys.hold(privateKey)
  const since = keyUsedSince(keyring, owner)
  if (made !== null) {
    if (Buffer.compare(made.publicKey, publicKey) !== 0) throw madeOtherwise('wallet')
    return { keyringId: made.keyringId, publicKey, keyUsedSince: since }
  }
  const { keyringId, keyringKey } = keyring
  const newLock = locked.includes(controlMode)
    ? null
    : await makeLock(ctx, { ...opening, keyring, credentialKeyOf, locked })
  const sealed = sealWalletKey({ projectId, keyringId, walletId, network, controlMode, keyringKey, privateKey })
  await commit(ctx, { ...opening, keyring, newUserKey, newLock, publicKey, sealed })
  return { keyringId, publicKey, keyUsedSince: since }
}

/** Makes a wallet's keys, as `Vault.newWallet` says. */
export const newWallet = async (ctx: CustodyCtx, input: NewWalletInput): Promise<NewWallet> => {
  requireCanonicalIds([input.walletId, input.projectId])
  return repeatable(RACED, () => makeWallet(ctx, input))
}
