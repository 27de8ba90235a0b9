import { deleteFreeze } from '../../db/queries/freezes.ts'
import type { WorkerCtx } from '../context.ts'
import { actOf, type Target, thingOf } from './thing.ts'

/**
 * Releases what was frozen, and nothing else: a wallet of a frozen project stays frozen with it.
 * @returns whether it was frozen. @throws not_found
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
