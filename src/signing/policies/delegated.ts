// Uses of a wallet with the developer's secret within a policy. The wallet is a user-controlled one whose owner agreed to the
// policy, or a developer-controlled one that was put under policies.
//
// A use is checked twice: before the key is opened, against the rules and what is left of the limits; and when it signs, which
// charges the policy. The fee is known only then, so it is charged there too. If the policy was revoked, expired or used up in
// between, nothing is signed, and the next policy is tried. A charge is kept even if the transaction is not recorded, because the
// signature has left custody.
//
// The key opens only with the terms that the owner agreed to. An edited policy row opens nothing: record a security event and try
// the next policy. For a contract wallet, a policy judges what the wallet does, not what its owner's key signs for it.

import type { ApprovalRow } from '../../../db/queries/approvals.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Intent } from '../../chains/chain.ts'
import { sumOfValues } from '../../chains/intent.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { Signatures } from '../../vault/contract/contract.ts'
import type { Approval, KeyUse, OpenPolicyKey, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { grantedApproval, namedApproval, noteUse, requireStillOpen } from '../approvals/grant.ts'
import { requestOf, type SpedUp, type TransactionAction } from '../approvals/request.ts'
import type { SigningCtx } from '../ctx.ts'
import { coinAmount } from '../token.ts'
import { createJudge } from './judge.ts'

/** The most policies of one wallet, because each use checks them all. */
export const POLICIES_A_WALLET_MAX = 1_000
/** How many policies may become unusable during one request. */
export const TRIES_MAX = 20

/** `approvalId`: the approval that the request names. */
type Use = Pick<Signatory, 'actor' | 'credentials' | 'approvalId'> & {
  readonly chain: Chain
  readonly wallet: WalletRow
  /** What is done, as approvers see it. */
  readonly action: TransactionAction
  /** The transaction that a speed-up signs again. */
  readonly spedUp?: SpedUp
  /** `at once`: the key signs once, and need not be open before. */
  readonly signs?: 'at once' | 'later'
  /** What the wallet is to do, all or nothing. Built once: before a delegated key is opened, or after the owner's key is. */
  readonly intents: () => Promise<readonly Intent[]>
}

/** A wallet's opened key, with which one request signs. */
export type Signing = {
  /** Whether a policy opened it, to which all is charged, or the wallet's own credential. */
  readonly byPolicy: boolean
  /** @param fee the highest possible fee of what is signed, in base units. */
  sign(fee: bigint, ...uses: readonly KeyUse[]): Promise<Signatures>
}

/** Custody refused the chosen policy: it has ended meanwhile, or its row was edited. Another policy may allow the use. */
class PolicyRefused extends Error {
  constructor(readonly refusal: AppError) {
    super(refusal.message)
  }
}

/** @throws PolicyRefused instead of custody's own error. */
const orRefused = async <Result>(asked: Promise<Result>): Promise<Result> => {
  try {
    return await asked
  } catch (error) {
    throw error instanceof AppError && error.code === 'policy_denied' ? new PolicyRefused(error) : error
  }
}

type Act<Result> = (key: Signing, intents: readonly Intent[]) => Promise<Result>

const denied = (sentence: string): AppError => new AppError('policy_denied', sentence)

/** Whether the policies are judged first, because the developer's secret alone does not open the wallet. Pure. */
export const isDelegated = ({ wallet, credentials }: Pick<Use, 'wallet' | 'credentials'>): boolean =>
  wallet.controlMode === 'user' &&
  credentials.developerSecret !== undefined &&
  credentials.userPin === undefined &&
  credentials.userSecret === undefined

/** The refusal if no policy allows the use, or if those that do have too little left for this fee. */
const deniedFor = ({ chain, wallet }: Use, owed: bigint | null): AppError => {
  if (owed === null) {
    const instead = wallet.controlMode === 'user' ? ': it needs the "user_pin" or a "user_secret"' : ''
    return denied(`No policy of this wallet allows this${instead}. A preview says what each policy lacks.`)
  }
  return denied(
    `No policy that allows this has enough left: it needs one use and ${coinAmount(chain, owed)} of the fee budget, the highest possible fee.`,
  )
}

/** Opens the key with the credential of the wallet's control mode. */
const withOwnKey = async <Result>(ctx: SigningCtx, use: Use, act: Act<Result>): Promise<Result> => {
  const { wallet, credentials, actor, signs = 'later' } = use
  if (signs === 'at once') {
    const sign: Signing['sign'] = (_fee, ...uses) => ctx.vault.signOnce({ wallet, credentials, actor, uses })
    return await act({ byPolicy: false, sign }, await use.intents())
  }
  using key = await ctx.vault.openKey({ wallet, credentials, actor })
  return await act({ byPolicy: false, sign: (_fee, ...uses) => key.sign(...uses) }, await use.intents())
}

/**
 * Opens a wallet's key for one intent or a batch: with the credential of its control mode, or with the developer's secret
 * if a policy allows all intents (the oldest such policy is used).
 */
export const withKeyFor = async <Result>(ctx: SigningCtx, use: Use, act: Act<Result>): Promise<Result> => {
  if (isDelegated(use) || use.approvalId !== undefined) {
    using first = await openPolicies(ctx, use)
    const isJudged = first.policies.length > 0 || use.approvalId !== undefined
    if (isJudged) return await withPolicy(ctx, { ...use, first }, act)
  }
  try {
    return await withOwnKey(ctx, use, act)
  } catch (error) {
    // Only the vault knows whether a wallet is under policies. It refuses before anything is signed.
    if (!(error instanceof AppError) || error.code !== 'under_policies') throw error
  }
  using first = await openPolicies(ctx, use)
  return await withPolicy(ctx, { ...use, first }, act)
}

type Granting = {
  readonly use: Use
  readonly approval: ApprovalRow | null
  readonly policy: UnrevokedPolicy
  readonly intents: readonly Intent[]
}

/** The approval of a use; undefined if the policy needs none. */
const grantedFor = async (
  ctx: SigningCtx,
  { use, approval, policy, intents }: Granting,
): Promise<Approval | undefined> => {
  const { requireApproval: required } = policy
  if (required === null) return undefined
  const { wallet, actor, action, spedUp } = use
  const request = requestOf({ action, wallet, intents, spedUp })
  const { id: walletId, projectId } = wallet
  return grantedApproval(ctx, { projectId, walletId, actor, request, policy, required, approval })
}

/** A wallet's policies. */
type Policies = Disposable & {
  readonly policies: readonly UnrevokedPolicy[]
  /** Opens the key by one of them, now or when it signs. */
  readonly keyBy: (by: {
    readonly terms: UnrevokedPolicy
    readonly approval: Approval | undefined
  }) => Promise<OpenPolicyKey>
}

const openPolicies = async ({ vault }: SigningCtx, use: Use): Promise<Policies> => {
  const { wallet, credentials, actor, signs } = use
  const [of, limit] = [{ wallet, credentials, actor }, POLICIES_A_WALLET_MAX]
  if (signs !== 'at once') {
    const policies = await vault.unrevokedPolicies({ walletId: wallet.id, limit })
    return { policies, keyBy: (by) => vault.openKeyByPolicy({ ...of, ...by }), [Symbol.dispose]: () => {} }
  }
  const opened = await vault.openPolicies({ ...of, limit })
  return {
    policies: opened.policies,
    keyBy: async ({ terms: { id: policyId }, approval }) => ({
      sign: (spends, ...uses) => opened.sign({ policyId, approval, spends }, ...uses),
      [Symbol.dispose]: () => {},
    }),
    [Symbol.dispose]: opened[Symbol.dispose],
  }
}

type PolicyUse = Use & { readonly first: Policies }

const withPolicy = async <Result>(ctx: SigningCtx, use: PolicyUse, act: Act<Result>): Promise<Result> => {
  const { wallet, credentials, first, approvalId } = use
  // An approval belongs to one policy, and then only this policy is judged.
  const approval = await namedApproval(ctx, { projectId: wallet.projectId, walletId: wallet.id, id: approvalId })
  const intended = await use.intents()
  const judge = await createJudge({ chain: use.chain, publicKey: wallet.publicKey }, intended)
  if (judge.never !== null) throw denied(judge.never)
  const closed = new Set<string>()
  let owed: bigint | null = null
  let refusal: AppError | null = null
  for (let tries = 1; ; tries += 1) {
    const isAsked = ({ id }: UnrevokedPolicy) => !closed.has(id) && (approval?.policyId ?? id) === id
    using opened = tries === 1 ? first : await openPolicies(ctx, use)
    const terms = judge.choose(opened.policies.filter(isAsked))
    if (terms === null) throw refusal ?? deniedFor(use, owed)
    const intents = judge.intents()
    const granted = await grantedFor(ctx, { use, approval, policy: terms, intents })
    try {
      using key = await orRefused(opened.keyBy({ terms, approval: granted }))
      let value = sumOfValues(intents)
      const sign: Signing['sign'] = async (fee, ...uses) => {
        owed = fee
        if (granted !== undefined) await requireStillOpen(ctx, granted)
        const signatures = await orRefused(key.sign({ value, fee }, ...uses))
        // The value is charged once, however many signatures the use needs.
        value = 0n
        return signatures
      }
      const result = await act({ byPolicy: true, sign }, intents)
      if (granted !== undefined) await noteUse(ctx, granted)
      return result
    } catch (error) {
      if (!(error instanceof PolicyRefused)) throw error
      if (tries >= TRIES_MAX) throw error.refusal
      closed.add(terms.id)
      const { message, event } = error.refusal
      if (event === null) continue
      refusal = denied(message)
      ctx.securityEvents.record({ event, from: credentials.from ?? '' })
    }
  }
}
