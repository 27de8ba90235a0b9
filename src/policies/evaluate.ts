// The only place that decides whether rules allow transactions. Pure.
//
// Every rule must match every transaction. A rule does not match if the transaction lacks the argument (unreadable call data,
// another function) or if the argument is of another kind than the rule's value. This holds for `ne` too, so anything
// unclear is refused.
//
//   kind of value   what a rule names                         operators
//   integer         decimal digits, perhaps signed; 0x hex    all; as integers
//   address, bytes  0x hex of the same kind                   eq, ne; without case
//   account         SS58                                      eq, ne; letter for letter
//   bool            true, false                               eq, ne
//   text            the text                                  eq, ne; byte for byte
//
// On every network, call data needs a rule that names its function; without one only payments are allowed. On EVM networks this
// rule is compiled when the policy is made (rules.ts), and call data is decoded with the compiled function only.
// A transaction without `to` creates a contract, which no rule allows, or calls a Substrate runtime. What such a call moves is
// in its arguments, so rules see neither `to` nor `value` of it.

import type { RuleOperator } from '../../db/words.ts'
import type { AddressValue, CallValue, ReadCall } from '../chains/chain.ts'
import { unreachable } from '../errors.ts'

export type ArgumentRule = {
  readonly argument: string
  readonly operator: RuleOperator
  readonly value: string
  /** On EVM networks, of the rule that names the function: the compiled function. */
  readonly selector?: string
  readonly declaration?: string
}

/** A transaction as rules see it. */
export type CheckedTransaction = {
  readonly to: AddressValue | null
  readonly value: bigint
  /** Whether it has call data, readable or not. */
  readonly isCall: boolean
  /** null if the call data cannot be read with certainty, or is not of the function that the rules name. */
  readonly call: ReadCall | null
}

/** The prefix of arguments that are read from call data. */
export const DECODED = 'decodedInput.'

const INTEGER = /^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** Base58 of 32 bytes and a prefix of one or two bytes; leading zeros make it shorter. Base58 is case-sensitive. */
const SS58_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{35,50}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** The integer in a rule's value, or null. Pure. */
export const integerIn = (text: string): bigint | null => (INTEGER.test(text) ? BigInt(text) : null)

/** Argument names are compared without leading underscores. Pure. */
export const bare = (path: string): string => path.replace(/(?<=^|\.)_+/g, '')

const isFunctionRule = ({ argument }: ArgumentRule): boolean => argument === `${DECODED}function`

/** Whether it is the rule that says which function may be called. Pure. */
export const namesFunction = (rule: ArgumentRule): boolean => rule.operator === 'eq' && isFunctionRule(rule)

/** The value that a rule is about; null if there is none. */
const valueFor = ({ argument }: ArgumentRule, { to, value, call }: CheckedTransaction): CallValue | null => {
  if (argument === 'to') return to
  if (argument === 'value') return to === null ? null : { kind: 'integer', value }
  if (call === null || !argument.startsWith(DECODED)) return null
  return call.values.get(bare(argument.slice(DECODED.length))) ?? null
}

const order = (operator: RuleOperator, one: bigint, other: bigint): boolean => {
  switch (operator) {
    case 'eq':
      return one === other
    case 'ne':
      return one !== other
    case 'gt':
      return one > other
    case 'ge':
      return one >= other
    case 'lt':
      return one < other
    case 'le':
      return one <= other
    default:
      return unreachable(operator)
  }
}

/** Whether a rule's value has the form of a kind of value. Pure. */
export const isOfKind = (kind: CallValue['kind'], text: string): boolean => {
  switch (kind) {
    case 'integer':
      return INTEGER.test(text)
    case 'address':
      return ADDRESS.test(text)
    case 'account':
      return SS58_ADDRESS.test(text)
    case 'bytes':
      return BYTES.test(text)
    case 'bool':
      return text === 'true' || text === 'false'
    case 'text':
      return true
    default:
      return unreachable(kind)
  }
}

const isSame = (kind: CallValue['kind'], has: string, named: string): boolean => {
  // Compare lengths first: an argument can be as long as the call data.
  if (has.length !== named.length) return false
  const isExact = kind === 'text' || kind === 'account'
  return isExact ? has === named : has.toLowerCase() === named.toLowerCase()
}

const valueMatches = ({ operator, value: named }: ArgumentRule, found: CallValue): boolean => {
  if (found.kind === 'integer') {
    const integer = integerIn(named)
    return integer !== null && order(operator, found.value, integer)
  }
  const { kind, value: has } = found
  // What is equal is of the same kind.
  if (operator === 'eq') return isSame(kind, has, named)
  return operator === 'ne' && isOfKind(kind, named) && !isSame(kind, has, named)
}

/** A function is named by its bare name or by its signature. */
const functionMatches = ({ operator, value: named }: ArgumentRule, { functionName, signature }: ReadCall): boolean => {
  const isNamed = named === functionName || named === signature
  return (operator === 'eq' && isNamed) || (operator === 'ne' && !isNamed)
}

const matches = (rule: ArgumentRule, transaction: CheckedTransaction): boolean => {
  if (isFunctionRule(rule)) return transaction.call !== null && functionMatches(rule, transaction.call)
  const found = valueFor(rule, transaction)
  return found !== null && valueMatches(rule, found)
}

const arePayments = (transactions: readonly CheckedTransaction[]): boolean =>
  transactions.every(({ to, isCall }) => to !== null && !isCall)

/** `rule`: the index of the first rule that does not match. `function_not_named`: call data, and no rule names a function. */
type Mismatch = number | 'function_not_named'

/** Why rules do not allow transactions; null if all rules match all of them. Without rules or transactions nothing is allowed. */
export const mismatchOf = (
  rules: readonly ArgumentRule[],
  transactions: readonly CheckedTransaction[],
): Mismatch | null => {
  const isNamed = arePayments(transactions) || rules.some(namesFunction)
  if (rules.length === 0 || transactions.length === 0 || !isNamed) return 'function_not_named'
  const place = rules.findIndex((rule) => !transactions.every((transaction) => matches(rule, transaction)))
  return place < 0 ? null : place
}
