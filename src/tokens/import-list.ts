import { replaceTokenList } from '../../db/queries/listed-tokens.ts'
import type { WorkerCtx } from '../context.ts'
import { parseTokenListFile, type TokenListFile } from './list-file.ts'

/**
 * Keeps how the tokens of a list are shown, in place of what was imported under the list's name before. A token that
 * another list has goes over to this one. Of a list with mistakes what is right is kept, and the result names the rest.
 * @throws what parseTokenListFile throws.
 */
export const importTokenList = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit' | 'chains'>,
  input: { readonly text: string; readonly actor: string },
): Promise<TokenListFile> => {
  const file = parseTokenListFile({ text: input.text, chains: ctx.chains.known })
  const { name, version, tokens, skipped, refused } = file
  await ctx.db.transaction(async (tx) => {
    await replaceTokenList(tx, { listName: name, tokens })
    const details = {
      version,
      tokens: String(tokens.length),
      skipped: String(skipped),
      refused: String(refused.length),
    }
    const act = { projectId: null, actor: input.actor, action: 'token_list_imported', subject: name, details } as const
    await ctx.audit.record(tx, act)
  })
  return file
}
