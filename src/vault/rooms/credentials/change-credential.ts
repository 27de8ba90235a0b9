// Changes a credential. The user key or developer key stays the same and is sealed again, so all its locks open as
// before. A request that passed its own check just before the change goes on with the key that it opened. A later one,
// or one that waits in the guess guard with the old version, gets an error and can try again.
//
// One statement writes the row, with the audit row, if it is as it was read. If its version differs, another request
// has changed the credential (409 credential_changed). If only its bytes differ, a rotation has re-sealed the outer
// layer, and the write is tried again with the newest one.
//
// With a recovery code or a passkey in place of the old PIN, the vault also forgets the owner's wrong PINs, and a
// lockout ends: the PIN at which they were guesses opens nothing any more.

import type { Tx } from '../../../../db/client.ts'
import type { RowImage } from '../../../../db/queries/vault/journal.ts'
import type { WalletRow } from '../../../../db/queries/vault/keyrings.ts'
import { readDeveloperKey, readUserKey, updateDeveloperKey, updateUserKey } from '../../../../db/queries/vault/locks.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import type { UserKeyLockOf } from '../../../../db/queries/vault/user-key-locks.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { AppError, noSuchProject } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KeyRotated } from '../../contract/repeatable.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import { projectKeyRow } from '../journal/records.ts'
import { identityOf, sealDeveloperKey } from '../sealing/hierarchy.ts'
import { readWallet } from '../wallets/read-wallet.ts'
import { checkSecret, notActivated, openUserKeyOf, sealUnderPin } from './credential-keys.ts'
import { refuseObviousPin, requireDeveloperSecret } from './new-secrets.ts'

/** More rotations than can come in between, even without a pause. */
const TRIES_MAX = 200

type Change<Was> = {
  readonly projectId: string
  readonly identity: RowIdentity
  readonly version: number
  readonly inner: Uint8Array
  readonly read: () => Promise<Was | null>
  /** @returns what was written; null if the row is not `was` any more. */
  readonly write: (
    tx: Tx,
    input: { readonly was: Was; readonly sealed: Uint8Array },
  ) => Promise<readonly RowImage[] | null>
  readonly act: AuditAct
}

const tryWrite = async <Was>(ctx: RoomCtx, change: Change<Was> & { readonly was: Was }): Promise<boolean> => {
  const { db, journal, projectKeys, audit } = ctx
  const { projectId, identity, inner, was } = change
  const version = await newestProjectKeyVersion(db, projectId)
  if (version === null) throw noSuchProject()
  const sealed = await projectKeys.sealOuter({ version, identity, inner })
  try {
    return await changing(ctx, async (tx, wrote) => {
      await projectKeys.keepNewest(tx, { projectId, version })
      const written = await change.write(tx, { was, sealed })
      if (written === null) return false
      wrote(...written)
      await audit.record(tx, change.act)
      tx.afterCommit(() => journal.addToRead(projectKeyRow({ projectId, version })))
      return true
    })
  } catch (error) {
    if (error instanceof KeyRotated) return false
    throw error
  }
}

/** Writes a key that was sealed under another credential. @throws credential_changed, busy */
export const rewrap = async <Was extends { readonly version: number }>(
  ctx: RoomCtx,
  change: Change<Was>,
): Promise<void> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const was = await change.read()
    if (was?.version !== change.version) {
      throw new AppError('credential_changed', 'The credential was changed by another request: nothing was done.')
    }
    if (await tryWrite(ctx, { ...change, was })) return
  }
  throw new AppError('busy', "The project's keys are being rotated: try again.")
}

type PinChange = {
  readonly wallet: WalletRow
  readonly oldPin?: SecretText | undefined
  readonly userSecret?: SecretText | undefined
  readonly newPin: SecretText
  readonly actor: string
  readonly from?: string | undefined
}

/** The secret that opened the user key, for the audit; nothing for the PIN. */
const describeSecret = (lock: UserKeyLockOf | null): Readonly<Record<string, string>> => {
  if (lock === null) return {}
  return lock.passkeyId === '' ? { by: lock.kind } : { by: lock.kind, passkey_id: lock.passkeyId }
}

export const changeUserPin = async (ctx: RoomCtx, input: PinChange): Promise<void> => {
  using keys = new HeldKeys()
  const { oldPin: userPin, userSecret, newPin, actor, from } = input
  refuseObviousPin({ pin: newPin, field: 'new_user_pin' })
  const { wallet, row: read } = await readWallet(ctx, input)
  const { projectId, ownerId } = wallet
  const scope = { projectId, ownerId }
  const versionAtLeast = ctx.journal.floorOf('user_keys', [projectId, ownerId])
  const credentials = { userPin, userSecret, from }
  const { userKey, lock, row } = await openUserKeyOf(ctx, { wallet, row: read, actor, credentials })
  keys.hold(userKey)
  // An earlier row may be there, and the new one must be newer than all.
  const version = Math.max(row.version, versionAtLeast) + 1
  if (lock !== null) await ctx.guesses.fetchKeys(scope)
  const { salt, inner } = await sealUnderPin(ctx, { ...scope, version, pin: newPin, userKey })
  await rewrap(ctx, {
    projectId,
    identity: identityOf.userKey({ ...scope, version }),
    version: row.version,
    inner,
    read: () => readUserKey(ctx.db, wallet),
    write: async (tx, { was, sealed }) => {
      const written = await updateUserKey(tx, { ...scope, was, version, sealed, salt })
      if (written === null) return null
      if (lock === null) return [written]
      const unlocked = await ctx.guesses.unlock(tx, scope)
      return unlocked && [written, unlocked.image]
    },
    act: {
      projectId,
      actor,
      action: 'user_pin_changed',
      subject: ownerId,
      details: { wallet: wallet.id, key_version: String(version), ...describeSecret(lock) },
    },
  })
}

export const changeDeveloperSecret = async (
  ctx: RoomCtx,
  input: Readonly<Record<'projectId' | 'actor', string> & Record<'oldSecret' | 'newSecret', SecretText>>,
): Promise<void> => {
  using keys = new HeldKeys()
  const { projectId, oldSecret, newSecret, actor } = input
  requireDeveloperSecret(ctx.environment, newSecret)
  if ((await newestProjectKeyVersion(ctx.db, projectId)) === null) throw noSuchProject()
  const row = await readDeveloperKey(ctx.db, projectId)
  if (row === null) throw notActivated()
  const developerKey = keys.hold(await checkSecret(ctx, { projectId, actor, row, secret: oldSecret }))
  const scope = { projectId, version: row.version + 1 }
  await rewrap(ctx, {
    projectId,
    identity: identityOf.developerKey(scope),
    version: row.version,
    inner: sealDeveloperKey({ ...scope, secret: newSecret, developerKey }),
    read: () => readDeveloperKey(ctx.db, projectId),
    write: async (tx, next) => {
      const written = await updateDeveloperKey(tx, { ...scope, ...next })
      return written && [written]
    },
    act: {
      projectId,
      actor,
      action: 'developer_secret_changed',
      subject: projectId,
      details: { key_version: String(scope.version) },
    },
  })
}
