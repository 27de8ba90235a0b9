// How a rule of a policy compares a value. Pure: the vault decides with this code, and so do APIs.
//
//   kind of value   what a rule names                         operators
//   integer         decimal digits, perhaps signed; 0x hex    all; as integers
//   address, bytes  0x hex of the same kind                   eq, ne; without case
//   account         SS58                                      eq, ne; letter for letter
//   bool            true, false                               eq, ne
//   text            the text                                  eq, ne; byte for byte

import type { RuleOperator } from '../../../db/words.ts'
import { unreachable } from '../../platform/errors.ts'

/** A value that a rule is about. `address`: 20 bytes in hex, in any letter case. `account`: SS58, which is case-sensitive. */
export type RuleValue =
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'address' | 'account' | 'bytes' | 'bool' | 'text'; readonly value: string }

type Rule = { readonly operator: RuleOperator; readonly value: string }

const INTEGER = /^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/
const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** Base58 of 32 bytes and a prefix of one or two bytes; leading zeros make it shorter. Base58 is case-sensitive. */
const SS58_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{35,50}$/
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/

/** The integer in a rule's value, or null. Pure. */
export const integerIn = (text: string): bigint | null => (INTEGER.test(text) ? BigInt(text) : null)

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
export const isOfKind = (kind: RuleValue['kind'], text: string): boolean => {
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

const lowered = (code: number): number => (code >= 0x41 && code <= 0x5a ? code + 0x20 : code)

/** Whether texts of one length are the same without case, for ASCII. It copies nothing, and ends at the first difference. */
const isSameWithoutCase = (one: string, other: string): boolean => {
  for (let at = 0; at < one.length; at += 1) {
    if (lowered(one.charCodeAt(at)) !== lowered(other.charCodeAt(at))) return false
  }
  return true
}

const isSame = (kind: RuleValue['kind'], has: string, named: string): boolean => {
  // Compare lengths first: an argument can be as long as the call data.
  if (has.length !== named.length) return false
  const isExact = kind === 'text' || kind === 'account'
  return has === named || (!isExact && isSameWithoutCase(has, named))
}

/** Whether a value is as a rule says. Pure. */
export const valueMatches = ({ operator, value: named }: Rule, found: RuleValue): boolean => {
  if (found.kind === 'integer') {
    const integer = integerIn(named)
    return integer !== null && order(operator, found.value, integer)
  }
  const { kind, value: has } = found
  // What is equal is of the same kind.
  if (operator === 'eq') return isSame(kind, has, named)
  return operator === 'ne' && isOfKind(kind, named) && !isSame(kind, has, named)
}
