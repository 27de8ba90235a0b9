// Checks credentials. A developer secret opens the developer key; a PIN opens the user key, as does a `user_secret`,
// which is right if it opens one of the owner's locks of its kind. That the key opens is the check. The caller zeroes
// every key that is returned here.

import { randomBytes } from 'node:crypto'
import type { DeveloperKeyRow, UserKeyRow } from '../../../../db/queries/vault/keyrings.ts'
import { readDeveloperKey } from '../../../../db/queries/vault/locks.ts'
import {
  readUserKeyLocks,
  type UserKeyLockOf,
  type UserKeyLockRow,
} from '../../../../db/queries/vault/user-key-locks.ts'
import type { UserSecretKind } from '../../../../db/words.ts'
import { AppError } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { part } from '../../../platform/tracing/timings.ts'
import { invalidSecret, type Proof, requireCredentials, whereOf } from '../../contract/required-credentials.ts'
import type { RoomCtx } from '../ctx.ts'
import {
  type CredentialKeyOf,
  identityOf,
  openDeveloperKey,
  openUserKey,
  openUserKeyLock,
  sealUserKey,
} from '../sealing/hierarchy.ts'
import { PIN_SALT_BYTES, stretchPin } from '../sealing/stretch.ts'
import type { ReadRequest } from '../wallets/read-wallet.ts'
import { readUserSecret } from './user-secret.ts'

type Owner = { readonly projectId: string; readonly ownerId: string }
/** Who sent the request, as the audit names them, and from where, as in `Credentials`. */
type Requester = { readonly actor: string; readonly from?: string | undefined }

export const PASSKEYS_MAX = 10

/** The lowest version that a lock may have: an earlier one was written back. */
export const userLockFloor = ({ journal }: RoomCtx, lock: UserKeyLockOf): number =>
  journal.floorOf('user_key_locks', [lock.projectId, lock.ownerId, lock.kind, lock.passkeyId])

/** An owner's locks of a kind. What looks old is read again, as it may have changed before its floor was looked up. */
const presentLocks = async (ctx: RoomCtx, scope: Owner & { readonly kind: UserSecretKind }) => {
  const read = () => readUserKeyLocks(ctx.db, { ...scope, limit: PASSKEYS_MAX })
  const rows = await read()
  const floors = new Map(rows.map(({ passkeyId }) => [passkeyId, userLockFloor(ctx, { ...scope, passkeyId })]))
  const isEarlier = ({ passkeyId, version }: UserKeyLockRow) => version < (floors.get(passkeyId) ?? 0)
  const newest = rows.some(isEarlier) ? await read() : rows
  return newest.map((row) => ({ ...row, isEarlier: isEarlier(row) }))
}

/** @returns the user key; null if the secret is another one. @throws EnvelopeError if the row is not as it was made. */
const openLock = async (
  { projectKeys }: RoomCtx,
  {
    sealed,
    isEarlier,
    ...scope
  }: Owner & UserKeyLockRow & { readonly isEarlier: boolean; readonly secret: Uint8Array },
): Promise<Uint8Array | null> => {
  if (isEarlier) throw new EnvelopeError('unknown version')
  const inner = await projectKeys.openOuter({ identity: identityOf.userKeyLock(scope), sealed })
  return openUserKeyLock({ ...scope, sealed: inner })
}

type OpenedUserKey = {
  readonly userKey: Uint8Array
  /** The lock that the secret opened; null for the PIN. */
  readonly lock: UserKeyLockOf | null
}

/** A forged lock opens nothing; the owner's other locks still do. */
const checkUserSecret = async (
  ctx: RoomCtx,
  input: Requester & Owner & { readonly secret: SecretText },
): Promise<OpenedUserKey> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, actor, from } = input
  const { kind, bytes } = readUserSecret(input.secret)
  const secret = keys.hold(bytes)
  let isForged = false
  for (const row of await presentLocks(ctx, { projectId, ownerId, kind })) {
    try {
      const userKey = await openLock(ctx, { projectId, ownerId, ...row, secret })
      if (userKey !== null) return { userKey, lock: { projectId, ownerId, kind, passkeyId: row.passkeyId } }
    } catch (error) {
      if (!(error instanceof EnvelopeError)) throw error
      isForged = true
    }
  }
  const event = { projectId, actor, subject: ownerId, details: whereOf(from) } as const
  throw invalidSecret({ kind: isForged ? 'user_secret_forged' : 'wrong_user_secret', ...event })
}

