import { markProjectActivated } from '../../db/queries/projects.ts'
import type { Ctx } from '../context.ts'
import { createProjectWallet } from './wallet.ts'

/**
 * Activates a project of mainnet with the developer's secret, and makes its project wallets on every network that is
 * served. A wallet that is missing afterwards is made by the first request that needs it.
 * @throws invalid_input for a secret that is refused and for an active project, not_found.
 */
export const activateProject = async (
  ctx: Ctx,
  input: { readonly projectId: string; readonly developerSecret: string; readonly actor: string },
): Promise<void> => {
  const { projectId } = input
  const made = await ctx.vault.activateProject(input)
  await ctx.db.transaction(async (tx) => {
    await made.write(tx)
    await markProjectActivated(tx, { projectId, at: ctx.now() })
  })
  for (const { network } of ctx.chains.served) await createProjectWallet(ctx, { ...input, network })
}
