// Changing a credential. The user key or developer key stays the same and is sealed again, so all its locks open as before
// (rewrap.ts). The old credential is checked first. A request that passed its own check just before the change goes on with the
// key that it opened. A later one, or one that waits in the guess guard with the old version, gets an error and can try again.
//
// A new PIN may also be set with a recovery code or a passkey. Then the owner's wrong PINs are forgotten, and a lockout ends: they
// were guesses at a PIN that does not open anything any more.

import {
  readDeveloperKey,
  readUserKey,
  updateDeveloperKey,
  updateUserKey,
} from '../../../../db/queries/custody/locks.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/custody/project-keys.ts'
import type { UserKeyLockOf } from '../../../../db/queries/custody/user-key-locks.ts'
import { noSuchProject } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText } from '../../../platform/sealing/bytes.ts'
import { requireCredentials } from '../../contract/required-credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { identityOf, sealDeveloperKey } from '../sealing/hierarchy.ts'
import { readWallet, type WalletName } from '../wallets/read-wallet.ts'
import { checkSecret, checkUser, notActivated, sealUnderPin } from './credential-keys.ts'
import { requireDeveloperSecret } from './developer-secret.ts'
import { refuseObviousPin } from './obvious-pin.ts'
import { rewrap } from './rewrap.ts'

type PinChange = {
  readonly wallet: WalletName
  readonly oldPin?: SecretText | undefined
  /** Instead of the old PIN. */
  readonly userSecret?: SecretText | undefined
  readonly newPin: SecretText
  readonly actor: string
  /** As in `Credentials`. */
  readonly from?: string | undefined
}

/** The secret that opened the user key, for the audit; nothing for the PIN. */
const byOf = (lock: UserKeyLockOf | null): Readonly<Record<string, string>> => {
  if (lock === null) return {}
  return lock.passkeyId === '' ? { by: lock.kind } : { by: lock.kind, passkey_id: lock.passkeyId }
}

/** Changes the PIN of a wallet's owner, as `Vault.changeUserPin` says. */
export const changeUserPin = async (ctx: CustodyCtx, input: PinChange): Promise<void> => {
  using keys = new HeldKeys()
  const { oldPin: userPin, userSecret, newPin, actor, from } = input
  refuseObviousPin({ pin: newPin, field: 'new_user_pin' })
  const proof = requireCredentials({ modes: ['user'], credentials: { userPin, userSecret, from } })
  const { wallet, row: read } = await readWallet(ctx, input)
  const { projectId, ownerId } = wallet
  const row = read.userKey
  if (row === null) throw new Error('a user-controlled wallet has an owner without a user key')
  await ctx.freezes.refuse({ wallet, actor, freezeMacs: read.freezeMacs })
  const of = { projectId, ownerId }
  // An earlier row may be there, and the new one must be newer than all.
  const version = Math.max(row.version, ctx.journal.floorOf('user_keys', [projectId, ownerId])) + 1
  const opened = await checkUser(ctx, { ...of, actor, proof, row })
  if (opened === null) throw new Error('a credential of the user was required')
  const userKey = keys.hold(opened.userKey)
  const { lock } = opened
  if (lock !== null) await ctx.guesses.fetchKeys(of)
  const { salt, inner } = await sealUnderPin(ctx, { ...of, version, pin: newPin, userKey })
  await rewrap(ctx, {
    projectId,
    identity: identityOf.userKey({ ...of, version }),
    version: row.version,
    inner,
    read: () => readUserKey(ctx.db, wallet),
    write: async (tx, { was, sealed }) => {
      const written = await updateUserKey(tx, { ...of, was, version, sealed, salt })
      if (written === null) return null
      if (lock === null) return [written]
      const unlocked = await ctx.guesses.unlock(tx, of)
      return unlocked && [written, unlocked.image]
    },
    act: {
      projectId,
      actor,
      action: 'user_pin_changed',
      subject: ownerId,
      details: { wallet: wallet.id, key_version: String(version), ...byOf(lock) },
    },
  })
}

type SecretChange = {
  readonly projectId: string
  readonly oldSecret: SecretText
  readonly newSecret: SecretText
  readonly actor: string
}

/** Changes a project's developer secret, as `Vault.changeDeveloperSecret` says. */
export const changeDeveloperSecret = async (ctx: CustodyCtx, input: SecretChange): Promise<void> => {
  using keys = new HeldKeys()
  const { projectId, oldSecret, newSecret, actor } = input
  requireDeveloperSecret(ctx.environment, newSecret)
  if ((await newestProjectKeyVersion(ctx.db, projectId)) === null) throw noSuchProject()
  const row = await readDeveloperKey(ctx.db, projectId)
  if (row === null) throw notActivated()
  const developerKey = keys.hold(await checkSecret(ctx, { projectId, actor, row, secret: oldSecret }))
  const of = { projectId, version: row.version + 1 }
  await rewrap(ctx, {
    projectId,
    identity: identityOf.developerKey(of),
    version: row.version,
    inner: sealDeveloperKey({ ...of, secret: newSecret, developerKey }),
    read: () => readDeveloperKey(ctx.db, projectId),
    write: async (tx, next) => {
      const written = await updateDeveloperKey(tx, { ...of, ...next })
      return written && [written]
    },
    act: {
      projectId,
      actor,
      action: 'developer_secret_changed',
      subject: projectId,
      details: { key_version: String(of.version) },
    },
  })
}
