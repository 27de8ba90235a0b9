// The check of a `user_secret`: it is right if it opens one of the owner's locks of its kind.

import {
  readUserKeyLocks,
  type UserKeyLockOf,
  type UserKeyLockRow,
} from '../../../../db/queries/custody/user-key-locks.ts'
import type { UserSecretKind } from '../../../../db/words.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { EnvelopeError } from '../../../platform/sealing/envelope.ts'
import { invalidSecret, whereOf } from '../../contract/required-credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { identityOf, openUserKeyLock } from '../sealing/hierarchy.ts'
import { readUserSecret } from './user-secret.ts'

/** How many passkeys may open one user key. */
export const PASSKEYS_MAX = 10

type Owner = { readonly projectId: string; readonly ownerId: string }

/** How new a lock must be. */
export const userLockFloor = ({ journal }: CustodyCtx, of: UserKeyLockOf): number =>
  journal.floorOf('user_key_locks', [of.projectId, of.ownerId, of.kind, of.passkeyId])

type PresentLock = UserKeyLockRow & {
  /** Somebody wrote back an earlier state. */
  readonly isEarlier: boolean
}

/** An owner's locks of a kind. What looks old is read again, as it may have changed before its floor was looked up. */
const presentLocks = async (
  ctx: CustodyCtx,
  of: Owner & { readonly kind: UserSecretKind },
): Promise<readonly PresentLock[]> => {
  const read = () => readUserKeyLocks(ctx.db, { ...of, limit: PASSKEYS_MAX })
  const rows = await read()
  const floors = new Map(rows.map(({ passkeyId }) => [passkeyId, userLockFloor(ctx, { ...of, passkeyId })]))
  const isEarlier = ({ passkeyId, version }: UserKeyLockRow) => version < (floors.get(passkeyId) ?? 0)
  const newest = rows.some(isEarlier) ? await read() : rows
  return newest.map((row) => ({ ...row, isEarlier: isEarlier(row) }))
}

/** @returns the user key; null if the secret is another one. @throws EnvelopeError if the row is not as it was made. */
const openLock = async (
  { projectKeys }: CustodyCtx,
  { sealed, isEarlier, ...of }: Owner & PresentLock & { readonly secret: Uint8Array },
): Promise<Uint8Array | null> => {
  if (isEarlier) throw new EnvelopeError('unknown version')
  const inner = await projectKeys.openOuter({ identity: identityOf.userKeyLock(of), sealed })
  return openUserKeyLock({ ...of, sealed: inner })
}

/**
 * Opens an owner's user key. A forged lock opens nothing; others of the owner still do.
 * @returns the key, which the caller zeroes, and the lock that the secret opened.
 */
export const checkUserSecret = async (
  ctx: CustodyCtx,
  input: Owner & { readonly actor: string; readonly from?: string | undefined; readonly secret: SecretText },
): Promise<{ readonly userKey: Uint8Array; readonly lock: UserKeyLockOf }> => {
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
