// How a rule of a policy compares a value. Pure: the vault decides with this code, and so do APIs.
//
//   kind of value   what a rule names                         operators
//   integer         decimal digits, perhaps signed; 0x hex    all; as integers
//   address, bytes  0x hex of the same kind                   eq, ne; without case
//   account         SS58                                      eq, ne; letter for letter
//   bool            true, false                               eq, ne
//   text            the text                                  eq, ne; byte for byte

import type { RuleOperator } from '../../../db/words.ts'

/** `address`: 20 bytes in hex, in any letter case. `account`: SS58, which is case-sensitive. */
export type RuleValue =
  | { readonly kind: 'integer'; readonly value: bigint }
  | { readonly kind: 'address' | 'account' | 'bytes' | 'bool' | 'text'; readonly value: string }

type Rule = { readonly operator: RuleOperator; readonly value: string }

const FORMS: Readonly<Record<RuleValue['kind'], RegExp>> = {
  integer: /^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/,
  address: /^0x[0-9a-fA-F]{40}$/,
  // Base58 of 32 bytes and a prefix of one or two bytes; leading zeros make it shorter.
  account: /^[1-9A-HJ-NP-Za-km-z]{35,50}$/,
  bytes: /^0x(?:[0-9a-fA-F]{2})*$/,
  bool: /^(?:true|false)$/,
  text: /^/,
}

export const isOfKind = (kind: RuleValue['kind'], text: string): boolean => FORMS[kind].test(text)

/** The integer in a rule's value, or null. Pure. */
export const integerIn = (text: string): bigint | null => (isOfKind('integer', text) ? BigInt(text) : null)

const COMPARISONS: Readonly<Record<RuleOperator, (one: bigint, other: bigint) => boolean>> = {
  eq: (one, other) => one === other,
  ne: (one, other) => one !== other,
  gt: (one, other) => one > other,
  ge: (one, other) => one >= other,
  lt: (one, other) => one < other,
  le: (one, other) => one <= other,
}

const lowered = (code: number): number => (code >= 0x41 && code <= 0x5a ? code + 0x20 : code)

/** For ASCII texts of one length. It copies nothing, and ends at the first difference. */
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

/** Whether a value fulfils a rule. Pure. */
export const valueMatches = ({ operator, value: named }: Rule, found: RuleValue): boolean => {
  if (found.kind === 'integer') {
    const integer = integerIn(named)
    return integer !== null && COMPARISONS[operator](found.value, integer)
  }
  const { kind, value: has } = found
  // What is equal is of the same kind.
  if (operator === 'eq') return isSame(kind, has, named)
  return operator === 'ne' && isOfKind(kind, named) && !isSame(kind, has, named)
}
