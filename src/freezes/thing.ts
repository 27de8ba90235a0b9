import type { FrozenThing } from '../../db/queries/freezes.ts'
import { findProject } from '../../db/queries/projects.ts'
import { findWalletById, hasOwner } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { WorkerCtx } from '../context.ts'
import type { AuditAct } from '../custody/vault.ts'
import { AppError, noSuchProject, notFound, unreachable } from '../errors.ts'

/** What an operator names. */
export type Target =
  | { readonly scope: 'project'; readonly projectId: string }
  | { readonly scope: 'owner'; readonly projectId: string; readonly ownerId: string }
  | { readonly scope: 'wallet'; readonly walletId: string }
  | { readonly scope: 'network'; readonly network: Network }

const NOTHING = { projectId: null, ownerId: null, walletId: null, network: null }

/** @throws not_found for what does not exist: a slip of the pen must not look like a freeze. */
export const thingOf = async (ctx: Pick<WorkerCtx, 'db'>, target: Target): Promise<FrozenThing> => {
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

/** The audit row of a freeze or a release. */
export const actOf = (
  thing: FrozenThing,
  input: { readonly action: 'frozen' | 'unfrozen'; readonly actor: string; readonly reason: string },
): AuditAct => {
  const { scope, projectId, ownerId, walletId, network } = thing
  const subject = walletId ?? ownerId ?? projectId ?? network
  if (subject === null) throw new Error('a freeze is of a wallet, an owner, a project or a network')
  const { action, actor, reason } = input
  return { projectId, actor, action, subject, details: { scope, reason } }
}
