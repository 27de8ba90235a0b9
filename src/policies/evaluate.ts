// The only place that decides whether rules allow transactions. Pure.
//
// Every rule must match every transaction. A rule does not match if the transaction lacks the argument (unreadable call data,
// another function) or if the argument is of another kind than the rule's value. This holds for `ne` too, so anything
// unclear is refused.
//
//   kind of value   what a rule names                         operators
//   integer         decimal digits, perhaps signed; 0x hex    all; as integers
//   address, bytes  0x hex of the same kind                   eq, ne; without case
//   address         SS58                                      eq, ne; letter for letter
//   bool            true, false                               eq, ne
//   text            the text                                  eq, ne; byte for byte
//
// Call data needs a rule that names its function, on every network; without one only payments are allowed.
// A transaction without `to` creates a contract, which no rule allows, or is a call of a Substrate runtime. Only the call
// itself says what it moves, so it has neither `to` nor `value` for rules.

import type { RuleOperator } from '../../db/words.ts'
import type { CallValue, ReadCall } from '../chains/chain.ts'
import { unreachable } from '../errors.ts'

export type ArgumentRule = { readonly argument: string; readonly operator: RuleOperator; readonly value: string }

/** A transaction as rules see it. */
export type CheckedTransaction = {
  readonly to: string | null
  readonly value: bigint
  /** Whether it has call data, readable or not. */
  readonly isCall: boolean
  /** null if the call data cannot be read with certainty. */
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

const isSs58 = (text: string): boolean => SS58_ADDRESS.test(text)

/** Argument names are compared without leading underscores. */
export const bare = (path: string): string =>
  path
    .split('.')
    .map((name) => name.replace(/^_+/, ''))
    .join('.')

/** Returns a function that finds an argument. */
const finderOf = (argument: string): ((transaction: CheckedTransaction) => CallValue | null) => {
  if (argument === 'to') return ({ to }) => (to === null ? null : { kind: 'address', value: to })
  if (argument === 'value') return ({ to, value }) => (to === null ? null : { kind: 'integer', value })
  if (!argument.startsWith(DECODED)) return () => null
  const path = argument.slice(DECODED.length)
  if (path === 'function') return ({ call }) => (call === null ? null : { kind: 'text', value: call.functionName })
  const name = bare(path)
  return ({ call }) => call?.values.get(name) ?? null
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

type TextKind = Exclude<CallValue['kind'], 'integer'>

const TEXT_KINDS = ['address', 'bytes', 'bool', 'text'] as const satisfies readonly TextKind[]

const isOfKind = (kind: TextKind, text: string): boolean => {
  switch (kind) {
    case 'address':
      return ADDRESS.test(text) || isSs58(text)
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

/** Parses a rule once for many transactions: a batch can have a hundred, and its wallet a thousand policies. */
const matcherOf = ({
  argument,
  operator,
  value: named,
}: ArgumentRule): ((transaction: CheckedTransaction) => boolean) => {
  const find = finderOf(argument)
  const integer = integerIn(named)
  const lower = named.toLowerCase()
  const kinds = new Set(TEXT_KINDS.filter((kind) => isOfKind(kind, named)))
  return (transaction) => {
    const found = find(transaction)
    if (found === null) return false
    if (found.kind === 'integer') return integer !== null && order(operator, found.value, integer)
    const { kind, value: has } = found
    if ((operator !== 'eq' && operator !== 'ne') || !kinds.has(kind)) return false
    const isHex = has.startsWith('0x')
    if (kind === 'address' && isHex === isSs58(named)) return false
    const isExact = kind === 'text' || (kind === 'address' && !isHex)
    // Compare lengths first: an argument can be as long as the call data.
    const isSame = isExact ? has === named : has.length === lower.length && has.toLowerCase() === lower
    return isSame === (operator === 'eq')
  }
}

const namesFunction = ({ argument, operator }: ArgumentRule): boolean =>
  argument === `${DECODED}function` && operator === 'eq'

const arePayments = (transactions: readonly CheckedTransaction[]): boolean =>
  transactions.every(({ to, isCall }) => to !== null && !isCall)

/** The first rule that does not match, by its place from 0; `function_not_named` where call data needs a rule that there is not. */
type Mismatch = number | 'function_not_named'

/** Why rules do not allow transactions; null if all rules match all of them. Without rules or transactions nothing is allowed. */
export const mismatchOf = (
  rules: readonly ArgumentRule[],
  transactions: readonly CheckedTransaction[],
): Mismatch | null => {
  const isNamed = arePayments(transactions) || rules.some(namesFunction)
  if (rules.length === 0 || transactions.length === 0 || !isNamed) return 'function_not_named'
  const place = rules.findIndex((rule) => !transactions.every(matcherOf(rule)))
  return place < 0 ? null : place
}
