// Whether policies allow a use, by what the documentation says (docs/custody.md "Policies", docs/substrate.md, and the
// descriptions of the API), and by nothing else: this file, abi.ts and scale.ts take no code from `src`. What the
// documentation leaves open is refused.

import type { RuleOperator } from '../../../db/words.ts'
import { areWithin, type Limits } from './limits.ts'

export type Rule = { readonly argument: string; readonly operator: RuleOperator; readonly value: string }

export type Policy = {
  readonly rules: readonly Rule[]
  readonly isExpired: boolean
  readonly uses: number
  readonly maxUses: number | null
  readonly spentValue: bigint
  readonly maxTotalValue: bigint | null
  readonly limits: Limits
}

/** A value of a call. An account is an SS58 address. */
export type Value =
  | { readonly kind: 'integer'; readonly integer: bigint }
  | { readonly kind: 'address' | 'bytes' | 'account' | 'bool' | 'text'; readonly text: string }

/** What certain call data means. */
export type Reading = {
  readonly name: string
  /** As `transfer(address,uint256)`, on an EVM network. */
  readonly signature?: string
  /** By path, without `decodedInput.`; null if two values have the same. */
  readonly values: ReadonlyMap<string, Value | null>
}

export type Call = {
  /** null creates a contract, or is a call of a runtime. */
  readonly to: string | null
  readonly value: bigint
  readonly input: string
}

export type World = {
  readonly family: 'evm' | 'substrate'
  /** The contract wallet that obeys the signer's key. */
  readonly contractWallet: string | null
  /** What rules mean from the time on at which the policy was made; null if they are refused. */
  agree(rules: readonly Rule[]): Agreement | null
}

export type Agreement = {
  /** null if the meaning is not certain, or is another one than the rules say. */
  read(call: Call): Reading | null
}

/** By path; null if two values have the same. */
export const byPath = (values: readonly (readonly [string | null, Value])[]): ReadonlyMap<string, Value | null> => {
  const found = new Map<string, Value | null>()
  for (const [path, value] of values) {
    if (path !== null) found.set(path, found.has(path) ? null : value)
  }
  return found
}

const integerOf = (text: string): bigint | null =>
  /^(-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(text) ? BigInt(text) : null

const ordered: Record<RuleOperator, (actual: bigint, wanted: bigint) => boolean> = {
  eq: (actual, wanted) => actual === wanted,
  ne: (actual, wanted) => actual !== wanted,
  gt: (actual, wanted) => actual > wanted,
  ge: (actual, wanted) => actual >= wanted,
  lt: (actual, wanted) => actual < wanted,
  le: (actual, wanted) => actual <= wanted,
}

/** What a rule's value must look like to be of a kind. */
const FORMS = {
  address: /^0x[0-9a-fA-F]{40}$/,
  bytes: /^0x(?:[0-9a-fA-F]{2})*$/,
  account: /^[1-9A-HJ-NP-Za-km-z]{35,50}$/,
  bool: /^(?:true|false)$/,
  text: /^/,
} as const

const fits = (value: Value, { operator, value: wanted }: Rule): boolean => {
  if (value.kind === 'integer') {
    const integer = integerOf(wanted)
    return integer !== null && ordered[operator](value.integer, integer)
  }
  if (!FORMS[value.kind].test(wanted)) return false
  const isHex = value.kind === 'address' || value.kind === 'bytes'
  const isEqual = isHex ? value.text.toLowerCase() === wanted.toLowerCase() : value.text === wanted
  if (operator === 'eq') return isEqual
  return operator === 'ne' && !isEqual
}

/** The value that a rule is about, or null if the call has none. */
const argumentOf = (world: World, call: Call, reading: Reading | null, argument: string): Value | null => {
  if (argument === 'to' || argument === 'value') {
    if (call.to === null) return null
    if (argument === 'value') return { kind: 'integer', integer: call.value }
    return { kind: world.family === 'evm' ? 'address' : 'account', text: call.to }
  }
  if (reading === null) return null
  const path = argument.replace(/^decodedInput\./, '').replace(/(?<=^|\.)_+/g, '')
  return reading.values.get(path) ?? null
}

/** A function is named by its bare name, or whole. */
const fitsFunction = ({ name, signature }: Reading, { operator, value }: Rule): boolean => {
  const isNamed = value === name || value === signature
  return operator === 'eq' ? isNamed : operator === 'ne' && !isNamed
}

const hasCallData = ({ to, input }: Call): boolean => to === null || input !== '0x'

const matchesCall = (world: World, rules: readonly Rule[], call: Call): boolean => {
  const agreement = world.agree(rules)
  if (agreement === null) return false
  const isNamed = rules.some(({ argument, operator }) => argument === 'decodedInput.function' && operator === 'eq')
  if (hasCallData(call) && !isNamed) return false
  const reading = hasCallData(call) ? agreement.read(call) : null
  return rules.every((rule) => {
    if (rule.argument === 'decodedInput.function') return reading !== null && fitsFunction(reading, rule)
    const value = argumentOf(world, call, reading, rule.argument)
    return value !== null && fits(value, rule)
  })
}

const isNeverAllowed = ({ family, contractWallet }: World, { to, input }: Call): boolean => {
  if (to === null) return family === 'evm'
  return contractWallet !== null && to.toLowerCase() === contractWallet.toLowerCase() && input !== '0x'
}

const allows = (world: World, policy: Policy, calls: readonly Call[]): boolean => {
  if (policy.isExpired) return false
  if (policy.maxUses !== null && policy.uses + 1 > policy.maxUses) return false
  if (policy.maxTotalValue !== null) {
    if (calls.some(({ to }) => to === null)) return false
    const total = calls.reduce((sum, { value }) => sum + value, policy.spentValue)
    if (total > policy.maxTotalValue) return false
  }
  if (!areWithin(policy.limits, calls)) return false
  return calls.every((call) => matchesCall(world, policy.rules, call))
}

/** The place of the policy that a use is charged to, of those of the wallet, oldest first; null if none allows it. */
export const chargedPolicy = (world: World, policies: readonly Policy[], calls: readonly Call[]): number | null => {
  if (calls.some((call) => isNeverAllowed(world, call))) return null
  const index = policies.findIndex((policy) => allows(world, policy, calls))
  return index < 0 ? null : index
}
