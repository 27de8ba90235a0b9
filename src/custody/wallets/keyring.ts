// Whole control: what a keyring can do that goes beyond transactions takes the credential of every lock of it. Where control
// is shared, neither side does it alone, and no policy's lock leads here.

import { randomUUID } from 'node:crypto'
import type { Db } from '../../../db/client.ts'
import { type KeyringRow, type OwnerLockRow, readKeyring } from '../../../db/queries/custody/keyrings.ts'
import type { NewOwnerLockRow } from '../../../db/queries/custody/locks.ts'
import { CONTROL_MODES, type ControlMode, type KeyringKind } from '../../../db/words.ts'
import { unreachable } from '../../errors.ts'
import type { Audit } from '../audit.ts'
import type { CredentialKeys } from '../credentials/credential-keys.ts'
import { refuseFrozen, requireCredentials } from '../credentials/credentials.ts'
import { phraseOf } from '../keys/derive.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { identityOf, openKeyring, openLock, sealLock } from '../sealing/hierarchy.ts'
import type { KeyRequest } from './wallet-key.ts'

// Owner locks with both of their layers: under the credential's key inside, under the project's key outside.

type Keyring = { readonly projectId: string; readonly keyringId: string }

/** @returns the keyring key, zeroed by the caller. @throws EnvelopeError */
export const openOwnerLock = async (
  projectKeys: ProjectKeys,
  input: Keyring & { readonly lock: OwnerLockRow; readonly credentialKey: Uint8Array },
): Promise<Uint8Array> => {
  const { projectId, keyringId, lock, credentialKey } = input
  const of = { projectId, keyringId, lockId: lock.id }
  const inner = await projectKeys.peel({ identity: identityOf.ownerLock(of), sealed: lock.sealed })
  return openLock({ ...of, credentialKey, sealed: inner })
}

/** A new lock, by which the credential of `controlMode` opens the keyring from now on. */
export const makeOwnerLock = async (
  projectKeys: ProjectKeys,
  input: Keyring & {
    readonly keyringKey: Uint8Array
    readonly controlMode: ControlMode
    readonly credentialKey: Uint8Array
    readonly projectKeyVersion: number
  },
): Promise<NewOwnerLockRow> => {
  const { projectId, keyringId, keyringKey, controlMode, credentialKey } = input
  const of = { projectId, keyringId, lockId: randomUUID() }
  const inner = sealLock({ ...of, credentialKey, keyringKey })
  const identity = identityOf.ownerLock(of)
  const sealed = await projectKeys.addLayer({ version: input.projectKeyVersion, identity, inner })
  return { id: of.lockId, keyringId, controlMode, sealed }
}

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys; readonly credentialKeys: CredentialKeys }

type OpenedKeyring = { readonly row: KeyringRow; readonly keyringKey: Uint8Array }

/** Opens a wallet's keyring with the credentials of all its locks; whoever gets its key zeroes it. */
export const openByAllLocks = async (
  parts: Parts,
  { wallet, credentials, actor }: KeyRequest,
): Promise<OpenedKeyring> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, keyringId, controlMode } = wallet
  const row = await readKeyring(parts.db, wallet)
  const lock = row?.locks[controlMode]
  if (!row || !lock) throw new Error('a wallet has no keyring, or no lock of its control mode')
  const modes = CONTROL_MODES.filter((mode) => row.locks[mode] !== null)
  const proof = requireCredentials({ modes, credentials })
  refuseFrozen(row.frozen)
  const opened = await parts.credentialKeys.open({ projectId, ownerId, actor, proof, rows: row, keys })
  const credentialKey = opened[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  return { row, keyringKey: await openOwnerLock(parts.projectKeys, { projectId, keyringId, lock, credentialKey }) }
}

// Export: the one act that lets a secret out of the vault, in the answer to whoever proved the whole control.

/** Exactly one of them; strings, which the caller shows and forgets. */
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
export const exportKeyring = async (
  parts: {
    readonly db: Db
    readonly projectKeys: ProjectKeys
    readonly credentialKeys: CredentialKeys
    readonly audit: Audit
  },
  request: KeyRequest,
): Promise<ExportedKeyring> => {
  using keys = new HeldKeys()
  const { wallet, actor } = request
  const { projectId, keyringId } = wallet
  const { row, keyringKey } = await openByAllLocks(parts, request)
  keys.hold(keyringKey)
  const { kind, sealed } = row
  const secret = keys.hold(openKeyring({ projectId, keyringId, kind, keyringKey, sealed }))
  // Durable before the secret goes: there is no export without its row.
  const details = { keyring_id: keyringId, keyring_kind: kind }
  await parts.audit.commit({ projectId, actor, action: 'wallet_exported', subject: wallet.id, details })
  return textOf(kind, secret)
}
