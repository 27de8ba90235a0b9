// Checks the rules of a new policy on typed data. Rules that can never match are refused. If the primary type is given
// by its whole text, rules on its members are checked against it.

import type { NodelessChain } from '../../chains/chain.ts'
import { AppError } from '../../platform/errors.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import { isOfKind, type RuleValue } from '../../vault/language/rule-values.ts'
import {
  areOnTypedData,
  kindOfType,
  PRIMARY_TYPE,
  parseMessagePath,
  VERIFYING_CONTRACT,
} from '../../vault/language/typed-data-rules.ts'
import {
  isMemberName,
  isTypeName,
  readStructs,
  type Struct,
  type ValueType,
} from '../../vault/language/typed-data-types.ts'
import { invalidField, invalidInput } from '../schema.ts'
import type { ArgumentRule } from './evaluate.ts'

type Types = TypedData['types']
type RuledChain = Pick<NodelessChain, 'network' | 'typedData' | 'parseAddress'>

const STRUCT = /^([^()]+)\(([^()]*)\)/
const INDEX = /^[0-9]+$/

const refused = (index: number, member: 'argument' | 'operator' | 'value', sentence: string): AppError =>
  invalidField(`argument_rules.${index}.${member}`, sentence)

/** The structs in the whole text of a type; null for another text. */
const parseTypes = (text: string): { readonly types: Types; readonly primary: string } | null => {
  const types: Record<string, Types[string]> = {}
  let primary = ''
  for (let rest = text; rest !== ''; ) {
    const [whole, name, members] = STRUCT.exec(rest) ?? []
    if (whole === undefined || name === undefined || members === undefined || Object.hasOwn(types, name)) return null
    types[name] = (members === '' ? [] : members.split(',')).map((member) => {
      const at = member.indexOf(' ')
      return { type: member.slice(0, Math.max(at, 0)), name: member.slice(at + 1) }
    })
    primary ||= name
    rest = rest.slice(whole.length)
  }
  return primary === '' ? null : { types, primary }
}

const readable = ({ types, primary }: { readonly types: Types; readonly primary: string }) => {
  try {
    return readStructs(types, primary)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

const parseStructs = (value: string, index: number) => {
  if (isTypeName(value)) return null
  const found = parseTypes(value)
  const wrong =
    'must be the name of a type, or its whole text: the struct, then those below it in the order of their names.'
  if (found === null) throw refused(index, 'value', wrong)
  const structs = readable(found)
  if (structs?.get(found.primary)?.encoded !== value) throw refused(index, 'value', wrong)
  return { structs, primary: found.primary }
}

type Declared = { readonly structs: ReadonlyMap<string, Struct>; readonly primary: string }

/** The kind of a member; null if the type has no such value. */
const findKind = ({ structs, primary }: Declared, path: readonly string[]): RuleValue['kind'] | null => {
  let type: ValueType | 'length' = { kind: 'struct', name: primary }
  for (const part of path) {
    if (type === 'length') return null
    if (type.kind === 'list') {
      if (part !== 'length' && !INDEX.test(part)) return null
      type = part === 'length' ? 'length' : type.of
      continue
    }
    const fields: Struct['fields'] = type.kind === 'struct' ? (structs.get(type.name)?.fields ?? []) : []
    const field = fields.find(({ name }) => name === part)
    if (field === undefined) return null
    type = field.type
  }
  return kindOfType(type)
}

const checkMember = (declared: Declared | null, rule: ArgumentRule, index: number): void => {
  const path = parseMessagePath(rule)
  const { operator, value } = rule
  if (path === null || path.some((part) => !isMemberName(part) && !INDEX.test(part))) {
    throw refused(
      index,
      'argument',
      'must be typedData.primaryType, typedData.verifyingContract, or typedData.message. with a member.',
    )
  }
  const isOrdered = operator !== 'eq' && operator !== 'ne'
  if (isOrdered && !isOfKind('integer', value))
    throw refused(index, 'value', 'must be an integer here, in plain decimal digits or 0x hex.')
  if (declared === null) return
  const kind = findKind(declared, path)
  if (kind === null) throw refused(index, 'argument', `must be a value of the type ${declared.primary}.`)
  if (isOrdered && kind !== 'integer')
    throw refused(index, 'operator', 'must be eq or ne for a value that is not a number.')
  if (!isOfKind(kind, value)) throw refused(index, 'value', 'must be a value of the type of this member.')
}

/** The only rule on an argument, which must be `eq`. */
const requireSole = (rules: readonly ArgumentRule[], argument: string): readonly [ArgumentRule, number] => {
  const index = rules.findIndex((rule) => rule.argument === argument)
  const rule = rules[index]
  if (rule === undefined) {
    throw invalidInput(`Field "argument_rules" must have a rule ${argument} eq, as it has others on typed data.`)
  }
  if (rule.operator !== 'eq') throw refused(index, 'operator', `must be eq for ${argument}.`)
  const second = rules.findLastIndex((each) => each.argument === argument)
  if (second !== index)
    throw refused(second, 'argument', `is a second rule on ${argument}; a policy may have only one.`)
  return [rule, index]
}

/** @returns whether these are rules on typed data. @throws invalid_input for rules that can never match */
export const checkTypedDataRules = (chain: RuledChain, rules: readonly ArgumentRule[]): boolean => {
  if (!areOnTypedData(rules)) return false
  const other = rules.findIndex((rule) => !areOnTypedData([rule]))
  if (other >= 0)
    throw refused(other, 'argument', 'is on transactions, and other rules are on typed data: make two policies.')
  if (chain.typedData === null) {
    throw invalidInput(
      `Field "argument_rules" must have no rules on typed data on ${chain.network}: only EVM networks have it.`,
    )
  }
  const [type, typeAt] = requireSole(rules, PRIMARY_TYPE)
  const [contract, contractAt] = requireSole(rules, VERIFYING_CONTRACT)
  chain.parseAddress(contract.value, `argument_rules.${contractAt}.value`)
  const declared = parseStructs(type.value, typeAt)
  for (const [index, rule] of rules.entries()) {
    if (index !== typeAt && index !== contractAt) checkMember(declared, rule, index)
    for (const member of ['selector', 'declaration'] as const) {
      if (rule[member] === undefined) continue
      throw invalidInput(`Field "argument_rules.${index}.${member}" has no meaning here.`)
    }
  }
  return true
}
