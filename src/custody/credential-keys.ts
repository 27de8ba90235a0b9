// From a credential to its key: the developer key or the user key. Opening it is the check of the credential.

import { randomBytes } from 'node:crypto'
import type { UserKeyRow } from '../../db/queries/keyrings.ts'
import { AppError } from '../errors.ts'
import { invalidSecret } from './credentials.ts'
import { type Guard, TURN_WAIT_MS } from './guard.ts'
import { HeldKeys } from './held-keys.ts'
import { identityOf, openDeveloperKey, openUserKey, sealUserKey } from './hierarchy.ts'
import { KEY_BYTES, PIN_SALT_BYTES, stretchPin } from './kdf.ts'
import type { ProjectKeys } from './project-keys.ts'
import type { Slots } from './slots.ts'

type Owner = { readonly projectId: string; readonly ownerId: string }

/** Every key that is returned is zeroed by the caller. */
export type CredentialKeys = {
  /**
   * @param input.sealed null where the project has no developer key yet.
   * @throws project_not_activated, INVALID_SECRET.
   */
  openDeveloper(input: {
    readonly projectId: string
    readonly sealed: Uint8Array | null
    readonly secret: string
  }): Promise<Uint8Array>
  /** @throws INVALID_SECRET, TOO_MANY_FAILED_ATTEMPTS, credential_changed, busy. */
  openUser(input: Owner & { readonly row: UserKeyRow; readonly pin: string }): Promise<Uint8Array>
  /** A user key for an owner who has none, sealed under the PIN. @throws busy. */
  makeUser(input: Owner & { readonly pin: string; readonly projectKeyVersion: number }): Promise<{
    readonly key: Uint8Array
    readonly row: Owner & { readonly salt: Uint8Array; readonly sealed: Uint8Array }
  }>
}

export const notActivated = (): AppError =>
  new AppError('project_not_activated', 'This project has no developer secret yet: it must be activated first.')

export const createCredentialKeys = (parts: {
  readonly projectKeys: ProjectKeys
  readonly guard: Guard
  readonly argon2Slots: Slots
}): CredentialKeys => {
  const { projectKeys, guard, argon2Slots } = parts
  return {
    openDeveloper: async ({ projectId, sealed, secret }) => {
      if (sealed === null) throw notActivated()
      const inner = await projectKeys.peel({ identity: identityOf.developerKey({ projectId }), sealed })
      const developerKey = openDeveloperKey({ projectId, secret, sealed: inner })
      if (developerKey === null) throw invalidSecret()
      return developerKey
    },

    openUser: async ({ projectId, ownerId, row, pin }) => {
      // Before the guess is charged: a root key that is slow or away must not cost a guess, nor the time of the lease.
      const inner = await projectKeys.peel({ identity: identityOf.userKey({ projectId, ownerId }), sealed: row.sealed })
      const evaluate = async () => {
        using keys = new HeldKeys()
        const stretched = keys.hold(await stretchPin({ pin, salt: row.salt }))
        return openUserKey({ projectId, ownerId, stretched, sealed: inner })
      }
      return guard.verify({ projectId, ownerId, version: row.version, evaluate })
    },

    makeUser: async ({ projectId, ownerId, pin, projectKeyVersion }) => {
      using keys = new HeldKeys()
      const salt = randomBytes(PIN_SALT_BYTES)
      const deadlineMs = performance.now() + TURN_WAIT_MS
      const stretched = keys.hold(await argon2Slots.run({ deadlineMs, work: () => stretchPin({ pin, salt }) }))
      const key = randomBytes(KEY_BYTES)
      const identity = identityOf.userKey({ projectId, ownerId })
      const inner = sealUserKey({ projectId, ownerId, stretched, userKey: key })
      const sealed = await projectKeys.addLayer({ version: projectKeyVersion, identity, inner })
      return { key, row: { projectId, ownerId, salt, sealed } }
    },
  }
}
