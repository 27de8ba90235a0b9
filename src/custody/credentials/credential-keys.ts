// From a credential to its key: the developer key or the user key. Opening it is the check of the credential.

import { randomBytes } from 'node:crypto'
import type { UserKeyRow } from '../../../db/queries/custody/keyrings.ts'
import type { ControlMode } from '../../../db/words.ts'
import { AppError } from '../../errors.ts'
import type { Queue } from '../../queue.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { identityOf, openDeveloperKey, openUserKey, sealUserKey } from '../sealing/hierarchy.ts'
import { KEY_BYTES, PIN_SALT_BYTES, stretchPin } from '../sealing/kdf.ts'
import { invalidSecret, type Proof } from './credentials.ts'
import type { Guard } from './guard.ts'
import type { SecretLimit } from './limits.ts'

type Owner = { readonly projectId: string; readonly ownerId: string }
/** Who asks, as the audit names it, and from where, as in `Credentials`. */
type Asked = { readonly actor: string; readonly from?: string | undefined }

/** The opened keys of the credentials that were given, by control mode. */
export type CredentialKeyOf = Readonly<Record<ControlMode, Uint8Array | null>>

/** Every key that is returned is zeroed by the caller. */
export type CredentialKeys = {
  /**
   * @param input.sealed null where the project has no developer key yet.
   * @throws project_not_activated, INVALID_SECRET, rate_limited.
   */
  openDeveloper(
    input: Asked & { readonly projectId: string; readonly sealed: Uint8Array | null; readonly secret: string },
  ): Promise<Uint8Array>
  /** @throws INVALID_SECRET, TOO_MANY_FAILED_ATTEMPTS, credential_changed, rate_limited, busy. */
  openUser(input: Asked & Owner & { readonly row: UserKeyRow; readonly pin: string }): Promise<Uint8Array>
  /** Opens what belongs; the secret comes first, as a wrong one then costs no guess of the PIN. @throws as the two above. */
  open(
    input: Asked & Owner & { readonly proof: Proof; readonly rows: CredentialRows; readonly keys: HeldKeys },
  ): Promise<CredentialKeyOf>
  /** The user key under a PIN, without the outer layer. @throws busy. */
  sealUser(
    input: Owner & { readonly pin: string; readonly userKey: Uint8Array },
  ): Promise<{ readonly salt: Uint8Array; readonly inner: Uint8Array }>
  /** A user key for an owner who has none, sealed under the PIN. @throws busy. */
  makeUser(input: Owner & { readonly pin: string; readonly projectKeyVersion: number }): Promise<{
    readonly key: Uint8Array
    readonly row: Owner & { readonly salt: Uint8Array; readonly sealed: Uint8Array }
  }>
}

export type CredentialRows = { readonly developerKey: Uint8Array | null; readonly userKey: UserKeyRow | null }

export const notActivated = (): AppError =>
  new AppError('project_not_activated', 'This project has no developer secret yet: it must be activated first.')

type Parts = {
  readonly projectKeys: ProjectKeys
  readonly guard: Guard
  readonly secretLimit: SecretLimit
  readonly argon2: Queue
}

type Openers = Pick<CredentialKeys, 'openDeveloper' | 'openUser' | 'open'>

const createOpeners = ({ projectKeys, guard, secretLimit }: Parts): Openers => {
  const openDeveloper: Openers['openDeveloper'] = async ({ projectId, actor, sealed, secret }) => {
    if (sealed === null) throw notActivated()
    const inner = await projectKeys.peel({ identity: identityOf.developerKey({ projectId }), sealed })
    secretLimit.requireRoom({ projectId, actor })
    const developerKey = openDeveloperKey({ projectId, secret, sealed: inner })
    if (developerKey !== null) return developerKey
    secretLimit.countWrong({ projectId, actor })
    throw invalidSecret({ kind: 'wrong_developer_secret', projectId, actor, subject: projectId })
  }

  const openUser: Openers['openUser'] = async ({ projectId, ownerId, actor, from, row, pin }) => {
    // Before the guess is charged: a root key that is slow or away must not cost a guess, nor the time of the lease.
    const inner = await projectKeys.peel({ identity: identityOf.userKey({ projectId, ownerId }), sealed: row.sealed })
    await using lease = await guard.lease({ projectId, ownerId, actor, from, version: row.version })
    using keys = new HeldKeys()
    const stretched = keys.hold(await stretchPin({ pin, salt: row.salt }))
    return await lease.settle(openUserKey({ projectId, ownerId, stretched, sealed: inner }))
  }

  return {
    openDeveloper,
    openUser,
    open: async ({ proof, rows, keys, ...of }) => {
      const { developerSecret: secret, userPin: pin, from } = proof
      const { developerKey: sealed, userKey: row } = rows
      if (pin !== null && row === null) throw new Error('a PIN was given for an owner without a user key')
      const developer = secret === null ? null : keys.hold(await openDeveloper({ ...of, sealed, secret }))
      const user = pin === null || row === null ? null : keys.hold(await openUser({ ...of, from, row, pin }))
      return { developer, user }
    },
  }
}

export const createCredentialKeys = (parts: Parts): CredentialKeys => {
  const { projectKeys, argon2 } = parts

  const sealUser: CredentialKeys['sealUser'] = async ({ projectId, ownerId, pin, userKey }) => {
    using keys = new HeldKeys()
    const salt = randomBytes(PIN_SALT_BYTES)
    using _slot = await argon2.enter()
    const stretched = keys.hold(await stretchPin({ pin, salt }))
    return { salt, inner: sealUserKey({ projectId, ownerId, stretched, userKey }) }
  }

  return {
    ...createOpeners(parts),
    sealUser,
    makeUser: async ({ projectId, ownerId, pin, projectKeyVersion }) => {
      const key = randomBytes(KEY_BYTES)
      const { salt, inner } = await sealUser({ projectId, ownerId, pin, userKey: key })
      const identity = identityOf.userKey({ projectId, ownerId })
      const sealed = await projectKeys.addLayer({ version: projectKeyVersion, identity, inner })
      return { key, row: { projectId, ownerId, salt, sealed } }
    },
  }
}
