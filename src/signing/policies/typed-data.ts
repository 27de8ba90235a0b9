// Signatures of typed data with the developer's secret within a policy. The vault judges the rules itself, by the same code as here,
// and charges the policy before the signature leaves it.

import type { ApprovalRow } from '../../../db/queries/approvals.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { NodelessChain } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { Signatures } from '../../vault/contract/contract.ts'
import type { Approval, KeyUse, OpenPolicies, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import { contractOf, countUse } from '../../vault/language/policy-limits.ts'
import { neverSigned, tokensGranted, typedDataMismatch } from '../../vault/language/typed-data-rules.ts'
import { grantedApproval, namedApproval, noteUse, requireStillOpen } from '../approvals/grant.ts'
import { typedDataRequestOf } from '../approvals/request.ts'
import type { SigningCtx } from '../ctx.ts'
import type { TypedDataField } from '../typed-data/schema.ts'
import { isDelegated, POLICIES_A_WALLET_MAX, TRIES_MAX } from './delegated.ts'
import type { PolicyRefusal } from './judge.ts'

type TypedDataUse = Pick<Signatory, 'actor' | 'credentials' | 'approvalId'> & {
  readonly chain: Signer['chain']
  readonly wallet: WalletRow
  readonly typedData: TypedDataField
  readonly use: KeyUse
}

const denied = (sentence: string): AppError => new AppError('policy_denied', sentence)

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

type Granting = { readonly policy: UnrevokedPolicy; readonly approval: ApprovalRow | null }

/** The approval of a use; undefined if the policy needs none. */
const grantedFor = async (
  ctx: SigningCtx,
  { wallet, actor, typedData }: TypedDataUse,
  { policy, approval }: Granting,
): Promise<Approval | undefined> => {
  const { requireApproval: required } = policy
  if (required === null) return undefined
  const request = typedDataRequestOf(wallet, typedData)
  const { id: walletId, projectId } = wallet
  return grantedApproval(ctx, { projectId, walletId, actor, request, policy, required, approval })
}

const signWith = async (
  ctx: SigningCtx,
  { use }: TypedDataUse,
  by: { readonly opened: OpenPolicies; readonly policyId: string; readonly approval: Approval | undefined },
): Promise<Signatures> => {
  const { opened, policyId, approval } = by
  if (approval !== undefined) await requireStillOpen(ctx, approval)
  const signatures = await opened.sign({ policyId, approval, spends: { value: 0n, fee: 0n } }, use)
  if (approval !== undefined) await noteUse(ctx, approval)
  return signatures
}

const signByPolicy = async (ctx: SigningCtx, asked: TypedDataUse & { readonly first: OpenPolicies }) => {
  const { wallet, credentials, typedData, first, approvalId } = asked
  // An approval belongs to one policy, and then only this policy is judged.
  const approval = await namedApproval(ctx, { projectId: wallet.projectId, walletId: wallet.id, id: approvalId })
  const never = neverSignedBy(asked, typedData)
  if (never !== null) throw denied(never)
  const closed = new Set<string>()
  const instead = wallet.controlMode === 'user' ? ': it needs the "user_pin" or a "user_secret"' : ''
  let refusal = denied(`No policy of this wallet allows this typed data, or has enough left for it${instead}.`)
  for (let tries = 1; ; tries += 1) {
    using opened = tries === 1 ? first : await policiesOf(ctx, asked)
    const isAsked = ({ id }: UnrevokedPolicy) => !closed.has(id) && (approval?.policyId ?? id) === id
    const terms = opened.policies.find((policy) => isAsked(policy) && typedDataRefusal(policy, typedData) === null)
    if (terms === undefined) throw refusal
    const granted = await grantedFor(ctx, asked, { policy: terms, approval })
    try {
      return await signWith(ctx, asked, { opened, policyId: terms.id, approval: granted })
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

/**
 * Signs typed data with the credentials that a message needs, or with the developer's secret if a policy allows it (the oldest such
 * policy is used).
 */
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
