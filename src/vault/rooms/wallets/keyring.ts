// The locks of a keyring. Each has two layers: the inner one with keys of credentials, the outer one with the project's
// key. An owner lock is for each control mode, and holds the control key that opens the mode's wallets. The seed lock
// is for all modes together. It holds the seed: the owner's entropy, or an imported phrase or key.
//
// An export, and a signature of a message, need the credentials of all modes. So if control is shared, neither side can
// do these alone, and no policy can do them at all. An export opens the seed lock, which does not open with fewer. A
// message is signed with the key of a wallet, so there the seed lock's outer layer proves which modes control the
// keyring.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../../db/client.ts'
import type { OwnerLockRow } from '../../../../db/queries/vault/keyrings.ts'
import { holdOwnerLocks, type NewOwnerLockRow } from '../../../../db/queries/vault/locks.ts'
import type { ControlMode, KeyringKind } from '../../../../db/words.ts'
import { AppError, unreachable } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import { KeyRotated } from '../../contract/repeatable.ts'
import { requireCredentials } from '../../contract/required-credentials.ts'
import { checkCredentials } from '../credentials/credential-keys.ts'
import type { RoomCtx } from '../ctx.ts'
import { deriveKeyPair } from '../keys/derive.ts'
import { encodeKeyAsHex } from '../keys/imported.ts'
import { hasOwnAddress } from '../keys/key-types.ts'
import { encodePhrase } from '../keys/phrase.ts'
import {
  type CredentialKeyOf,
  identityOf,
  openControlKey,
  openSeed,
  sealControlKey,
  sealFamilyKeys,
  sealSeed,
} from '../sealing/hierarchy.ts'
import {
  isKeyringSetBack,
  type KeyRequest,
  type ReadRequest,
  readWallet,
  unlessForged,
  walletForged,
} from './read-wallet.ts'

type Keyring = { readonly projectId: string; readonly keyringId: string }

const UNDER_POLICIES =
  "The owner's developer-controlled wallets are under policies: only a transaction that a policy allows is signed."

type OfLock = Keyring & { readonly lock: OwnerLockRow }

/** The outer layer of a lock. It binds whether only policies open the wallets. */
const outerOf = ({ projectId, keyringId, lock }: OfLock) => {
  const { id: lockId, sealed, ...state } = lock
  return { identity: identityOf.outerOwnerLock({ projectId, keyringId, lockId, ...state }), sealed }
}

/** @returns the control key, zeroed by the caller. */
export const openOwnerLock = async (
  ctx: RoomCtx,
  { credentialKey, ...scope }: OfLock & { readonly credentialKey: Uint8Array },
): Promise<Uint8Array> => {
  const { projectId, keyringId, lock } = scope
  const inner = await ctx.projectKeys.openOuter(outerOf(scope))
  return openControlKey({ projectId, keyringId, lockId: lock.id, ...lock, credentialKey, sealed: inner })
}

/**
 * Refuses a use without a policy if only policies open the wallets. The error does not say whether the credential is
 * right.
 */
export const refuseUnderPolicies = ({ policiesOnly }: OwnerLockRow): void => {
  if (policiesOnly) throw new AppError('under_policies', UNDER_POLICIES)
}

/**
 * Refuses a change of the keyring if only policies open its wallets. The rows can be trusted: their outer layers were
 * opened.
 */
export const refuseKeyringUnderPolicies = async (
  ctx: RoomCtx,
  { locks, ...scope }: Keyring & { readonly locks: Readonly<Record<ControlMode, OwnerLockRow | null>> },
): Promise<void> => {
  for (const lock of Object.values(locks)) {
    if (lock === null) continue
    refuseUnderPolicies(lock)
    const opened = await ctx.projectKeys.openOuter(outerOf({ ...scope, lock }))
    opened.fill(0)
  }
}

/**
 * Requires that the locks have not changed since they were read, and holds them until the transaction ends. Call it
 * late: putting the wallets under policies waits for it.
 * @throws KeyRotated
 */
export const keepLocks = async (
  tx: Tx,
  { keyringId, locks }: Pick<Keyring, 'keyringId'> & { readonly locks: readonly (OwnerLockRow | null)[] },
): Promise<void> => {
  const held = await holdOwnerLocks(tx, keyringId)
  const isHeld = (lock: OwnerLockRow | null) =>
    lock === null ||
    held.some(({ controlMode, version }) => controlMode === lock.controlMode && version === lock.version)
  if (!locks.every(isHeld)) throw new KeyRotated('lock')
}

/** A new lock, with which the credential of `controlMode` opens the mode's wallets. */
export const makeOwnerLock = async (
  { projectKeys }: RoomCtx,
  input: Keyring & {
    readonly controlMode: ControlMode
    readonly controlKey: Uint8Array
    /** null if the keyring is not a seed: no further wallet comes from it. */
    readonly familyKeys: Uint8Array | null
    readonly credentialKey: Uint8Array
    readonly projectKeyVersion: number
  },
): Promise<NewOwnerLockRow> => {
  const { projectId, keyringId, controlMode, controlKey, familyKeys, credentialKey, projectKeyVersion } = input
  const scope = { projectId, keyringId, lockId: randomUUID(), controlMode }
  const inner = sealControlKey({ ...scope, credentialKey, controlKey })
  return {
    id: scope.lockId,
    keyringId,
    controlMode,
    sealed: await projectKeys.sealOuter({ version: projectKeyVersion, identity: identityOf.ownerLock(scope), inner }),
    familyKeys: familyKeys === null ? null : sealFamilyKeys({ ...scope, controlKey, familyKeys }),
  }
}

