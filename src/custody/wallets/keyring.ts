// Opening a keyring. Its key is sealed in owner locks, one for each control mode. Each lock has two layers: the inner one
// with the credential's key, the outer one with the project's key.
//
// An export, and a signature of a message, need the credentials of all locks of the keyring. So if control is shared, neither
// side can do these alone, and no policy can do them at all.

import { randomUUID } from 'node:crypto'
import { type KeyringRow, type OwnerLockRow, readKeyring } from '../../../db/queries/custody/keyrings.ts'
import type { NewOwnerLockRow } from '../../../db/queries/custody/locks.ts'
import { CONTROL_MODES, type ControlMode, type KeyringKind } from '../../../db/words.ts'
import { unreachable } from '../../errors.ts'
import { checkCredentials } from '../credentials/credential-keys.ts'
import { refuseFrozen, requireCredentials } from '../credentials/credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { phraseOf } from '../keys/derive.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { identityOf, openKeyring, openLock, sealLock } from '../sealing/hierarchy.ts'
import { unlessForged, walletForged } from './wallet-forged.ts'
import type { KeyRequest } from './wallet-key.ts'

type Keyring = { readonly projectId: string; readonly keyringId: string }

/** @returns the keyring key, zeroed by the caller. */
export const openOwnerLock = async (
  { projectKeys }: CustodyCtx,
  input: Keyring & { readonly lock: OwnerLockRow; readonly credentialKey: Uint8Array },
): Promise<Uint8Array> => {
  const { projectId, keyringId, lock, credentialKey } = input
  const { id: lockId, controlMode, controlModes } = lock
  const of = { projectId, keyringId, lockId, controlMode, controlModes }
  const inner = await projectKeys.openOuter({ identity: identityOf.ownerLock(of), sealed: lock.sealed })
  return openLock({ ...of, credentialKey, sealed: inner })
}

/** A lock, with which the credential of `controlMode` opens the keyring: a new one, or one that is sealed anew. */
export const makeOwnerLock = async (
  { projectKeys }: CustodyCtx,
  input: Keyring & {
    readonly keyringKey: Uint8Array
    /** Absent for a new lock. */
    readonly lockId?: string
    readonly controlMode: ControlMode
    /** Of all locks of the keyring, with this one. */
    readonly controlModes: readonly ControlMode[]
    readonly credentialKey: Uint8Array
    readonly projectKeyVersion: number
  },
): Promise<NewOwnerLockRow> => {
  const { projectId, keyringId, keyringKey, lockId = randomUUID(), controlMode, controlModes, credentialKey } = input
  const of = { projectId, keyringId, lockId, controlMode, controlModes }
  const inner = sealLock({ ...of, credentialKey, keyringKey })
  const identity = identityOf.ownerLock(of)
  const sealed = await projectKeys.sealOuter({ version: input.projectKeyVersion, identity, inner })
  return { id: of.lockId, keyringId, controlMode, sealed }
}

type OpenedKeyring = { readonly row: KeyringRow; readonly keyringKey: Uint8Array }

/** Opens a wallet's keyring with the credentials of all its locks. @returns the keyring key, zeroed by the caller. */
export const openByAllLocks = async (
  ctx: CustodyCtx,
  { wallet, credentials, actor }: KeyRequest,
): Promise<OpenedKeyring> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, keyringId, controlMode } = wallet
  const row = await readKeyring(ctx.db, wallet)
  const lock = row?.locks[controlMode]
  if (!row || !lock) throw walletForged({ wallet, actor })
  const modes = CONTROL_MODES.filter((mode) => row.locks[mode] !== null)
  const proof = requireCredentials({ modes, credentials })
  refuseFrozen(row.frozen)
  const opened = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  const credentialKey = opened[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  const keyringKey = await unlessForged({ wallet, actor }, () =>
    openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }),
  )
  return { row, keyringKey }
}

/** Exactly one of them. Strings cannot be zeroed: the caller answers with them and keeps nothing. */
export type ExportedKeyring = {
  readonly mnemonicPhrase: string | null
  /** 0x and 64 hex digits in lower case. */
  readonly privateKey: string | null
}

const textOf = (kind: KeyringKind, secret: Uint8Array): ExportedKeyring => {
  switch (kind) {
    case 'seed':
    case 'phrase':
      return { mnemonicPhrase: phraseOf(secret), privateKey: null }
    case 'key':
      return { mnemonicPhrase: null, privateKey: `0x${Buffer.from(secret).toString('hex')}` }
    default:
      return unreachable(kind)
  }
}

/** Opens the secret of a wallet's keyring, as `Vault.exportKeyring` says. */
export const exportKeyring = async (ctx: CustodyCtx, request: KeyRequest): Promise<ExportedKeyring> => {
  using keys = new HeldKeys()
  const { wallet, actor } = request
  const { projectId, keyringId } = wallet
  const { row, keyringKey } = await openByAllLocks(ctx, request)
  keys.hold(keyringKey)
  const { kind, sealed } = row
  const secret = keys.hold(openKeyring({ projectId, keyringId, kind, keyringKey, sealed }))
  // Durable before the secret leaves: there is no export without its row.
  const details = { keyring_id: keyringId, keyring_kind: kind }
  await ctx.audit.commit({ projectId, actor, action: 'wallet_exported', subject: wallet.id, details })
  return textOf(kind, secret)
}
