// Puts wallets under policies: from then on only policies open them, not a credential alone. It is a property of the
// lock of the developer's mode, because all wallets of a keyring share one key for each family. The outer layer of the
// lock binds it, so that an attacker with the database cannot undo it. The vault can, with the project's key and
// without a credential; only an operator may request that.

import type { OwnerLockRow } from '../../../../db/queries/vault/keyrings.ts'
import { locksUnderPolicies, updateOwnerLock } from '../../../../db/queries/vault/locks.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import { AppError, noSuchProject } from '../../../platform/errors.ts'
import { KeyRotated, repeatable } from '../../contract/repeatable.ts'
import { requireCredentials } from '../../contract/required-credentials.ts'
import { changing } from '../changing.ts'
import { checkSecret } from '../credentials/credential-keys.ts'
import type { RoomCtx } from '../ctx.ts'
import { projectKeyRow } from '../journal/records.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import { type KeyRequest, readWallet, unlessForged, walletForged } from './read-wallet.ts'

type Change = {
  readonly projectId: string
  readonly keyringId: string
  readonly lock: OwnerLockRow
  readonly actor: string
  readonly act: { readonly action: 'put_under_policies' | 'released_from_policies'; readonly subject: string }
}

/** Seals the outer layer of a lock again with the new property. @throws EnvelopeError if the layer was edited. */
const change = async (ctx: RoomCtx, { projectId, keyringId, lock, actor, act }: Change): Promise<void> => {
  const { id: lockId, controlMode, policiesOnly, sealed: was } = lock
  const scope = { projectId, keyringId, lockId, controlMode }
  const next = { policiesOnly: !policiesOnly, version: lock.version + 1 }
  const version = await newestProjectKeyVersion(ctx.db, projectId)
  if (version === null) throw noSuchProject()
  const inner = await ctx.projectKeys.openOuter({
    identity: identityOf.outerOwnerLock({ ...scope, ...lock }),
    sealed: was,
  })
  const identity = identityOf.outerOwnerLock({ ...scope, ...next })
  const sealed = await ctx.projectKeys.sealOuter({ version, identity, inner })
  await changing(ctx, async (tx, wrote) => {
    await ctx.projectKeys.keepNewest(tx, { projectId, version })
    // Another call, or a rotation, was faster.
    const written = await updateOwnerLock(tx, { id: lockId, was, sealed, ...next })
    if (written === null) throw new KeyRotated('lock')
    wrote(written)
    const details = { keyring_id: keyringId, lock_id: lockId, lock_version: String(next.version) }
    await ctx.audit.record(tx, { projectId, actor, ...act, details })
    tx.afterCommit(() => ctx.journal.addToRead(projectKeyRow({ projectId, version })))
  })
}

/**
 * Puts a developer-controlled wallet, and all others of its keyring, under policies, as `Vault.putUnderPolicies` says.
 */
export const putUnderPolicies = (ctx: RoomCtx, request: KeyRequest): Promise<void> =>
  repeatable([], async () => {
    const { credentials, actor } = request
    const { wallet, row } = await readWallet(ctx, request)
    const { id: subject, projectId, keyringId, controlMode: mode } = wallet
    if (mode !== 'developer')
      throw new AppError('invalid_input', 'Only developer-controlled wallets are put under policies.')
    const { developerSecret: secret, from } = requireCredentials({ modes: [mode], credentials })
    if (secret === null) throw new Error('the developer secret was required')
    const lock = row.locks.developer
    if (lock === null) throw walletForged(request)
    await ctx.freezes.refuse({ wallet, actor, freezeMacs: row.freezeMacs })
    const developerKey = await checkSecret(ctx, { projectId, actor, from, row: row.developerKey, secret })
    developerKey.fill(0)
    if (lock.policiesOnly) return
    const act = { action: 'put_under_policies', subject } as const
    await unlessForged(request, () => change(ctx, { projectId, keyringId, lock, actor, act }))
  })

type Release = { readonly projectId: string; readonly ownerId: string; readonly actor: string }

/** Undoes it for all wallets of an owner, as `Vault.releaseFromPolicies` says. */
export const releaseFromPolicies = (ctx: RoomCtx, { actor, ...scope }: Release): Promise<void> =>
  repeatable([], async () => {
    const locks = await locksUnderPolicies(ctx.db, scope)
    if (locks.length === 0) throw new AppError('not_found', 'No wallets of this owner are under policies.')
    const act = { action: 'released_from_policies', subject: scope.ownerId } as const
    for (const { keyringId, ...lock } of locks) {
      await change(ctx, { projectId: scope.projectId, keyringId, lock, actor, act })
    }
  })