/** The version of a credential's row before the first change. */
export const FIRST_VERSION = 1

export const notActivated = (): AppError =>
  new AppError('project_not_activated', 'This project has no developer secret yet: it must be activated first.')

type Row = Requester & { readonly identity: RowIdentity }

const credentialForged = ({ identity, actor, from }: Row, cause?: unknown): AppError => {
  const { projectId, rowId: subject } = identity
  return new AppError('internal', 'The row that this credential opens was changed, so it was not opened.', {
    event: { kind: 'user_secret_forged', projectId, actor, subject, details: whereOf(from) },
    cause,
  })
}

/** @throws internal, with a security event, if the row is not as the vault wrote it. */
const openOuter = async ({ projectKeys }: RoomCtx, row: Row & { readonly sealed: Uint8Array }) => {
  try {
    return await projectKeys.openOuter(row)
  } catch (error) {
    throw error instanceof EnvelopeError ? credentialForged(row, error) : error
  }
}

type SecretRow = Requester & { readonly projectId: string; readonly row: DeveloperKeyRow }

/** @throws credential_changed; internal, with a security event, if the row was changed, or put back. */
export const openOuterOfSecret = async (
  ctx: RoomCtx,
  { projectId, actor, from, row }: SecretRow,
): Promise<Uint8Array> => {
  const scope = { identity: identityOf.developerKey({ projectId, ...row }), actor, from }
  const floor = ctx.journal.floorOf('developer_keys', [projectId])
  if (row.version >= floor) return await openOuter(ctx, { ...scope, sealed: row.sealed })
  // Another request may have changed the secret since the row was read.
  const { version = 0 } = (await readDeveloperKey(ctx.db, projectId)) ?? {}
  if (version < floor) throw credentialForged(scope)
  throw new AppError('credential_changed', 'The developer secret was changed by another request: try again.')
}

/** Opens a project's developer key. @param input.row null if the project has no developer key yet. */
export const checkSecret = async (
  ctx: RoomCtx,
  input: Omit<SecretRow, 'row'> & { readonly row: DeveloperKeyRow | null; readonly secret: SecretText },
): Promise<Uint8Array> => {
  const { secretLimit } = ctx
  const { projectId, actor, from, row, secret } = input
  if (row === null) throw notActivated()
  const inner = await openOuterOfSecret(ctx, { projectId, actor, from, row })
  secretLimit.requireRoom({ projectId, actor, from })
  const developerKey = openDeveloperKey({ projectId, version: row.version, secret, sealed: inner })
  if (developerKey !== null) return developerKey
  secretLimit.countWrong({ projectId, actor })
  const event = { projectId, actor, subject: projectId, details: whereOf(from) } as const
  throw invalidSecret({ kind: 'wrong_developer_secret', ...event })
}

/** Needs a turn of `argon2`. */
const stretchInTurn = async ({ stretching }: RoomCtx, input: Parameters<typeof stretchPin>[0]): Promise<Uint8Array> => {
  using _core = await stretching.enter()
  return await stretchPin(input)
}

const checkPin = async (
  ctx: RoomCtx,
  input: Requester & Owner & { readonly row: UserKeyRow; readonly pin: SecretText },
): Promise<Uint8Array> => {
  const { projectId, ownerId, actor, from, row, pin } = input
  const { version, sealed } = row
  const identity = identityOf.userKey({ projectId, ownerId, version })
  // Before the guess is charged: a slow root key must cost neither a guess nor time of the lease.
  const inner = await part('project key', () => openOuter(ctx, { identity, sealed, actor, from }))
  const guess = { projectId, ownerId, actor, from, version }
  await using lease = await part('count the guess', () => ctx.guard.lease(guess))
  using keys = new HeldKeys()
  const stretched = keys.hold(await part('argon2', () => stretchInTurn(ctx, { pin, salt: row.salt })))
  return await lease.settle(openUserKey({ ...guess, stretched, sealed: inner }))
}

