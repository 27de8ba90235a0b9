// The only place that decides whether rules allow transactions. Pure.
//
// Every rule must match every transaction. A rule does not match if the transaction lacks the argument (unreadable call
// data, another function) or if the argument is of another kind than the rule's value. This holds for `ne` too, so
// anything unclear is refused.
//
// How values are compared is in src/vault/language/rule-values.ts.
//
// On every network, call data needs a rule that names its function; without one only payments are allowed. On EVM
// networks this rule is compiled when the policy is made (rules.ts), and call data is decoded with the compiled
// function only. A transaction without `to` creates a contract, which no rule allows, or calls a Substrate runtime.
// What such a call moves is in its arguments, so rules see neither `to` nor `value` of it.

import type { RuleOperator } from '../../../db/words.ts'
import type { AddressValue, CallValue, ReadCall } from '../../chains/chain.ts'
import { DECODED, isFunctionRule, namesFunction } from '../../vault/language/call-rules.ts'
import { valueMatches } from '../../vault/language/rule-values.ts'

export type ArgumentRule = {
  readonly argument: string
  readonly operator: RuleOperator
  readonly value: string
  /** On EVM networks, of the rule that names the function: the compiled function. */
  readonly selector?: string
  readonly declaration?: string
}

export type CheckedTransaction = {
  readonly to: AddressValue | null
  readonly value: bigint
  /** Whether it has call data, readable or not. */
  readonly isCall: boolean
  /** null if the call data cannot be read with certainty, or is not of the function that the rules name. */
  readonly call: ReadCall | null
  /** Its arguments that a rule has asked for: the rules of many policies ask for the same ones. */
  readonly asked?: Map<string, CallValue | null>
}

/** Argument names are compared without leading underscores. Pure. */
export const bare = (path: string): string => (path.includes('_') ? path.replace(/(?<=^|\.)_+/g, '') : path)

export const findFunctionRule = (rules: readonly ArgumentRule[]): ArgumentRule | undefined => rules.find(namesFunction)

const readArgument = (argument: string, { to, value, call }: CheckedTransaction): CallValue | null => {
  if (argument === 'to') return to
  if (argument === 'value') return to === null ? null : { kind: 'integer', value }
  if (call === null || !argument.startsWith(DECODED)) return null
  return call.values.get(bare(argument.slice(DECODED.length))) ?? null
}

const readValue = ({ argument }: ArgumentRule, transaction: CheckedTransaction): CallValue | null => {
  const known = transaction.asked?.get(argument)
  if (known !== undefined) return known
  const value = readArgument(argument, transaction)
  transaction.asked?.set(argument, value)
  return value
}

/** A function is named by its bare name or by its signature. */
const functionMatches = ({ operator, value: named }: ArgumentRule, { functionName, signature }: ReadCall): boolean => {
  const isNamed = named === functionName || named === signature
  return (operator === 'eq' && isNamed) || (operator === 'ne' && !isNamed)
}

const matches = (rule: ArgumentRule, transaction: CheckedTransaction): boolean => {
  if (isFunctionRule(rule)) return transaction.call !== null && functionMatches(rule, transaction.call)
  const found = readValue(rule, transaction)
  return found !== null && valueMatches(rule, found)
}

/** A loop, because each policy of a wallet asks this of each of its rules. */
const matchesAll = (rule: ArgumentRule, transactions: readonly CheckedTransaction[]): boolean => {
  for (const transaction of transactions) {
    if (!matches(rule, transaction)) return false
  }
  return true
}

const arePayments = (transactions: readonly CheckedTransaction[]): boolean =>
  transactions.every(({ to, isCall }) => to !== null && !isCall)

/** A number: the index of the first rule that does not match. */
type Mismatch = number | 'function_not_named'

/** null: allowed. Without rules or transactions nothing is. @param named the rule that names the function, if known */
export const findMismatch = (
  rules: readonly ArgumentRule[],
  transactions: readonly CheckedTransaction[],
  named = findFunctionRule(rules),
): Mismatch | null => {
  const isNamed = named !== undefined || arePayments(transactions)
  if (rules.length === 0 || transactions.length === 0 || !isNamed) return 'function_not_named'
  let place = 0
  for (const rule of rules) {
    if (!matchesAll(rule, transactions)) return place
    place += 1
  }
  return null
}
