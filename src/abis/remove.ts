import { deleteAbi } from '../../db/queries/abis.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

/** Forgets an added ABI: the next preview does without it. @throws not_found. */
export const removeAbi = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly name: string; readonly actor: string },
): Promise<void> => {
  const { name, actor } = input
  const wasThere = await ctx.db.transaction(async (tx) => {
    const items = await deleteAbi(tx, name)
    if (items === 0) return false
    const details = { items: String(items) }
    await ctx.audit.record(tx, { projectId: null, actor, action: 'abi_removed', subject: name, details })
    return true
  })
  if (!wasThere) throw new AppError('not_found', `There is no ABI named "${name}"; "abi list" shows which there are.`)
}
