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

/** Judges one intent or a batch, all or nothing, by one policy after the other. Calls are read once, if a rule needs it. */
export const createJudge = (chain: Pick<Chain, 'readCall'>, intents: readonly Intent[]) => {
  const asked = { value: sumOfValues(intents), isCounted: !intents.some(isRuntimeCall) }
  let calls: readonly (ReadCall | null)[] | null = null
  const transactions = (): readonly CheckedTransaction[] =>
    intents.map((intent, index) => {
      const { to, value } = intent
      return { to, value, isCall: isCall(intent), call: calls?.[index] ?? null }
    })
  let checked = transactions()
  return {
    /** Why a policy does not allow it; null if it does. */
    refusalBy: async (policy: StandingPolicy): Promise<Refusal | null> => {
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
    },
    /** Substrate calls bound to the metadata with which they were judged. */
    intents: (): readonly Intent[] => intents.map((intent, index) => withReader(intent, calls?.[index] ?? null)),
  }
}
