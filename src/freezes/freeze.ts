import { insertFreeze } from '../../db/queries/freezes.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'
import { actOf, type Target, thingOf } from './thing.ts'

const REASON_LENGTH_MAX = 1000

/**
 * Freezes a project, an owner, a wallet or a network: from the next request on, the vault of no process opens a key of it
 * (src/custody/credentials/credentials.ts). What was signed and recorded before is sent all the same: it needs no key any more.
 * @returns whether it was not frozen before; the reason of an earlier freeze stays.
 * @throws not_found, invalid_input.
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
