// Whether rules allow transactions: the one place that decides it. Pure.
//
// Every rule must match every transaction. A rule matches only what it understands: where a transaction lacks the argument
// (call data that is not read, another function), or has it as another kind of value than the rule names, nothing matches,
// `ne` included. So whatever is unclear is refused.
//
//   kind of value   what a rule names                         operators
//   integer         decimal digits, perhaps signed; 0x hex    all; as integers
//   address, bytes  0x hex of the same kind                   eq, ne; without case
//   bool            true, false                               eq, ne
//   text            the text                                  eq, ne; byte for byte

import type { RuleOperator } from '../../db/words.ts'
import type { CallValue, ReadCall } from '../chains/chain.ts'
import { unreachable } from '../errors.ts'

export type ArgumentRule = { readonly argument: string; readonly operator: RuleOperator; readonly value: string }

/** A transaction as rules see it. `call` is null where the call data is not read for certain. */
export type Judged = { readonly to: string | null; readonly value: bigint; readonly call: ReadCall | null }

/** What begins the arguments that are read from call data. */
export const DECODED = 'decodedInput.'

const INTEGER = /^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** An integer as a rule names it; null for anything else. Pure. */
export const integerIn = (text: string): bigint | null => (INTEGER.test(text) ? BigInt(text) : null)

/** Argument names are bare ones everywhere: without leading underscores. */
const bare = (path: string): string =>
  path
    .split('.')
    .map((name) => name.replace(/^_+/, ''))
    .join('.')

const foundIn = (argument: string, { to, value, call }: Judged): CallValue | null => {
  if (argument === 'to') return to === null ? null : { kind: 'address', value: to }
  if (argument === 'value') return { kind: 'integer', value }
  if (call === null || !argument.startsWith(DECODED)) return null
  const path = argument.slice(DECODED.length)
  return path === 'function' ? { kind: 'text', value: call.functionName } : (call.values.get(bare(path)) ?? null)
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

const isOfKind = (kind: Exclude<CallValue['kind'], 'integer'>, text: string): boolean => {
  switch (kind) {
    case 'address':
      return ADDRESS.test(text)
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

const ruleMatches = ({ argument, operator, value: named }: ArgumentRule, transaction: Judged): boolean => {
  const found = foundIn(argument, transaction)
  if (found === null) return false
  if (found.kind === 'integer') {
    const integer = integerIn(named)
    return integer !== null && order(operator, found.value, integer)
  }
  if ((operator !== 'eq' && operator !== 'ne') || !isOfKind(found.kind, named)) return false
  const [has, wants] = found.kind === 'text' ? [found.value, named] : [found.value.toLowerCase(), named.toLowerCase()]
  return (has === wants) === (operator === 'eq')
}

/** Whether all rules match all transactions; without either there is nothing that could. A contract creation never does. */
export const matches = (rules: readonly ArgumentRule[], transactions: readonly Judged[]): boolean =>
  rules.length > 0 &&
  transactions.length > 0 &&
  transactions.every((each) => each.to !== null && rules.every((rule) => ruleMatches(rule, each)))
