import type { Tx } from '../../db/client.ts'
import { deleteFreeze, type FrozenThing, insertFreeze } from '../../db/queries/freezes.ts'
import { findProject } from '../../db/queries/projects.ts'
import { findWalletById, hasOwner } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Ctx, WorkerCtx } from '../context.ts'
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

type Input = { readonly target: Target; readonly reason: string; readonly actor: string }

/** Changes the freeze of a thing, and records it in the audit. @returns whether there was anything to change. */
const change = async (
  ctx: Pick<Ctx, 'db' | 'audit'>,
  { target, reason, actor }: Input,
  {
    action,
    write,
  }: {
    readonly action: 'frozen' | 'unfrozen'
    readonly write: (tx: Tx, thing: FrozenThing) => Promise<boolean>
  },
): Promise<boolean> => {
  const thing = await thingOf(ctx, target)
  const { scope, projectId, ownerId, walletId, network } = thing
  const subject = walletId ?? ownerId ?? projectId ?? network
  if (subject === null) throw new Error('a freeze must name a wallet, an owner, a project or a network')
  return ctx.db.transaction(async (tx) => {
    const isChanged = await write(tx, thing)
    if (isChanged) await ctx.audit.record(tx, { projectId, actor, action, subject, details: { scope, reason } })
    return isChanged
  })
}

const REASON_LENGTH_MAX = 1000

/**
 * Freezes a project, an owner, a wallet or a network: from the next request on, no vault opens its keys
 * (src/custody/credentials/credentials.ts). Transactions that are already signed and recorded are still sent.
 * @returns false if it was already frozen; the earlier reason stays.
 */
export const freeze = async (ctx: Pick<Ctx, 'db' | 'audit'>, input: Input): Promise<boolean> => {
  const reason = input.reason.trim()
  if (reason.length === 0 || reason.length > REASON_LENGTH_MAX) {
    throw new AppError('invalid_input', `The reason must be a text of 1 to ${REASON_LENGTH_MAX} characters.`)
  }
  const write = (tx: Tx, thing: FrozenThing) => insertFreeze(tx, { thing, reason })
  return change(ctx, { ...input, reason }, { action: 'frozen', write })
}

/** Ends one freeze. A wallet of a frozen project stays frozen with the project. @returns whether it was frozen. */
export const unfreeze = (ctx: Pick<Ctx, 'db' | 'audit'>, input: Input): Promise<boolean> =>
  change(ctx, input, { action: 'unfrozen', write: deleteFreeze })