type SeedLock = Keyring & {
  readonly kind: KeyringKind
  /** All that control the keyring. */
  readonly controlModes: readonly ControlMode[]
}

/** @throws EnvelopeError if these are not the modes that control the keyring. */
export const openOuterOfSeed = (
  { projectKeys }: RoomCtx,
  { sealed, ...scope }: SeedLock & { readonly sealed: Uint8Array },
): Promise<Uint8Array> => projectKeys.openOuter({ identity: identityOf.seedLock(scope), sealed })

/** @returns the entropy of a phrase, or an imported key, zeroed by the caller. */
export const openSeedLock = async (
  ctx: RoomCtx,
  input: SeedLock & { readonly credentialKeyOf: CredentialKeyOf; readonly sealed: Uint8Array },
): Promise<Uint8Array> => openSeed({ ...input, sealed: await openOuterOfSeed(ctx, input) })

/** Seals a seed with the credentials of all `controlModes`. */
export const makeSeedLock = (
  { projectKeys }: RoomCtx,
  {
    projectKeyVersion: version,
    ...scope
  }: SeedLock & {
    readonly credentialKeyOf: CredentialKeyOf
    readonly seed: Uint8Array
    readonly projectKeyVersion: number
  },
): Promise<Uint8Array> =>
  projectKeys.sealOuter({ version, identity: identityOf.seedLock(scope), inner: sealSeed(scope) })

type AllChecked = {
  readonly credentialKeyOf: CredentialKeyOf
  /** The seed lock's inner layer. */
  readonly sealedSeed: Uint8Array
}

/** Checks the credentials of all modes that control a wallet's keyring; `keys` holds the keys that they open. */
export const checkAllCredentials = async (
  ctx: RoomCtx,
  { wallet, row, credentials, actor, keys }: ReadRequest & { readonly keys: HeldKeys },
): Promise<AllChecked> => {
  const { projectId, ownerId, keyringId } = wallet
  const { kind, controlModes, sealed, locks, freezeMacs } = row
  await unlessForged({ wallet, actor }, () => refuseKeyringUnderPolicies(ctx, { projectId, keyringId, locks }))
  const proof = requireCredentials({ modes: controlModes, credentials })
  await ctx.freezes.refuse({ wallet, actor, freezeMacs })
  const credentialKeyOf = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  const scope = { projectId, keyringId, kind, controlModes, sealed }
  return { credentialKeyOf, sealedSeed: await unlessForged({ wallet, actor }, () => openOuterOfSeed(ctx, scope)) }
}

/** Exactly one of the two is set, in ASCII. The caller zeroes the bytes. */
export type ExportedKeyring = {
  readonly mnemonicPhrase: Uint8Array | null
  /** 0x and 64 hex digits in lower case. */
  readonly privateKey: Uint8Array | null
}

const textOf = (kind: KeyringKind, seed: Uint8Array): ExportedKeyring => {
  switch (kind) {
    case 'seed':
    case 'phrase':
      return { mnemonicPhrase: encodePhrase(seed), privateKey: null }
    case 'key':
      return { mnemonicPhrase: null, privateKey: encodeKeyAsHex(seed) }
    default:
      return unreachable(kind)
  }
}

/** Opens the seed lock of a wallet's keyring, as `Vault.exportKeyring` says. */
export const exportKeyring = async (ctx: RoomCtx, request: KeyRequest): Promise<ExportedKeyring> => {
  using keys = new HeldKeys()
  const { actor } = request
  const { wallet, row } = await readWallet(ctx, request, isKeyringSetBack)
  const { projectId, keyringId } = wallet
  const { credentialKeyOf, sealedSeed: sealed } = await checkAllCredentials(ctx, { ...request, wallet, row, keys })
  const { kind, controlModes } = row
  const seed = await unlessForged(request, async () =>
    keys.hold(openSeed({ projectId, keyringId, kind, controlModes, credentialKeyOf, sealed })),
  )
  const chain = ctx.chainOf(wallet.network)
  const { privateKey, publicKey } = await deriveKeyPair(ctx, { family: chain.family, kind, secret: seed })
  keys.hold(privateKey)
  if (Buffer.compare(publicKey, wallet.publicKey) !== 0 || !hasOwnAddress(wallet, chain)) throw walletForged(request)
  // Durable before the seed leaves: every export has its row.
  const details = { keyring_id: keyringId, keyring_kind: kind }
  await ctx.audit.commit({ projectId, actor, action: 'wallet_exported', subject: wallet.id, details })
  return textOf(kind, seed)
}
