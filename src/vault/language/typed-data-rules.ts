// What a policy allows of typed data. Pure: the vault decides with this code, and APIs predict its decisions with it.
//
// The rules name the primary type and the verifying contract, and perhaps values of the message. A contract accepts
// only its own types, so a type's name means one struct there; a rule may also give its whole text. A policy is on
// typed data or on transactions.

import type { PolicyTerms } from '../../../db/queries/vault/policies.ts'
import { type KnownType, readGrants, recognizeType } from './known-typed-data.ts'
import type { TypedData } from './payload.ts'
import { type RuleValue, valueMatches } from './rule-values.ts'
import type { Tokens } from './token-calls.ts'
import { integerOf } from './typed-data.ts'
import { readStructs, type Struct, type ValueType } from './typed-data-types.ts'

type Rule = Pick<PolicyTerms['argumentRules'][number], 'argument' | 'operator' | 'value'>

const PREFIX = 'typedData.'
export const PRIMARY_TYPE = 'typedData.primaryType'
export const VERIFYING_CONTRACT = 'typedData.verifyingContract'
const MESSAGE = 'typedData.message.'

const INDEX = /^(?:0|[1-9][0-9]{0,8})$/

/** Rules on typed data allow no transaction. */
export const areOnTypedData = (rules: readonly Pick<Rule, 'argument'>[]): boolean =>
  rules.some(({ argument }) => argument.startsWith(PREFIX))

export const parseMessagePath = ({ argument }: Pick<Rule, 'argument'>): readonly string[] | null =>
  argument.startsWith(MESSAGE) ? argument.slice(MESSAGE.length).split('.') : null

type Structs = ReadonlyMap<string, Struct>
type Found = { readonly type: ValueType | 'length'; readonly value: unknown }

const within = (structs: Structs, { type, value }: Found, part: string): Found | null => {
  if (type === 'length') return null
  if (type.kind === 'list' && Array.isArray(value)) {
    if (part === 'length') return { type: 'length', value: value.length }
    return INDEX.test(part) && Number(part) < value.length ? { type: type.of, value: value[Number(part)] } : null
  }
  const field = type.kind === 'struct' ? structs.get(type.name)?.fields.find(({ name }) => name === part) : undefined
  if (field === undefined) return null
  return { type: field.type, value: new Map(Object.entries(Object(value))).get(part) }
}

const KINDS: Readonly<Record<ValueType['kind'], RuleValue['kind'] | null>> = {
  integer: 'integer',
  address: 'address',
  bool: 'bool',
  bytes: 'bytes',
  fixed_bytes: 'bytes',
  string: 'text',
  struct: null,
  list: null,
}

/** The kind of a value of a type, as rules compare it; null for structs and lists. Pure. */
export const kindOfType = (type: ValueType | 'length'): RuleValue['kind'] | null =>
  type === 'length' ? 'integer' : KINDS[type.kind]

const ruleValueOf = ({ type, value }: Found): RuleValue | null => {
  const kind = kindOfType(type)
  if (kind === null) return null
  if (kind !== 'integer') return { kind, value: String(value) }
  const integer = integerOf(value)
  return integer === null ? null : { kind, value: integer }
}

const matches = (rule: Rule, { domain, primaryType, message }: TypedData, structs: Structs): boolean => {
  if (rule.argument === PRIMARY_TYPE) {
    const isNamed = rule.value === primaryType || rule.value === structs.get(primaryType)?.encoded
    return rule.operator === 'eq' && isNamed
  }
  if (rule.argument === VERIFYING_CONTRACT) {
    const { verifyingContract: value } = domain
    return value !== undefined && valueMatches(rule, { kind: 'address', value })
  }
  let found: Found | null = { type: { kind: 'struct', name: primaryType }, value: message }
  for (const part of parseMessagePath(rule) ?? []) found = found === null ? null : within(structs, found, part)
  const value = found === null ? null : ruleValueOf(found)
  return value !== null && valueMatches(rule, value)
}

/** The index of the first rule that does not match, or what rules must name. */
type Mismatch = number | 'type_not_named'

/** Why rules do not allow typed data; null if they do. @param typedData checked before */
export const typedDataMismatch = (rules: readonly Rule[], typedData: TypedData): Mismatch | null => {
  const { types, primaryType } = typedData
  const names = (wanted: string) => rules.some(({ argument, operator }) => argument === wanted && operator === 'eq')
  if (!names(PRIMARY_TYPE) || !names(VERIFYING_CONTRACT) || !Object.hasOwn(types, primaryType)) return 'type_not_named'
  const structs = readStructs(types, primaryType)
  const place = rules.findIndex((rule) => !matches(rule, typedData, structs))
  return place < 0 ? null : place
}

/** Why no policy can allow typed data; null if one may. @param safe the key's contract wallet, in any letter case */
export const neverSigned = ({ domain }: TypedData, safe: string): string | null => {
  if (domain.chainId === undefined) {
    return 'Under a policy, field "typed_data.domain.chainId" is required: without it the signature is valid on every chain.'
  }
  return domain.verifyingContract?.toLowerCase() === safe.toLowerCase()
    ? 'No policy lets the developer sign typed data of the contract wallet of this key.'
    : null
}

/** The types that a token itself accepts, and whose amounts are known. */
const OF_TOKENS: ReadonlySet<KnownType> = new Set([
  'permit',
  'dai_permit',
  'transfer_with_authorization',
  'receive_with_authorization',
  'cancel_authorization',
])

const digitsOf = (address: string): string => address.slice(2).toLowerCase()

/** null: one of these contracts is concerned and not countable. @param contracts 40 digits of lower-case hex each */
export const tokensGranted = (contracts: readonly string[], typedData: TypedData): Tokens | null => {
  const granted = new Map<string, bigint>()
  if (contracts.length === 0) return granted
  const type = recognizeType(typedData)
  const isOfToken = contracts.includes(digitsOf(typedData.domain.verifyingContract ?? '0x'))
  if (isOfToken && (type === null || !OF_TOKENS.has(type))) return null
  for (const { token, amount } of type === null ? [] : readGrants(type, typedData)) {
    const contract = digitsOf(token)
    if (contracts.includes(contract)) granted.set(contract, (granted.get(contract) ?? 0n) + amount)
  }
  return granted
}
