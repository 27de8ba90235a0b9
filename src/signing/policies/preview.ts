// What a preview shows of policies: whether one allows the developer to do this, and if not, why.

import type { Reach, WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Intent } from '../../chains/chain.ts'
import { AppError } from '../../platform/errors.ts'
import type { UnrevokedPolicy } from '../../vault/contract/vault.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import type { SigningCtx } from '../ctx.ts'
import { POLICIES_A_WALLET_MAX } from './delegated.ts'
import { createJudge, type Judge } from './judge.ts'
import type { PolicyPreview } from './schema.ts'
import { neverSignedBy, typedDataRefusal } from './typed-data.ts'

/** How many refusals a preview lists, of the oldest policies. */
const LISTED_MAX = 20

/** `from`: canonical. */
type Sender = Reach & { readonly chain: Chain; readonly from: string }

const readPolicies = async ({ vault }: SigningCtx, walletId: string) => {
  try {
    return await vault.unrevokedPolicies({ walletId, limit: POLICIES_A_WALLET_MAX })
  } catch (error) {
    // A preview is possible without a vault.
    if (error instanceof AppError && error.code === 'unavailable') return null
    throw error
  }
}

type Judged = { readonly wallet: WalletRow; readonly policies: readonly UnrevokedPolicy[] }

/** The sender's wallet and its policies; null if no policy is to be judged. */
const readJudged = async (ctx: SigningCtx, input: Sender): Promise<Judged | null> => {
  const { chain, from } = input
  const wallet = await ctx.wallets.find({ ...input, network: chain.network, by: { address: from } })
  const policies = wallet === null ? null : await readPolicies(ctx, wallet.id)
  if (wallet === null || policies === null) return null
  // A developer-controlled wallet may be under policies once it has one.
  return wallet.controlMode === 'developer' && policies.length === 0 ? null : { wallet, policies }
}

type Judgement = Pick<Judge, 'never'> & {
  readonly refusalBy: (policy: UnrevokedPolicy) => ReturnType<Judge['refusalBy']>
}

const judgeAll = (policies: readonly UnrevokedPolicy[], { never, refusalBy }: Judgement): PolicyPreview => {
  const refused = { allowed: false, uuid: null, needs_approval: false, never, refusals: [] }
  if (never !== null) return refused
  const refusals: PolicyPreview['refusals'] = []
  // Those that need no approval come first.
  for (const policy of policies) {
    const { id: uuid, requireApproval } = policy
    const refusal = refusalBy(policy)
    if (refusal === null) return { ...refused, allowed: true, uuid, needs_approval: requireApproval !== null }
    refusals.push({ uuid, ...refusal })
  }
  return { ...refused, refusals: refusals.slice(0, LISTED_MAX) }
}

/**
 * As if the intents before each were done. Gas and fees are judged only at signing. @returns nulls for a sender beyond
 * reach, for developer control without a policy, and if no vault answers.
 */
export const previewPolicies = async (
  ctx: SigningCtx,
  input: Sender & { readonly intents: readonly Intent[] },
): Promise<readonly (PolicyPreview | null)[]> => {
  const { chain, intents } = input
  const judged = await readJudged(ctx, input)
  if (judged === null) return intents.map(() => null)
  const { wallet, policies } = judged
  const judges = await Promise.all(
    intents.map((intent) => createJudge({ chain, publicKey: wallet.publicKey }, [intent])),
  )
  /** What each policy would be charged for the transactions before this one. */
  const charged = new Map<string, readonly Intent[]>()
  return intents.map((intent, index) => {
    const judge = judges[index]
    if (judge === undefined) throw new Error('fewer judges than transactions')
    const { never } = judge
    const preview = judgeAll(policies, {
      never,
      refusalBy: (policy) => judge.refusalBy(policy, charged.get(policy.id)),
    })
    if (preview.uuid !== null) charged.set(preview.uuid, [...(charged.get(preview.uuid) ?? []), intent])
    return preview
  })
}

/** Judges typed data by the signer's policies; null as for transactions. @param input.typedData checked before */
export const previewSignaturePolicy = async (
  ctx: SigningCtx,
  input: Sender & { readonly typedData: TypedData },
): Promise<PolicyPreview | null> => {
  const { chain, typedData } = input
  const judged = await readJudged(ctx, input)
  if (judged === null) return null
  const { wallet, policies } = judged
  return judgeAll(policies, {
    never: neverSignedBy({ chain, wallet }, typedData),
    refusalBy: (policy) => typedDataRefusal(policy, typedData),
  })
}
