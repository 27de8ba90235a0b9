import { deleteTokenList } from '../../db/queries/listed-tokens.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

/** Forgets a list: its tokens are shown as before it. @throws not_found. */
export const removeTokenList = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly name: string; readonly actor: string },
): Promise<void> => {
  const { name, actor } = input
  const wasThere = await ctx.db.transaction(async (tx) => {
    const tokens = await deleteTokenList(tx, name)
    if (tokens === 0) return false
    const details = { tokens: String(tokens) }
    await ctx.audit.record(tx, { projectId: null, actor, action: 'token_list_removed', subject: name, details })
    return true
  })
  if (!wasThere) {
    throw new AppError('not_found', `There is no token list named "${name}"; "tokens list" shows which there are.`)
  }
}
