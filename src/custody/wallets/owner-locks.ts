// Owner locks with both of their layers: under the credential's key inside, under the project's key outside.

import { randomUUID } from 'node:crypto'
import type { OwnerLockRow } from '../../../db/queries/custody/keyrings.ts'
import type { NewOwnerLockRow } from '../../../db/queries/custody/locks.ts'
import type { ControlMode } from '../../../db/words.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf, openLock, sealLock } from '../sealing/hierarchy.ts'

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
