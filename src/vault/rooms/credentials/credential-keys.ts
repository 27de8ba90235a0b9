// A developer secret opens the developer key; a PIN, or another secret of the user, opens the user key. That the key opens is the check of the credential.
// The caller zeroes every key that is returned here.

import { randomBytes } from 'node:crypto'
import type { DeveloperKeyRow, UserKeyRow } from '../../../../db/queries/custody/keyrings.ts'
import { readDeveloperKey } from '../../../../db/queries/custody/locks.ts'
import type { UserKeyLockOf } from '../../../../db/queries/custody/user-key-locks.ts'
import { AppError } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { part } from '../../../platform/tracing/timings.ts'
import { invalidSecret, type Proof, whereOf } from '../../contract/required-credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { type CredentialKeyOf, identityOf, openDeveloperKey, openUserKey, sealUserKey } from '../sealing/hierarchy.ts'
import { PIN_SALT_BYTES, stretchPin } from '../sealing/stretch.ts'
import { checkUserSecret } from './check-user-secret.ts'

type Owner = { readonly projectId: string; readonly ownerId: string }
/** Who sent the request, as the audit names them, and from where, as in `Credentials`. */
type Requester = { readonly actor: string; readonly from?: string | undefined }

type CredentialRows = { readonly developerKey: DeveloperKeyRow | null; readonly userKey: UserKeyRow | null }

/** Of a credential's row, before the first change. */
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
const openOuter = async ({ projectKeys }: CustodyCtx, row: Row & { readonly sealed: Uint8Array }) => {
  try {
    return await projectKeys.openOuter(row)
  } catch (error) {
    throw error instanceof EnvelopeError ? credentialForged(row, error) : error
  }
}

type SecretRow = Requester & { readonly projectId: string; readonly row: DeveloperKeyRow }

/**
 * Opens the outer layer of a project's developer key.
 * @throws credential_changed; internal, with a security event, if somebody changed the row, or put an earlier one back.
 */
export const openOuterOfSecret = async (
  ctx: CustodyCtx,
  { projectId, actor, from, row }: SecretRow,
): Promise<Uint8Array> => {
  const of = { identity: identityOf.developerKey({ projectId, ...row }), actor, from }
  const floor = ctx.journal.floorOf('developer_keys', [projectId])
  if (row.version >= floor) return await openOuter(ctx, { ...of, sealed: row.sealed })
  // Another request may have changed the secret since the row was read.
  const { version = 0 } = (await readDeveloperKey(ctx.db, projectId)) ?? {}
  if (version < floor) throw credentialForged(of)
  throw new AppError('credential_changed', 'The developer secret was changed by another request: try again.')
}

/** Opens a project's developer key. @param input.row null if the project has no developer key yet. */
export const checkSecret = async (
  ctx: CustodyCtx,
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

/** Opens an owner's user key. */
const checkPin = async (
  ctx: CustodyCtx,
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
  const stretched = keys.hold(await part('argon2', () => stretchPin({ pin, salt: row.salt })))
  return await lease.settle(openUserKey({ ...guess, stretched, sealed: inner }))
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
  const { developerKey, userKey: row } = rows
  const asked = { projectId, actor, from, row: developerKey }
  const developer = secret === null ? null : keys.hold(await checkSecret(ctx, { ...asked, secret }))
  const opened = await checkUser(ctx, { projectId, ownerId, actor, proof, row })
  return { developer, user: opened && keys.hold(opened.userKey) }
}

/** Seals a user key under a PIN, without the outer layer. */
export const sealUnderPin = async (
  { argon2 }: CustodyCtx,
  input: Owner & { readonly version: number; readonly pin: SecretText; readonly userKey: Uint8Array },
): Promise<{ readonly salt: Uint8Array; readonly inner: Uint8Array }> => {
  using keys = new HeldKeys()
  const { pin, ...of } = input
  const salt = randomBytes(PIN_SALT_BYTES)
  using _slot = await argon2.enter()
  const stretched = keys.hold(await stretchPin({ pin, salt }))
  return { salt, inner: sealUserKey({ ...of, stretched }) }
}

/** Makes a user key for an owner who has none, and seals it under the PIN. */
export const makeUserKey = async (
  ctx: CustodyCtx,
  input: Owner & { readonly pin: SecretText; readonly projectKeyVersion: number },
) => {
  const { projectId, ownerId, pin, projectKeyVersion } = input
  const key = randomBytes(KEY_BYTES)
  const of = { projectId, ownerId, version: FIRST_VERSION }
  const { salt, inner } = await sealUnderPin(ctx, { ...of, pin, userKey: key })
  const identity = identityOf.userKey(of)
  const sealed = await ctx.projectKeys.sealOuter({ version: projectKeyVersion, identity, inner })
  const guessesMac = await ctx.guesses.macOfFirst({ projectId, ownerId, projectKeyVersion })
  return { key, row: { ...of, salt, sealed, guessesMac } }
}
