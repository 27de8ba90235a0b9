// Uses of a wallet with the developer's secret within a policy. The wallet is a user-controlled one whose owner agreed
// to the policy, or a developer-controlled one that was put under policies.
//
// A use is checked twice: before the key is opened, against the rules and what is left of the limits; and when it
// signs, which charges the policy. The fee is known only then, so it is charged there too. If the policy was revoked,
// expired or used up in between, nothing is signed, and the next policy is tried. A charge is kept even if the
// transaction is not recorded, because the signature has left the vault.
//
// The key opens only with the terms that the owner agreed to. An edited policy row opens nothing: record a security
// event and try the next policy. For a contract wallet, a policy judges what the wallet does, not what its owner's key
// signs for it.

import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Intent } from '../../chains/chain.ts'
import { sumOfValues } from '../../chains/intent.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { Signatures } from '../../vault/contract/contract.ts'
import type { Approval, KeyUse, OpenPolicyKey, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import type { SigningCtx } from '../ctx.ts'
import { coinAmount } from '../token.ts'
import { grantedApproval, namedApproval, noteUse, requireStillOpen } from './grant.ts'
import { denied } from './intent-bounds.ts'
import { createJudge } from './judge.ts'
import { type SpedUp, type TransactionAction, writeRequest } from './request.ts'

/** The most policies of one wallet, because each use checks them all. */
export const POLICIES_A_WALLET_MAX = 1_000
/** How many policies may become unusable during one request. */
export const TRIES_MAX = 20

type Use = Pick<Signatory, 'actor' | 'credentials' | 'approvalId'> & {
  readonly chain: Chain
  readonly wallet: WalletRow
  readonly action: TransactionAction
  readonly spedUp?: SpedUp
  /** `at once`: the key signs once, and need not be open before. */
  readonly signs?: 'at once' | 'later'
  /** All or nothing. Built once: before a delegated key is opened, or after the owner's key is. */
  readonly intents: () => Promise<readonly Intent[]>
}

/** A wallet's opened key, with which one request signs. */
export type Signing = {
  /** Whether a policy opened it, to which all is charged, or the wallet's own credential. */
  readonly byPolicy: boolean
  /** @param fee the highest possible fee of what is signed, in base units. */
  sign(fee: bigint, ...uses: readonly KeyUse[]): Promise<Signatures>
}

/** The vault refused the chosen policy: it has ended meanwhile, or its row was edited. Another may allow the use. */
class PolicyRefused extends Error {
  constructor(readonly refusal: AppError) {
    super(refusal.message)
  }
}

/** @throws PolicyRefused instead of the vault's own error. */
const orRefused = async <Result>(asked: Promise<Result>): Promise<Result> => {
  try {
    return await asked
  } catch (error) {
    throw error instanceof AppError && error.code === 'policy_denied' ? new PolicyRefused(error) : error
  }
}

type Act<Result> = (key: Signing, intents: readonly Intent[]) => Promise<Result>

/** Whether the policies are judged first, because the developer's secret alone does not open the wallet. Pure. */
export const isDelegated = ({ wallet, credentials }: Pick<Use, 'wallet' | 'credentials'>): boolean =>
  wallet.controlMode === 'user' &&
  credentials.developerSecret !== undefined &&
  credentials.userPin === undefined &&
  credentials.userSecret === undefined

/** The end of a refusal: what opens the wallet without a policy. */
export const describeInstead = ({ controlMode }: Pick<WalletRow, 'controlMode'>): string =>
  controlMode === 'user' ? ': it needs the "user_pin" or a "user_secret"' : ''

/** @param owed the fee for which the policies that allow the use have too little left; null: no policy allows it. */
const denyUse = ({ chain, wallet }: Use, owed: bigint | null): AppError => {
  if (owed === null) {
    return denied(
      `No policy of this wallet allows this${describeInstead(wallet)}. A preview says what each policy lacks.`,
    )
  }
  return denied(
    `No policy that allows this has enough left: it needs one use and ${coinAmount(chain, owed)} of the fee budget, the highest possible fee.`,
  )
}

const withOwnKey = async <Result>(ctx: SigningCtx, use: Use, act: Act<Result>): Promise<Result> => {
  const { wallet, credentials, actor, signs = 'later' } = use
  if (signs === 'at once') {
    const sign: Signing['sign'] = (_fee, ...uses) => ctx.vault.signOnce({ wallet, credentials, actor, uses })
    return await act({ byPolicy: false, sign }, await use.intents())
  }
  using key = await ctx.vault.openKey({ wallet, credentials, actor })
  return await act({ byPolicy: false, sign: (_fee, ...uses) => key.sign(...uses) }, await use.intents())
}

/** Opens a wallet's key: with its own credential, or with the developer's secret by the oldest fitting policy. */
export const withKeyFor = async <Result>(ctx: SigningCtx, use: Use, act: Act<Result>): Promise<Result> => {
  if (isDelegated(use) || use.approvalId !== undefined) {
    using first = await openPolicies(ctx, use)
    if (first.policies.length > 0 || use.approvalId !== undefined) return await withPolicy(ctx, { ...use, first }, act)
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

type Policies = Disposable & {
  readonly policies: readonly UnrevokedPolicy[]
  readonly keyBy: (by: {
    readonly terms: UnrevokedPolicy
    readonly approval: Approval | undefined
  }) => Promise<OpenPolicyKey>
}

const openPolicies = async ({ vault }: SigningCtx, use: Use): Promise<Policies> => {
  const { wallet, credentials, actor, signs } = use
  const [opening, limit] = [{ wallet, credentials, actor }, POLICIES_A_WALLET_MAX]
  if (signs !== 'at once') {
    const policies = await vault.unrevokedPolicies({ walletId: wallet.id, limit })
    return { policies, keyBy: (by) => vault.openKeyByPolicy({ ...opening, ...by }), [Symbol.dispose]: () => {} }
  }
  const opened = await vault.openPolicies({ ...opening, limit })
  return {
    policies: opened.policies,
    keyBy: async ({ terms: { id: policyId }, approval }) => ({
      sign: (spends, ...uses) => opened.sign({ policyId, approval, spends }, ...uses),
      [Symbol.dispose]: () => {},
    }),
    [Symbol.dispose]: opened[Symbol.dispose],
  }
}

const withPolicy = async <Result>(
  ctx: SigningCtx,
  use: Use & { readonly first: Policies },
  act: Act<Result>,
): Promise<Result> => {
  const { wallet, credentials, actor, action, spedUp, first } = use
  // An approval belongs to one policy, and then only this policy is judged.
  const approval = await namedApproval(ctx, use)
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
    if (terms === null) throw refusal ?? denyUse(use, owed)
    const intents = judge.intents()
    const request = () => writeRequest({ action, wallet, intents, spedUp })
    const granted = await grantedApproval(ctx, { wallet, actor, policy: terms, approval, request })
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
