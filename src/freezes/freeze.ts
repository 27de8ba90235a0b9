import { deleteFreeze, type FrozenThing, insertFreeze } from '../../db/queries/freezes.ts'
import { findProject } from '../../db/queries/projects.ts'
import { findWalletById, hasOwner } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { WorkerCtx } from '../context.ts'
import type { AuditAct } from '../custody/vault.ts'
import { AppError, noSuchProject, notFound, unreachable } from '../errors.ts'

/** What to freeze or release. */
export type Target =
  | { readonly scope: 'project'; readonly projectId: string }
  | { readonly scope: 'owner'; readonly projectId: string; readonly ownerId: string }
  | { readonly scope: 'wallet'; readonly walletId: string }
  | { readonly scope: 'network'; readonly network: Network }

const NOTHING = { projectId: null, ownerId: null, walletId: null, network: null }

/** @throws not_found if it does not exist, so that a typing error does not look like a freeze. */
const thingOf = async (ctx: Pick<WorkerCtx, 'db'>, target: Target): Promise<FrozenThing> => {
  switch (target.scope) {
    case 'project':
      if ((await findProject(ctx.db, target.projectId)) === null) throw noSuchProject()
      return { ...NOTHING, ...target }
    case 'owner':
      if (!(await hasOwner(ctx.db, target))) throw notFound('owner')
      return { ...NOTHING, ...target }
    case 'wallet': {
      const wallet = await findWalletById(ctx.db, target.walletId)
      if (wallet === null) throw new AppError('not_found', 'There is no wallet with this id.')
      return { ...NOTHING, ...target, projectId: wallet.projectId }
    }
    case 'network':
      return { ...NOTHING, ...target }
    default:
      return unreachable(target)
  }
}

/** The audit row of a freeze or release. */
const actOf = (
  thing: FrozenThing,
  input: { readonly action: 'frozen' | 'unfrozen'; readonly actor: string; readonly reason: string },
): AuditAct => {
  const { scope, projectId, ownerId, walletId, network } = thing
  const subject = walletId ?? ownerId ?? projectId ?? network
  if (subject === null) throw new Error('a freeze must name a wallet, an owner, a project or a network')
  const { action, actor, reason } = input
  return { projectId, actor, action, subject, details: { scope, reason } }
}

const REASON_LENGTH_MAX = 1000

/**
 * Freezes a project, an owner, a wallet or a network: from the next request on, no vault opens its keys
 * (src/custody/credentials/credentials.ts). Transactions that are already signed and recorded are still sent.
 * @returns false if it was already frozen; the earlier reason stays.
 */
export const freeze = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly target: Target; readonly reason: string; readonly actor: string },
): Promise<boolean> => {
  const { actor } = input
  const reason = input.reason.trim()
  if (reason.length === 0 || reason.length > REASON_LENGTH_MAX) {
    throw new AppError('invalid_input', `The reason must be a text of 1 to ${REASON_LENGTH_MAX} characters.`)
  }
  const thing = await thingOf(ctx, input.target)
  return ctx.db.transaction(async (tx) => {
    const isNew = await insertFreeze(tx, { thing, reason })
    if (isNew) await ctx.audit.record(tx, actOf(thing, { action: 'frozen', actor, reason }))
    return isNew
  })
}

/**
 * Ends one freeze. A wallet of a frozen project stays frozen with the project.
 * @returns whether it was frozen.
 */
export const unfreeze = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly target: Target; readonly reason: string; readonly actor: string },
): Promise<boolean> => {
  const { actor, reason } = input
  const thing = await thingOf(ctx, input.target)
  return ctx.db.transaction(async (tx) => {
    const wasFrozen = await deleteFreeze(tx, thing)
    if (wasFrozen) await ctx.audit.record(tx, actOf(thing, { action: 'unfrozen', actor, reason }))
    return wasFrozen
  })
}