/** Opens an owner's user key with the PIN or the other secret in `proof`. @returns null if it has neither. */
const checkUser = async (
  ctx: RoomCtx,
  input: Requester & Owner & { readonly proof: Omit<Proof, 'developerSecret'>; readonly row: UserKeyRow | null },
): Promise<OpenedUserKey | null> => {
  const { projectId, ownerId, actor, proof, row } = input
  const { userPin: pin, userSecret: secret, from } = proof
  const scope = { projectId, ownerId, actor, from }
  if (secret !== null) return await checkUserSecret(ctx, { ...scope, secret })
  if (pin === null) return null
  if (row === null) throw new Error('a PIN was given for an owner without a user key')
  return { userKey: await checkPin(ctx, { ...scope, row, pin }), lock: null }
}

/** Opens the keys of the credentials in `proof`; `keys` holds them. A wrong secret charges no guess of the PIN. */
export const checkCredentials = async (
  ctx: RoomCtx,
  input: Requester &
    Owner & {
      readonly proof: Proof
      readonly rows: { readonly developerKey: DeveloperKeyRow | null; readonly userKey: UserKeyRow | null }
      readonly keys: HeldKeys
    },
): Promise<CredentialKeyOf> => {
  const { projectId, ownerId, actor, proof, rows, keys } = input
  const { developerSecret: secret, from } = proof
  const given = { projectId, actor, from, row: rows.developerKey }
  const developer = secret === null ? null : keys.hold(await checkSecret(ctx, { ...given, secret }))
  const opened = await checkUser(ctx, { projectId, ownerId, actor, proof, row: rows.userKey })
  return { developer, user: opened && keys.hold(opened.userKey) }
}

/**
 * Checks the credential of a wallet's owner. @returns the user key, which the caller zeroes, and the lock that was
 * opened.
 */
export const openUserKeyOf = async (ctx: RoomCtx, { wallet, row, credentials, actor }: ReadRequest) => {
  const proof = requireCredentials({ modes: ['user'], credentials })
  if (row.userKey === null) throw new Error('a user-controlled wallet has an owner without a user key')
  await ctx.freezes.refuse({ wallet, actor, freezeMacs: row.freezeMacs })
  const { projectId, ownerId } = wallet
  const opened = await checkUser(ctx, { projectId, ownerId, actor, proof, row: row.userKey })
  if (opened === null) throw new Error('a credential of the user was required')
  return { ...opened, row: row.userKey }
}

/** Seals a user key under a PIN, without the outer layer. */
export const sealUnderPin = async (
  ctx: RoomCtx,
  input: Owner & { readonly version: number; readonly pin: SecretText; readonly userKey: Uint8Array },
): Promise<{ readonly salt: Uint8Array; readonly inner: Uint8Array }> => {
  using keys = new HeldKeys()
  const { pin, ...scope } = input
  const salt = randomBytes(PIN_SALT_BYTES)
  using _slot = await ctx.argon2.enter()
  const stretched = keys.hold(await stretchInTurn(ctx, { pin, salt }))
  return { salt, inner: sealUserKey({ ...scope, stretched }) }
}

/** Makes a user key for an owner who has none, and seals it under the PIN. */
export const makeUserKey = async (
  ctx: RoomCtx,
  input: Owner & { readonly pin: SecretText; readonly projectKeyVersion: number },
) => {
  const { projectId, ownerId, pin, projectKeyVersion } = input
  const key = randomBytes(KEY_BYTES)
  const scope = { projectId, ownerId, version: FIRST_VERSION }
  const { salt, inner } = await sealUnderPin(ctx, { ...scope, pin, userKey: key })
  const identity = identityOf.userKey(scope)
  const sealed = await ctx.projectKeys.sealOuter({ version: projectKeyVersion, identity, inner })
  const guessesMac = await ctx.guesses.macOfFirst({ projectId, ownerId, projectKeyVersion })
  return { key, row: { ...scope, salt, sealed, guessesMac } }
}
