// Whether a policy allows what a wallet is to do. A use is judged so before its key is opened; a preview tells the same.

import type { Chain, Intent, ReadCall } from '../chains/chain.ts'
import { sumOfValues } from '../chains/intent.ts'
import type { StandingPolicy } from '../custody/vault.ts'
import { type CheckedTransaction, DECODED, mismatchOf } from './evaluate.ts'

export const REFUSALS = [
  'expired',
  'used_up',
  'value_exceeded',
  'value_unknown',
  'function_not_named',
  'rule_not_matched',
] as const

/** `rule`: the number of the first rule that does not match, from 0. */
type Refusal = { readonly reason: (typeof REFUSALS)[number]; readonly rule: number | null }

const readsCalls = ({ argumentRules }: StandingPolicy): boolean =>
  argumentRules.some(({ argument }) => argument.startsWith(DECODED))

const isCall = ({ to, input }: Intent): boolean => to === null || input !== '0x'

/** Only the call itself says what such a call moves. */
const isRuntimeCall = ({ to }: Intent): boolean => to === null

const withReader = (intent: Intent, call: ReadCall | null): Intent =>
  call?.readBy === undefined ? intent : { ...intent, madeBy: call.readBy }

type Asked = { readonly value: bigint; readonly isCounted: boolean }

/** Whether it has ended, or its limits leave too little. */
const limitReached = (policy: StandingPolicy, { value, isCounted }: Asked): Refusal['reason'] | null => {
  const { isExpired, uses, maxUses, spentValue, maxTotalValue } = policy
  if (isExpired) return 'expired'
  if (maxUses !== null && uses >= maxUses) return 'used_up'
  if (maxTotalValue === null) return null
  if (!isCounted) return 'value_unknown'
  // A limit below zero is forged. The vault refuses it, and tells it.
  return maxTotalValue >= 0n && spentValue + value > maxTotalValue ? 'value_exceeded' : null
}

/** A wallet's key on a network. */
type Key = { readonly chain: Chain; readonly publicKey: Uint8Array }

/**
 * The contract wallet of this key on this network. It obeys the key, so a call of it could change its owner or approve what
 * no policy has judged. This holds for an eoa wallet of the same key too.
 */
const contractWalletOf = ({ chain, publicKey }: Key): string | null =>
  chain.contractWallets?.of(chain.addressOf(publicKey)).address ?? null

/** What no policy can allow, as a sentence; null if a policy may allow it. */
const neverAllowed = (key: Key, intents: readonly Intent[]): string | null => {
  const { chain } = key
  const contractWallet = contractWalletOf(key)
  for (const intent of intents) {
    if (chain.withoutRecipient === 'creation' && intent.to === null) {
      return 'No policy lets the developer create a contract.'
    }
    if (contractWallet !== null && intent.to === contractWallet && intent.input !== '0x') {
      return 'No policy lets the developer call the contract wallet of this key.'
    }
    if (intent.era !== undefined) {
      return 'Under a policy, field "unsigned_transaction.era" must be absent: a longer one would outlive the policy.'
    }
    if (intent.feeAsset !== undefined) {
      return 'Under a policy, field "unsigned_transaction.asset_id" must be absent: fee budgets are in the native coin.'
    }
    if (!chain.terms.isWithinFeeCap(intent)) {
      return `No policy lets the developer offer fees above the cap of ${chain.network}.`
    }
  }
  return null
}

/** Judges one intent or a batch, all or nothing, by one policy after the other. Calls are read once, if a rule needs it. */
export const createJudge = (key: Key, intents: readonly Intent[]) => {
  const { chain } = key
  const asked = { value: sumOfValues(intents), isCounted: !intents.some(isRuntimeCall) }
  let calls: readonly (ReadCall | null)[] | null = null
  const transactions = (): readonly CheckedTransaction[] =>
    intents.map((intent, index) => {
      const { to, value } = intent
      return { to, value, isCall: isCall(intent), call: calls?.[index] ?? null }
    })
  let checked = transactions()
  /** Why a policy does not allow it; null if it does. */
  const refusalBy = async (policy: StandingPolicy): Promise<Refusal | null> => {
    const reached = limitReached(policy, asked)
    if (reached !== null) return { reason: reached, rule: null }
    if (calls === null && readsCalls(policy)) {
      calls = await Promise.all(intents.map((intent) => chain.readCall(intent)))
      checked = transactions()
    }
    const mismatch = mismatchOf(policy.argumentRules, checked)
    if (mismatch === null) return null
    return mismatch === 'function_not_named'
      ? { reason: mismatch, rule: null }
      : { reason: 'rule_not_matched', rule: mismatch }
  }
  return {
    /** Why no policy can allow it, as a sentence; null if one may. */
    never: neverAllowed(key, intents),
    refusalBy,
    /** The first of the policies that allows it, or null. */
    choose: async (standing: readonly StandingPolicy[]): Promise<StandingPolicy | null> => {
      for (const policy of standing) if ((await refusalBy(policy)) === null) return policy
      return null
    },
    /** Substrate calls bound to the metadata with which they were judged. */
    intents: (): readonly Intent[] => intents.map((intent, index) => withReader(intent, calls?.[index] ?? null)),
  }
}
