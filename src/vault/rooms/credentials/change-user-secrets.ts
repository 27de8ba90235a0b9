// The secrets that open a user key beside the PIN: making and replacing them, and taking them back. Each needs another proof of
// the owner in the same request, so a stolen session alone adds none.
//
// A secret cannot take itself back. So there is always another way left, which was shown to open: nobody removes the last one.

import { randomBytes, randomUUID } from 'node:crypto'
import type { Tx } from '../../../../db/client.ts'
import {
  countPasskeyLocks,
  holdUserKey,
  readUserKeyLock,
  type UserKeyLockOf,
  writeUserKeyLock,
} from '../../../../db/queries/custody/user-key-locks.ts'
import type { UserSecretKind } from '../../../../db/words.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { AppError, notFound } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { requireCredentials } from '../../contract/required-credentials.ts'
import { changing } from '../changing.ts'
import type { CustodyCtx } from '../ctx.ts'
import { identityOf, sealUserKeyLock } from '../sealing/hierarchy.ts'
import { type KeyRequest, type ReadRequest, readWallet } from '../wallets/read-wallet.ts'
import { PASSKEYS_MAX, userLockFloor } from './check-user-secret.ts'
import { checkUser } from './credential-keys.ts'
import { RECOVERY_BYTES, recoveryCodeOf } from './recovery-code.ts'
import { rewrap } from './rewrap.ts'
import { readPasskeySecret } from './user-secret.ts'

/** Checks the credential of a wallet's owner. @returns the user key, which the caller zeroes, and the lock that was opened. */
const openUserKey = async (ctx: CustodyCtx, { wallet, row, credentials, actor }: ReadRequest) => {
  const proof = requireCredentials({ modes: ['user'], credentials })
  if (row.userKey === null) throw new Error('a user-controlled wallet has an owner without a user key')
  await ctx.freezes.refuse({ wallet, actor, freezeMacs: row.freezeMacs })
  const { projectId, ownerId } = wallet
  const opened = await checkUser(ctx, { projectId, ownerId, actor, proof, row: row.userKey })
  if (opened === null) throw new Error('a credential of the user was required')
  return opened
}

type Next = Pick<KeyRequest, 'wallet' | 'actor'> & { readonly of: UserKeyLockOf; readonly version: number }

const actOf = (action: 'user_secret_added' | 'user_secret_removed', { wallet, actor, of, version }: Next): AuditAct => {
  const { projectId, ownerId: subject, kind, passkeyId } = of
  const named = passkeyId === '' ? { kind } : { kind, passkey_id: passkeyId }
  return { projectId, actor, action, subject, details: { wallet: wallet.id, ...named, lock_version: String(version) } }
}

const refuseTooMany = async (tx: Tx, of: UserKeyLockOf): Promise<void> => {
  await holdUserKey(tx, of)
  if ((await countPasskeyLocks(tx, of)) < PASSKEYS_MAX) return
  throw new AppError('invalid_input', `An owner can have ${PASSKEYS_MAX} passkeys: remove one first.`)
}

/** Seals the user key under a secret, in place of an earlier one of the same kind and passkey. */
const addLock = async (
  ctx: CustodyCtx,
  {
    kind,
    passkeyId,
    secret,
    ...request
  }: KeyRequest & { readonly kind: UserSecretKind; readonly passkeyId: string; readonly secret: Uint8Array },
): Promise<void> => {
  using keys = new HeldKeys()
  const { actor } = request
  const read = await readWallet(ctx, request)
  const { wallet } = read
  const { projectId, ownerId } = wallet
  const userKey = keys.hold((await openUserKey(ctx, { ...request, ...read })).userKey)
  const of = { projectId, ownerId, kind, passkeyId }
  const versionAtLeast = userLockFloor(ctx, of)
  const found = await readUserKeyLock(ctx.db, of)
  const version = Math.max(found.version, versionAtLeast) + 1
  await rewrap(ctx, {
    projectId,
    identity: identityOf.userKeyLock({ ...of, version }),
    version: found.version,
    inner: sealUserKeyLock({ ...of, version, secret, userKey }),
    read: () => readUserKeyLock(ctx.db, of),
    write: async (tx, { was, sealed }) => {
      if (kind === 'passkey' && was.sealed === null) await refuseTooMany(tx, of)
      const written = await writeUserKeyLock(tx, { ...of, id: randomUUID(), was: was.version, version, sealed })
      return written && [written]
    },
    act: actOf('user_secret_added', { wallet, actor, of, version }),
  })
}

/** Makes a recovery code, as `Vault.newRecoveryCode` says. */
export const newRecoveryCode = async (
  ctx: CustodyCtx,
  request: KeyRequest,
): Promise<{ readonly recoveryCode: Uint8Array }> => {
  using keys = new HeldKeys()
  const secret = keys.hold(randomBytes(RECOVERY_BYTES))
  await addLock(ctx, { ...request, kind: 'recovery_code', passkeyId: '', secret })
  return { recoveryCode: recoveryCodeOf(secret) }
}

/**
 * Of 32 random bytes about 30 are different; fewer than 12 never come. So an app's mistake is found, such as an empty buffer, before
 * anybody who makes the same mistake can open the wallets.
 */
const DIFFERENT_BYTES_MIN = 12

/** Lets a passkey open the user key, as `Vault.addPasskeySecret` says. */
export const addPasskeySecret = async (
  ctx: CustodyCtx,
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

type Removal = KeyRequest & { readonly kind: UserSecretKind; readonly passkeyId: string }

/** Takes a secret back, as `Vault.removeUserSecret` says. */
export const removeUserSecret = async (ctx: CustodyCtx, request: Removal): Promise<void> => {
  using keys = new HeldKeys()
  const { actor, kind, passkeyId } = request
  const read = await readWallet(ctx, request)
  const { wallet } = read
  const { projectId, ownerId } = wallet
  const { userKey, lock } = await openUserKey(ctx, { ...request, ...read })
  keys.hold(userKey)
  const of = { projectId, ownerId, kind, passkeyId }
  if (lock?.kind === kind && lock.passkeyId === passkeyId) {
    throw new AppError('invalid_input', 'A secret cannot be removed with itself: send one that stays.')
  }
  const versionAtLeast = userLockFloor(ctx, of)
  await changing(ctx, async (tx, wrote) => {
    // Two requests could otherwise remove each other's secret at once.
    await holdUserKey(tx, of)
    const isLeft = lock === null || (await readUserKeyLock(tx, lock)).sealed !== null
    if (!isLeft) throw changedMeanwhile()
    const was = await readUserKeyLock(tx, of)
    if (was.sealed === null) throw notFound(kind === 'passkey' ? 'passkey' : 'recovery code')
    const version = Math.max(was.version, versionAtLeast) + 1
    const written = await writeUserKeyLock(tx, { ...of, id: randomUUID(), was: was.version, version, sealed: null })
    if (written === null) throw changedMeanwhile()
    wrote(written)
    await ctx.audit.record(tx, actOf('user_secret_removed', { wallet, actor, of, version }))
  })
}
