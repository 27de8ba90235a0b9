// A developer secret opens the developer key; a PIN, or another secret of the user, opens the user key. That the key opens is the check of the credential.
// The caller zeroes every key that is returned here.

import { randomBytes } from 'node:crypto'
import type { UserKeyRow } from '../../../db/queries/custody/keyrings.ts'
import type { UserKeyLockOf } from '../../../db/queries/custody/user-key-locks.ts'
import { AppError } from '../../errors.ts'
import type { CustodyCtx } from '../ctx.ts'
import { HeldKeys, type SecretText } from '../sealing/bytes.ts'
import { type CredentialKeyOf, identityOf, openDeveloperKey, openUserKey, sealUserKey } from '../sealing/hierarchy.ts'
import { KEY_BYTES, PIN_SALT_BYTES, stretchPin } from '../sealing/kdf.ts'
import { part } from '../timings.ts'
import { checkUserSecret } from './check-user-secret.ts'
import { invalidSecret, type Proof, whereOf } from './credentials.ts'

type Owner = { readonly projectId: string; readonly ownerId: string }
/** Who sent the request, as the audit names them, and from where, as in `Credentials`. */
type Requester = { readonly actor: string; readonly from?: string | undefined }

type CredentialRows = { readonly developerKey: Uint8Array | null; readonly userKey: UserKeyRow | null }

export const notActivated = (): AppError =>
  new AppError('project_not_activated', 'This project has no developer secret yet: it must be activated first.')

/** Opens a project's developer key. @param input.sealed null if the project has no developer key yet. */
export const checkSecret = async (
  { projectKeys, secretLimit }: CustodyCtx,
  input: Requester & { readonly projectId: string; readonly sealed: Uint8Array | null; readonly secret: SecretText },
): Promise<Uint8Array> => {
  const { projectId, actor, from, sealed, secret } = input
  if (sealed === null) throw notActivated()
  const inner = await projectKeys.openOuter({ identity: identityOf.developerKey({ projectId }), sealed })
  secretLimit.requireRoom({ projectId, actor, from })
  const developerKey = openDeveloperKey({ projectId, secret, sealed: inner })
  if (developerKey !== null) return developerKey
  secretLimit.countWrong({ projectId, actor })
  const event = { projectId, actor, subject: projectId, details: whereOf(from) } as const
  throw invalidSecret({ kind: 'wrong_developer_secret', ...event })
}

/** Opens an owner's user key. */
const checkPin = async (
  { projectKeys, guard }: CustodyCtx,
  input: Requester & Owner & { readonly row: UserKeyRow; readonly pin: SecretText },
): Promise<Uint8Array> => {
  const { projectId, ownerId, actor, from, row, pin } = input
  // Before the guess is charged: a slow root key must cost neither a guess nor time of the lease.
  const inner = await part('project key', () =>
    projectKeys.openOuter({ identity: identityOf.userKey({ projectId, ownerId }), sealed: row.sealed }),
  )
  const guess = { projectId, ownerId, actor, from, version: row.version }
  await using lease = await part('count the guess', () => guard.lease(guess))
  using keys = new HeldKeys()
  const stretched = keys.hold(await part('argon2', () => stretchPin({ pin, salt: row.salt })))
  return await lease.settle(openUserKey({ projectId, ownerId, stretched, sealed: inner }))
}

type OpenedUserKey = {
  readonly userKey: Uint8Array
  /** What its secret opened; null for the PIN. */
  readonly lock: UserKeyLockOf | null
}

/** Opens an owner's user key with the PIN or the other secret in `proof`. @returns null if it has neither. */
export const checkUser = async (
  ctx: CustodyCtx,
  input: Requester & Owner & { readonly proof: Omit<Proof, 'developerSecret'>; readonly row: UserKeyRow | null },
): Promise<OpenedUserKey | null> => {
  const { projectId, ownerId, actor, proof, row } = input
  const { userPin: pin, userSecret: secret, from } = proof
  const of = { projectId, ownerId, actor, from }
  if (secret !== null) return await checkUserSecret(ctx, { ...of, secret })
  if (pin === null) return null
  if (row === null) throw new Error('a PIN was given for an owner without a user key')
  return { userKey: await checkPin(ctx, { ...of, row, pin }), lock: null }
}

/** Opens the keys of the credentials in `proof`; `keys` holds them. A wrong secret charges no guess of the PIN. */
export const checkCredentials = async (
  ctx: CustodyCtx,
  input: Requester & Owner & { readonly proof: Proof; readonly rows: CredentialRows; readonly keys: HeldKeys },
): Promise<CredentialKeyOf> => {
  const { projectId, ownerId, actor, proof, rows, keys } = input
  const { developerSecret: secret, from } = proof
  const { developerKey: sealed, userKey: row } = rows
  const developer =
    secret === null ? null : keys.hold(await checkSecret(ctx, { projectId, actor, from, sealed, secret }))
  const opened = await checkUser(ctx, { projectId, ownerId, actor, proof, row })
  return { developer, user: opened && keys.hold(opened.userKey) }
}

/** Seals a user key under a PIN, without the outer layer. */
export const sealUnderPin = async (
  { argon2 }: CustodyCtx,
  input: Owner & { readonly pin: SecretText; readonly userKey: Uint8Array },
): Promise<{ readonly salt: Uint8Array; readonly inner: Uint8Array }> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, pin, userKey } = input
  const salt = randomBytes(PIN_SALT_BYTES)
  using _slot = await argon2.enter()
  const stretched = keys.hold(await stretchPin({ pin, salt }))
  return { salt, inner: sealUserKey({ projectId, ownerId, stretched, userKey }) }
}

/** Makes a user key for an owner who has none, and seals it under the PIN. */
export const makeUserKey = async (
  ctx: CustodyCtx,
  input: Owner & { readonly pin: SecretText; readonly projectKeyVersion: number },
) => {
  const { projectId, ownerId, pin, projectKeyVersion: version } = input
  const key = randomBytes(KEY_BYTES)
  const { salt, inner } = await sealUnderPin(ctx, { projectId, ownerId, pin, userKey: key })
  const identity = identityOf.userKey({ projectId, ownerId })
  const sealed = await ctx.projectKeys.sealOuter({ version, identity, inner })
  const guessesMac = await ctx.guesses.macOfFirst({ projectId, ownerId, projectKeyVersion: version })
  return { key, row: { projectId, ownerId, salt, sealed, guessesMac } }
}
