// What rules say of a call, as far as the vault can read it. Pure.
//
// Rules on recipient, value and function are judged here again, because the API that judged them may be in other hands. Rules on the
// arguments of a function stay with the API: the vault decodes no call data.

import type { PolicyTerms } from '../../../db/queries/custody/policies.ts'
import { type RuleValue, valueMatches } from './rule-values.ts'

/** What a transaction or a Safe calls; `value` in wei. */
export type Call = { readonly to: string; readonly value: bigint; readonly data: Uint8Array }

type Rule = PolicyTerms['argumentRules'][number]

/** The prefix of arguments that are read from call data. */
export const DECODED = 'decodedInput.'

const SELECTOR_BYTES = 4

export const isFunctionRule = ({ argument }: Pick<Rule, 'argument'>): boolean => argument === `${DECODED}function`

/** Whether it is the rule that says which function may be called. Pure. */
export const namesFunction = (rule: Pick<Rule, 'argument' | 'operator'>): boolean =>
  rule.operator === 'eq' && isFunctionRule(rule)

/** What a rule is about; null if it is about an argument of the function. */
const valueFor = ({ argument }: Rule, { to, value }: Call): RuleValue | null => {
  if (argument === 'to') return { kind: 'address', value: `0x${to}` }
  return argument === 'value' ? { kind: 'integer', value } : null
}

/** Call data needs a rule that names its function, by the selector that was compiled with the policy. */
const isFunctionNamed = (rules: readonly Rule[], data: Uint8Array): boolean => {
  const named = rules.find(namesFunction)
  const selector = `0x${Buffer.from(data.subarray(0, SELECTOR_BYTES)).toString('hex')}`
  return named === undefined ? data.length === 0 : named.selector === selector
}

/** Whether rules allow a call of an EVM network. Without rules nothing is allowed, and creating a contract, a call to nobody, never. */
export const mayCall = (rules: readonly Rule[], call: Call): boolean =>
  rules.length > 0 &&
  call.to !== '' &&
  isFunctionNamed(rules, call.data) &&
  rules.every((rule) => {
    const found = valueFor(rule, call)
    return found === null || valueMatches(rule, found)
  })
