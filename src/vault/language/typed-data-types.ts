// Reads and checks the types of typed data (EIP-712). The bounds keep the work small, as a struct's text contains all
// structs below it.

import { AppError, shownName } from '../../platform/errors.ts'
import type { TypedData } from './payload.ts'

export type ValueType =
  | { readonly kind: 'struct'; readonly name: string }
  | { readonly kind: 'list'; readonly of: ValueType; readonly length: number | null; readonly text: string }
  | { readonly kind: 'integer'; readonly isUnsigned: boolean; readonly bits: number; readonly text: string }
  | { readonly kind: 'fixed_bytes'; readonly size: number; readonly text: string }
  | { readonly kind: 'string' | 'bytes' | 'bool' | 'address' }

export type Struct = {
  readonly name: string
  readonly fields: readonly { readonly name: string; readonly type: ValueType; readonly text: string }[]
  /** `encodeType` of EIP-712: `Mail(Person from,Person to,string contents)Person(string name,address wallet)`. */
  readonly encoded: string
}

type Types = TypedData['types']

export const DOMAIN = 'EIP712Domain'
/** The order of EIP-712. */
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
] as const

const STRUCTS_MAX = 100
const DEPTH_MAX = 64
const NAME_MAX = 256
const ENCODED_MAX = 64 * 1024

const ARRAY = /^(.+)\[([0-9]*)\]$/
const INTEGER = /^(u?)int([0-9]*)$/
const FIXED_BYTES = /^bytes([0-9]+)$/
/**
 * More than the identifiers of EIP-712: wallets sign types such as `HyperliquidTransaction:UsdSend` and members such as
 * `@context`. A type's text stays unambiguous: no name has a bracket or a comma. A type's name has no space; a member's
 * name has single spaces only, and no dot, which paths have.
 */
const TYPE_NAME = /^[A-Za-z_$][A-Za-z0-9_$:/@.-]*$/
const MEMBER_NAME = /^[A-Za-z_$@:/-][A-Za-z0-9_$@:/-]*(?: [A-Za-z0-9_$@:/-]+)*$/
const LENGTH = /^(?:0|[1-9][0-9]{0,5})$/

export const isTypeName = (text: string): boolean => text.length <= NAME_MAX && TYPE_NAME.test(text)

export const isMemberName = (text: string): boolean => text.length <= NAME_MAX && MEMBER_NAME.test(text)

/** Names the field, or the closest one whose name is safe to repeat. @param path without `typed_data.` */
export const refused = (path: string, sentence: string): AppError => {
  let shown = path === '' ? 'typed_data' : `typed_data.${path}`
  while (shownName(shown) === null) shown = shown.slice(0, shown.lastIndexOf('.'))
  return new AppError('invalid_input', `Field "${shown}" ${sentence}`)
}

/** A type of EIP-712 itself; null for the name of a struct. */
const atomOf = (text: string): ValueType | null => {
  const [, unsigned, bitsText] = INTEGER.exec(text) ?? []
  if (unsigned !== undefined) {
    const bits = Number(bitsText)
    const exists = bits >= 8 && bits <= 256 && bits % 8 === 0 && bitsText === String(bits)
    return exists ? { kind: 'integer', isUnsigned: unsigned === 'u', bits, text } : null
  }
  const [, sizeText] = FIXED_BYTES.exec(text) ?? []
  if (sizeText !== undefined) {
    const size = Number(sizeText)
    return size >= 1 && size <= 32 && sizeText === String(size) ? { kind: 'fixed_bytes', size, text } : null
  }
  return text === 'string' || text === 'bytes' || text === 'bool' || text === 'address' ? { kind: text } : null
}

const looksBuiltIn = (name: string): boolean =>
  /^(?:u?int[0-9]*|bytes[0-9]*|u?fixed[0-9x]*|string|bool|address|function)$/.test(name)

const typeOf = (text: string, path: string): ValueType => {
  const [, element, length] = ARRAY.exec(text) ?? []
  if (element !== undefined && length !== undefined) {
    if (length !== '' && !LENGTH.test(length))
      throw refused(path, 'must have a plain number, or nothing, between [ and ].')
    return { kind: 'list', of: typeOf(element, path), length: length === '' ? null : Number(length), text }
  }
  const atom = atomOf(text)
  if (atom !== null) return atom
  if (looksBuiltIn(text) || !isTypeName(text)) throw refused(path, 'is no type of EIP-712.')
  return { kind: 'struct', name: text }
}

