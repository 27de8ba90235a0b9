// What a preview shows of policies: whether one allows the developer to do this, and if not, why.

import type { Reach } from '../../db/queries/wallets.ts'
import type { Chain, Intent } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import type { UnrevokedPolicy } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import { POLICIES_A_WALLET_MAX } from './delegated.ts'
import { createJudge, type Judge } from './judge.ts'
import type { PolicyPreview } from './schema.ts'

/** How many refusals a preview lists, of the oldest policies. */
const LISTED_MAX = 20

type PreviewInput = Reach & { readonly chain: Chain; readonly from: string; readonly intents: readonly Intent[] }

type Judging = Pick<Ctx, 'db' | 'vault' | 'wallets'>

const policiesOf = async ({ vault }: Judging, walletId: string) => {
  try {
    return await vault.unrevokedPolicies({ walletId, limit: POLICIES_A_WALLET_MAX })
  } catch (error) {
    // A preview is possible without a vault.
    if (error instanceof AppError && error.code === 'unavailable') return null
    throw error
  }
}

type Policies = {
  readonly policies: readonly UnrevokedPolicy[]
  /** What each policy would be charged for the transactions before this one. */
  readonly charged: ReadonlyMap<string, readonly Intent[]>
}

const previewBy = (judge: Judge, { policies, charged }: Policies): PolicyPreview => {
  const refused = { allowed: false, uuid: null, needs_approval: false, never: judge.never, refusals: [] }
  if (judge.never !== null) return refused
  const refusals: PolicyPreview['refusals'] = []
  // Those that need no approval come first.
  for (const policy of policies) {
    const { id: uuid, requireApproval } = policy
    const refusal = judge.refusalBy(policy, charged.get(uuid))
    if (refusal === null) return { ...refused, allowed: true, uuid, needs_approval: requireApproval !== null }
    refusals.push({ uuid, ...refusal })
  }
  return { ...refused, refusals: refusals.slice(0, LISTED_MAX) }
}

/**
 * Judges each intent by the sender's policies, as if the intents before it were done. Gas and fees are judged only at signing.
 * @returns nulls if the sender is not a wallet within reach, or has developer control and no policy, or if no vault answers.
 */
export const previewPolicies = async (
  ctx: Judging,
  input: PreviewInput,
): Promise<readonly (PolicyPreview | null)[]> => {
  const { chain, from, intents } = input
  const wallet = await ctx.wallets.find({ ...input, network: chain.network, by: { address: from } })
  const policies = wallet === null ? null : await policiesOf(ctx, wallet.id)
  if (wallet === null || policies === null) return intents.map(() => null)
  // A developer-controlled wallet may be under policies once it has one.
  if (wallet.controlMode === 'developer' && policies.length === 0) return intents.map(() => null)
  const judges = await Promise.all(
    intents.map((intent) => createJudge({ chain, publicKey: wallet.publicKey }, [intent])),
  )
  const charged = new Map<string, readonly Intent[]>()
  return intents.map((intent, index) => {
    const judge = judges[index]
    if (judge === undefined) throw new Error('fewer judges than transactions')
    const preview = previewBy(judge, { policies, charged })
    if (preview.uuid !== null) charged.set(preview.uuid, [...(charged.get(preview.uuid) ?? []), intent])
    return preview
  })
}
