// Whether rules allow transactions: the one place that decides it. Pure.
//
// Every rule must match every transaction. A rule matches only what it understands: where a transaction lacks the argument
// (call data that is not read, another function), or has it as another kind of value than the rule names, nothing matches,
// `ne` included. So whatever is unclear is refused.
//
//   kind of value   what a rule names                         operators
//   integer         decimal digits, perhaps signed; 0x hex    all; as integers
//   address, bytes  0x hex of the same kind                   eq, ne; without case
//   address         SS58                                      eq, ne; letter for letter
//   bool            true, false                               eq, ne
//   text            the text                                  eq, ne; byte for byte
//
// Call data takes a rule that names its function, on every network: without one only payments are allowed.
// A transaction without `to` creates a contract, which nothing allows, or is a call of a Substrate runtime. What such a call
// moves is known to itself alone: it has neither `to` nor `value` for rules.

import type { RuleOperator } from '../../db/words.ts'
import type { CallValue, ReadCall } from '../chains/chain.ts'
import { unreachable } from '../errors.ts'

export type ArgumentRule = { readonly argument: string; readonly operator: RuleOperator; readonly value: string }

/** A transaction as rules see it. */
export type Judged = {
  readonly to: string | null
  readonly value: bigint
  /** It carries call data, whether that can be read or not. */
  readonly isCall: boolean
  /** null where the call data is not read for certain. */
  readonly call: ReadCall | null
}

/** What begins the arguments that are read from call data. */
export const DECODED = 'decodedInput.'

const INTEGER = /^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** 32 bytes behind a prefix of one or two; zeros that lead take less. Base58 tells upper case from lower case. */
const SS58_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{35,50}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** An integer as a rule names it; null for anything else. Pure. */
export const integerIn = (text: string): bigint | null => (INTEGER.test(text) ? BigInt(text) : null)

const isSs58 = (text: string): boolean => SS58_ADDRESS.test(text)

/** Argument names are bare ones everywhere: without leading underscores. */
const bare = (path: string): string =>
  path
    .split('.')
    .map((name) => name.replace(/^_+/, ''))
    .join('.')

/** Where an argument is found. */
const finderOf = (argument: string): ((transaction: Judged) => CallValue | null) => {
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

/** A rule, read once for however many transactions: a batch has a hundred, and its wallet perhaps a thousand policies. */
const matcherOf = ({ argument, operator, value: named }: ArgumentRule): ((transaction: Judged) => boolean) => {
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
    // By length first: an argument may be as long as call data is.
    const isSame = isExact ? has === named : has.length === lower.length && has.toLowerCase() === lower
    return isSame === (operator === 'eq')
  }
}

const namesFunction = ({ argument, operator }: ArgumentRule): boolean =>
  argument === `${DECODED}function` && operator === 'eq'

/** Whether all rules match all transactions; without either there is nothing that could. A contract creation never does. */
export const matches = (rules: readonly ArgumentRule[], transactions: readonly Judged[]): boolean =>
  rules.length > 0 &&
  transactions.length > 0 &&
  (transactions.every(({ to, isCall }) => to !== null && !isCall) || rules.some(namesFunction)) &&
  rules.every((rule) => transactions.every(matcherOf(rule)))