const structNameIn = (type: ValueType): string | null => {
  if (type.kind === 'list') return structNameIn(type.of)
  return type.kind === 'struct' ? type.name : null
}

const declarationOf = (name: string, fields: Struct['fields']): string =>
  `${name}(${fields.map((field) => `${field.text} ${field.name}`).join(',')})`

const fieldsOf = (types: Types, name: string): Struct['fields'] => {
  const names = new Set<string>()
  return (types[name] ?? []).map(({ name: field, type: text }, index) => {
    const at = (member: string) => `types.${name}.${index}.${member}`
    if (!isMemberName(field)) {
      throw refused(
        at('name'),
        `must be a name of at most ${NAME_MAX} letters, digits, _ $ @ : / - and single spaces within it, and must not begin with a digit.`,
      )
    }
    if (names.has(field)) throw refused(at('name'), 'repeats the name of an earlier field.')
    names.add(field)
    if (text.length > NAME_MAX) throw refused(at('type'), `must be a text of at most ${NAME_MAX} characters.`)
    return { name: field, type: typeOf(text, at('type')), text }
  })
}

type Found = { readonly fields: Struct['fields']; readonly below: ReadonlySet<string> }

/** A struct and those below it. @throws invalid_input for types that do not exist, contain themselves, or are many. */
export const readStructs = (types: Types, primary: string): ReadonlyMap<string, Struct> => {
  const found = new Map<string, Found | 'open'>()
  const find = (name: string, depth: number): Found => {
    if (found.size >= STRUCTS_MAX || depth > DEPTH_MAX) {
      throw refused(
        'types',
        `must not have more than ${STRUCTS_MAX} structs, nor more than ${DEPTH_MAX} inside each other.`,
      )
    }
    found.set(name, 'open')
    const fields = fieldsOf(types, name)
    const below = new Set<string>()
    for (const [index, { type }] of fields.entries()) {
      const inner = structNameIn(type)
      if (inner === null) continue
      const at = `types.${name}.${index}.type`
      if (!Object.hasOwn(types, inner)) throw refused(at, 'names a struct that "types" does not have.')
      const known = found.get(inner)
      if (known === 'open') throw refused(at, 'makes a struct contain itself.')
      below.add(inner)
      for (const each of (known ?? find(inner, depth + 1)).below) below.add(each)
    }
    const struct = { fields, below }
    found.set(name, struct)
    return struct
  }
  if (!Object.hasOwn(types, primary)) throw refused('primaryType', 'must be the name of one of the types.')
  if (looksBuiltIn(primary) || !isTypeName(primary)) {
    const rule = `a name of at most ${NAME_MAX} letters, digits, _ $ : / @ . and -, which begins with a letter, _ or $`
    throw refused('primaryType', `must be ${rule}, and no type of EIP-712 itself.`)
  }
  find(primary, 0)
  const declared = (name: string): string => {
    const struct = found.get(name)
    return struct === undefined || struct === 'open' ? '' : declarationOf(name, struct.fields)
  }
  const structs = new Map<string, Struct>()
  for (const [name, struct] of found) {
    if (struct === 'open') continue
    const encoded = [name, ...[...struct.below].sort()].map(declared).join('')
    if (encoded.length > ENCODED_MAX) throw refused('types', `must not be longer than ${ENCODED_MAX} characters.`)
    structs.set(name, { name, fields: struct.fields, encoded })
  }
  return structs
}

/** The struct of the domain: as declared among the types, or the members that the domain has. */
export const domainStructOf = ({ types, domain }: Pick<TypedData, 'types' | 'domain'>): Struct => {
  const given = Object.hasOwn(types, DOMAIN) ? types[DOMAIN] : undefined
  for (const [index, { name, type }] of (given ?? []).entries()) {
    const standard = DOMAIN_FIELDS.find((field) => field.name === name)
    const at = `types.${DOMAIN}.${index}`
    if (standard === undefined) throw refused(`${at}.name`, 'is no member of a domain by EIP-712.')
    if (type !== standard.type) throw refused(`${at}.type`, `must be ${standard.type} by EIP-712.`)
  }
  const members = given ?? DOMAIN_FIELDS.filter(({ name }) => domain[name] !== undefined)
  const fields = fieldsOf({ [DOMAIN]: members }, DOMAIN)
  return { name: DOMAIN, fields, encoded: declarationOf(DOMAIN, fields) }
}
