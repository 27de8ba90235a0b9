import { findWalletOfPolicy, markPolicyRevoked } from '../../db/queries/policies.ts'
import type { Signatory } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { notFound } from '../errors.ts'

/**
 * Ends a delegation for the next request on every process, and erases its lock: with it goes the key. What was accepted
 * before is not recalled.
 * @throws not_found (unknown, revoked, or out of reach), credential_required, and what the vault throws for the credential.
 */
export const revokePolicy = async (
  ctx: Pick<Ctx, 'db' | 'vault'>,
  input: Signatory & { readonly id: string },
): Promise<void> => {
  const { id, actor, credentials } = input
  const wallet = await findWalletOfPolicy(ctx.db, input)
  if (wallet === null) throw notFound('policy')
  const lock = await ctx.vault.revokePolicy({ wallet, credentials, actor, policyId: id })
  await ctx.db.transaction(async (tx) => {
    if (!(await markPolicyRevoked(tx, id))) throw notFound('policy')
    await lock.write(tx)
  })
}
