// Judges calls by rules on recipient, value and function again in the vault, because an attacker may control the API
// that judged them first. The API alone judges rules on a function's arguments: the vault decodes no call data. Pure.

import type { PolicyTerms } from '../../../db/queries/vault/policies.ts'
import { type RuleValue, valueMatches } from './rule-values.ts'

/** What a transaction or a Safe calls; `value` in wei. */
export type Call = { readonly to: string; readonly value: bigint; readonly data: Uint8Array }

type Rule = PolicyTerms['argumentRules'][number]

export const DECODED = 'decodedInput.'

const SELECTOR_BYTES = 4

export const isFunctionRule = ({ argument }: Pick<Rule, 'argument'>): boolean => argument === `${DECODED}function`

export const namesFunction = (rule: Pick<Rule, 'argument' | 'operator'>): boolean =>
  rule.operator === 'eq' && isFunctionRule(rule)

/** The value that a rule is about; null for an argument of the function. */
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

/** No rules allow nothing. No rule allows to create a contract (an empty `to`). */
export const mayCall = (rules: readonly Rule[], call: Call): boolean =>
  rules.length > 0 &&
  call.to !== '' &&
  isFunctionNamed(rules, call.data) &&
  rules.every((rule) => {
    const found = valueFor(rule, call)
    return found === null || valueMatches(rule, found)
  })
