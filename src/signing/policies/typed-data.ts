// Signatures of typed data with the developer's secret within a policy. The vault judges the rules itself, by the same
// code as here, and charges the policy before the signature leaves it.

import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { NodelessChain } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { Signatures } from '../../vault/contract/contract.ts'
import type { KeyUse, OpenPolicies, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import { contractOf, countUse } from '../../vault/language/policy-limits.ts'
import { neverSigned, tokensGranted, typedDataMismatch } from '../../vault/language/typed-data-rules.ts'
import type { SigningCtx } from '../ctx.ts'
import type { TypedDataField } from '../typed-data/schema.ts'
import { describeInstead, isDelegated, POLICIES_A_WALLET_MAX, TRIES_MAX } from './delegated.ts'
import { grantedApproval, namedApproval, noteUse, requireStillOpen } from './grant.ts'
import { denied } from './intent-bounds.ts'
import type { PolicyRefusal } from './judge.ts'
import { writeTypedDataRequest } from './request.ts'

type TypedDataUse = Pick<Signatory, 'actor' | 'credentials' | 'approvalId'> & {
  readonly chain: Signer['chain']
  readonly wallet: WalletRow
  readonly typedData: TypedDataField
  readonly use: KeyUse
}

const refused = (reason: PolicyRefusal['reason'], rule: number | null = null): PolicyRefusal => ({ reason, rule })

/** Why a policy does not allow the typed data; null if it does. Pure. @param typedData checked before */
export const typedDataRefusal = (policy: UnrevokedPolicy, typedData: TypedData): PolicyRefusal | null => {
  const { isExpired, uses, maxUses, argumentRules, tokenLimits, limitCounts: counts, readAt: at } = policy
  if (isExpired) return refused('expired')
  if (maxUses !== null && uses + 1 > maxUses) return refused('used_up')
  const mismatch = typedDataMismatch(argumentRules, typedData)
  if (mismatch !== null)
    return mismatch === 'type_not_named' ? refused(mismatch) : refused('rule_not_matched', mismatch)
  const tokens = tokensGranted(tokenLimits.map(contractOf), typedData)
  if (tokens === null) return refused('token_unknown')
  const counted = countUse(policy, { counts, at, use: { value: 0n, uses: 1, tokens } })
  if (typeof counted !== 'string') return null
  return refused(counted === 'token' ? 'token_exceeded' : 'rolling_exceeded')
}

type Signer = {
  readonly chain: Pick<NodelessChain, 'addressOf' | 'contractWallets'>
  readonly wallet: Pick<WalletRow, 'publicKey'>
}

/** Why no policy of a wallet can allow the typed data, as a sentence; null if one may. Pure. */
export const neverSignedBy = ({ chain, wallet }: Signer, typedData: TypedData): string | null =>
  neverSigned(typedData, chain.contractWallets?.of(chain.addressOf(wallet.publicKey)).address ?? '')

const policiesOf = (ctx: SigningCtx, { wallet, credentials, actor }: TypedDataUse) =>
  ctx.vault.openPolicies({ wallet, credentials, actor, limit: POLICIES_A_WALLET_MAX })

const signByPolicy = async (ctx: SigningCtx, asked: TypedDataUse & { readonly first: OpenPolicies }) => {
  const { wallet, credentials, actor, typedData, use, first } = asked
  // An approval belongs to one policy, and then only this policy is judged.
  const approval = await namedApproval(ctx, asked)
  const never = neverSignedBy(asked, typedData)
  if (never !== null) throw denied(never)
  const closed = new Set<string>()
  let refusal = denied(
    `No policy of this wallet allows this typed data, or has enough left for it${describeInstead(wallet)}.`,
  )
  for (let tries = 1; ; tries += 1) {
    using opened = tries === 1 ? first : await policiesOf(ctx, asked)
    const isAsked = ({ id }: UnrevokedPolicy) => !closed.has(id) && (approval?.policyId ?? id) === id
    const terms = opened.policies.find((policy) => isAsked(policy) && typedDataRefusal(policy, typedData) === null)
    if (terms === undefined) throw refusal
    const request = () => writeTypedDataRequest(wallet, typedData)
    const granted = await grantedApproval(ctx, { wallet, actor, policy: terms, approval, request })
    try {
      if (granted !== undefined) await requireStillOpen(ctx, granted)
      const spends = { value: 0n, fee: 0n }
      const signatures = await opened.sign({ policyId: terms.id, approval: granted, spends }, use)
      if (granted !== undefined) await noteUse(ctx, granted)
      return signatures
    } catch (error) {
      // The policy has ended meanwhile, or its row was edited. Another one may allow it.
      if (!(error instanceof AppError) || error.code !== 'policy_denied' || tries >= TRIES_MAX) throw error
      closed.add(terms.id)
      if (error.event === null) continue
      refusal = denied(error.message)
      ctx.securityEvents.record({ event: error.event, from: credentials.from ?? '' })
    }
  }
}

/** Signs with the credentials that a message needs, or with the developer's secret if a policy allows it. */
export const signWithPolicies = async (ctx: SigningCtx, asked: TypedDataUse): Promise<Signatures> => {
  const { wallet, credentials, actor, use, approvalId } = asked
  if (isDelegated(asked) || approvalId !== undefined) {
    using first = await policiesOf(ctx, asked)
    if (first.policies.length > 0 || approvalId !== undefined) return await signByPolicy(ctx, { ...asked, first })
  }
  try {
    return await ctx.vault.signMessage({ wallet, credentials, actor, uses: [use] })
  } catch (error) {
    // Only the vault knows whether a wallet is under policies. It refuses before anything is signed.
    if (!(error instanceof AppError) || error.code !== 'under_policies') throw error
  }
  using first = await policiesOf(ctx, asked)
  return await signByPolicy(ctx, { ...asked, first })
}
