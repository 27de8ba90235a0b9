import { findApiKey, revokeApiKey as update } from '../../db/queries/api-keys.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

/**
 * Revokes an API key: it is refused from the next request on, by every process. Idempotent.
 * @returns whether it was not revoked before. @throws not_found
 */
export const revokeApiKey = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly id: string; readonly actor: string },
): Promise<boolean> => {
  const revoked = await ctx.db.transaction(async (tx) => {
    const key = await update(tx, input.id)
    if (key === null) return false
    await ctx.audit.record(tx, {
      projectId: key.projectId,
      actor: input.actor,
      action: 'api_key_revoked',
      subject: key.id,
      details: { name: key.name },
    })
    return true
  })
  if (!revoked && (await findApiKey(ctx.db, input.id)) === null) {
    throw new AppError('not_found', 'There is no API key with this id.')
  }
  return revoked
}
