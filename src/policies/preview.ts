// What a preview tells of policies: whether one lets the developer do this, and otherwise why none does.

import { findWallet, type Reach } from '../../db/queries/wallets.ts'
import type { Chain, Intent } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { POLICIES_A_WALLET_MAX } from './delegated.ts'
import { createJudge } from './judge.ts'
import type { PolicyPreview } from './schema.ts'

/** How many refusals are told, of the oldest policies. */
const TOLD_MAX = 20

type Asked = Reach & { readonly chain: Chain; readonly from: string; readonly intents: readonly Intent[] }

type Judging = Pick<Ctx, 'db' | 'vault'>

const standingOf = async ({ vault }: Judging, walletId: string) => {
  try {
    return await vault.standingPolicies({ walletId, limit: POLICIES_A_WALLET_MAX })
  } catch (error) {
    // Previews go on without a vault.
    if (error instanceof AppError && error.code === 'unavailable') return null
    throw error
  }
}

/**
 * What the policies of the sender say of each intent by itself. Gas and fees are judged only when it is signed.
 * @returns nulls if the sender is no wallet within reach, or a developer-controlled one without a policy, or if no vault answers.
 */
export const previewPolicies = async (ctx: Judging, asked: Asked): Promise<readonly (PolicyPreview | null)[]> => {
  const { chain, from, intents } = asked
  const wallet = await findWallet(ctx.db, { ...asked, network: chain.network, by: { address: from } })
  const standing = wallet === null ? null : await standingOf(ctx, wallet.id)
  if (wallet === null || standing === null) return intents.map(() => null)
  // A developer-controlled wallet may be under policies once it has one.
  if (wallet.controlMode === 'developer' && standing.length === 0) return intents.map(() => null)
  return Promise.all(
    intents.map(async (intent) => {
      const judge = await createJudge({ chain, publicKey: wallet.publicKey }, [intent])
      if (judge.never !== null) return { allowed: false, uuid: null, never: judge.never, refusals: [] }
      const refusals: PolicyPreview['refusals'] = []
      for (const policy of standing) {
        const refusal = judge.refusalBy(policy)
        if (refusal === null) return { allowed: true, uuid: policy.id, never: null, refusals: [] }
        refusals.push({ uuid: policy.id, ...refusal })
      }
      return { allowed: false, uuid: null, never: null, refusals: refusals.slice(0, TOLD_MAX) }
    }),
  )
}
