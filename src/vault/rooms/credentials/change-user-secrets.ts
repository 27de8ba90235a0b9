// Makes, replaces and removes the secrets that open a user key beside the PIN. Each needs another proof of the owner in
// the same request, so a stolen session alone adds none. A secret cannot remove itself, so the last one that opens
// always stays.

import { randomBytes, randomUUID } from 'node:crypto'
import type { Tx } from '../../../../db/client.ts'
import {
  countPasskeyLocks,
  holdUserKey,
  readUserKeyLock,
  type UserKeyLockOf,
  writeUserKeyLock,
} from '../../../../db/queries/vault/user-key-locks.ts'
import type { UserSecretKind } from '../../../../db/words.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { AppError, notFound } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import { identityOf, sealUserKeyLock } from '../sealing/hierarchy.ts'
import { type KeyRequest, type ReadRequest, readWallet } from '../wallets/read-wallet.ts'
import { rewrap } from './change-credential.ts'
import { openUserKeyOf, PASSKEYS_MAX, userLockFloor } from './credential-keys.ts'
import { RECOVERY_BYTES, readPasskeySecret, recoveryCodeOf } from './user-secret.ts'

type Change = Pick<ReadRequest, 'wallet' | 'actor'> & { readonly lock: UserKeyLockOf; readonly version: number }

const actOf = (action: 'user_secret_added' | 'user_secret_removed', change: Change): AuditAct => {
  const { wallet, actor, lock, version } = change
  const { projectId, ownerId: subject, kind, passkeyId } = lock
  const named = passkeyId === '' ? { kind } : { kind, passkey_id: passkeyId }
  return { projectId, actor, action, subject, details: { wallet: wallet.id, ...named, lock_version: String(version) } }
}

const refuseTooMany = async (tx: Tx, scope: UserKeyLockOf): Promise<void> => {
  await holdUserKey(tx, scope)
  if ((await countPasskeyLocks(tx, scope)) < PASSKEYS_MAX) return
  throw new AppError('invalid_input', `An owner can have ${PASSKEYS_MAX} passkeys: remove one first.`)
}

type LockRequest = KeyRequest & { readonly kind: UserSecretKind; readonly passkeyId: string }

/** Seals the user key under a secret, in place of an earlier one of the same kind and passkey. */
const addLock = async (ctx: RoomCtx, request: LockRequest & { readonly secret: Uint8Array }): Promise<void> => {
  using keys = new HeldKeys()
  const { actor, kind, passkeyId, secret } = request
  const read = await readWallet(ctx, request)
  const { wallet } = read
  const { projectId, ownerId } = wallet
  const userKey = keys.hold((await openUserKeyOf(ctx, { ...request, ...read })).userKey)
  const scope = { projectId, ownerId, kind, passkeyId }
  const versionAtLeast = userLockFloor(ctx, scope)
  const found = await readUserKeyLock(ctx.db, scope)
  const version = Math.max(found.version, versionAtLeast) + 1
  await rewrap(ctx, {
    projectId,
    identity: identityOf.userKeyLock({ ...scope, version }),
    version: found.version,
    inner: sealUserKeyLock({ ...scope, version, secret, userKey }),
    read: () => readUserKeyLock(ctx.db, scope),
    write: async (tx, { was, sealed }) => {
      if (kind === 'passkey' && was.sealed === null) await refuseTooMany(tx, scope)
      const written = await writeUserKeyLock(tx, { ...scope, id: randomUUID(), was: was.version, version, sealed })
      return written && [written]
    },
    act: actOf('user_secret_added', { wallet, actor, lock: scope, version }),
  })
}

export const newRecoveryCode = async (
  ctx: RoomCtx,
  request: KeyRequest,
): Promise<{ readonly recoveryCode: Uint8Array }> => {
  using keys = new HeldKeys()
  const secret = keys.hold(randomBytes(RECOVERY_BYTES))
  await addLock(ctx, { ...request, kind: 'recovery_code', passkeyId: '', secret })
  return { recoveryCode: recoveryCodeOf(secret) }
}

/** 32 random bytes have about 30 different ones, never fewer than 12. This refuses an app's empty buffer. */
const DIFFERENT_BYTES_MIN = 12

export const addPasskeySecret = async (
  ctx: RoomCtx,
  { passkeySecret, ...request }: KeyRequest & { readonly passkeyId: string; readonly passkeySecret: SecretText },
): Promise<void> => {
  using keys = new HeldKeys()
  const read = readPasskeySecret(passkeySecret)
  const secret = read && keys.hold(read)
  if (secret === null || new Set(secret).size < DIFFERENT_BYTES_MIN) {
    throw new AppError('invalid_input', 'Field "passkey_secret" must be the 32 bytes of a passkey, in base64url.')
  }
  await addLock(ctx, { ...request, kind: 'passkey', secret })
}

const changedMeanwhile = (): AppError =>
  new AppError('credential_changed', 'The secret was changed by another request: nothing was done.')

export const removeUserSecret = async (ctx: RoomCtx, request: LockRequest): Promise<void> => {
  using keys = new HeldKeys()
  const { actor, kind, passkeyId } = request
  const read = await readWallet(ctx, request)
  const { wallet } = read
  const { projectId, ownerId } = wallet
  const { userKey, lock } = await openUserKeyOf(ctx, { ...request, ...read })
  keys.hold(userKey)
  const scope = { projectId, ownerId, kind, passkeyId }
  if (lock?.kind === kind && lock.passkeyId === passkeyId) {
    throw new AppError('invalid_input', 'A secret cannot be removed with itself: send one that stays.')
  }
  const versionAtLeast = userLockFloor(ctx, scope)
  await changing(ctx, async (tx, wrote) => {
    // Two simultaneous requests could otherwise remove each other's secret.
    await holdUserKey(tx, scope)
    const isLeft = lock === null || (await readUserKeyLock(tx, lock)).sealed !== null
    if (!isLeft) throw changedMeanwhile()
    const was = await readUserKeyLock(tx, scope)
    if (was.sealed === null) throw notFound(kind === 'passkey' ? 'passkey' : 'recovery code')
    const version = Math.max(was.version, versionAtLeast) + 1
    const written = await writeUserKeyLock(tx, { ...scope, id: randomUUID(), was: was.version, version, sealed: null })
    if (written === null) throw changedMeanwhile()
    wrote(written)
    await ctx.audit.record(tx, actOf('user_secret_removed', { wallet, actor, lock: scope, version }))
  })
}
