// EIP-712: the digest of typed data. Strict: a value that does not fit its type, a missing one and one that no type names are
// refused, so that what is signed is all that was shown.

import { keccak_256 } from '@noble/hashes/sha3.js'
import type { TypedData } from '../payload.ts'

type Types = TypedData['types']

const WORD_BYTES = 32
const PREFIX = Uint8Array.of(0x19, 0x01)
/** The order of EIP-712. */
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
  { name: 'salt', type: 'bytes32' },
] as const
const DOMAIN = 'EIP712Domain'
/** Deeper values would be a mistake or an attack. */
const DEPTH_MAX = 64

const ARRAY = /^(.+)\[(\d*)\]$/
const INTEGER = /^(u?)int(\d+)$/
const FIXED_BYTES = /^bytes(\d+)$/
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/
const HEX = /^0x(?:[0-9a-fA-F]{2})*$/
const NUMBER = /^(?:-?\d+|0x[0-9a-fA-F]+)$/

const refused = (what: string): Error => new Error(`typed data: ${what}`)

const elementOf = (type: string): string => {
  let element = type
  for (let array = ARRAY.exec(element); array !== null; array = ARRAY.exec(element)) element = array[1] ?? ''
  return element
}

/** `Mail(Person from,Person to,string contents)Person(…)`: the struct, then those that it refers to by name. */
const encodeType = (types: Types, primary: string): string => {
  const found = new Set<string>()
  const collect = (name: string): void => {
    const fields = Object.hasOwn(types, name) ? types[name] : undefined
    if (fields === undefined || found.has(name)) return
    found.add(name)
    for (const { type } of fields) collect(elementOf(type))
  }
  collect(primary)
  found.delete(primary)
  return [primary, ...[...found].sort()]
    .map((name) => `${name}(${(types[name] ?? []).map((field) => `${field.type} ${field.name}`).join(',')})`)
    .join('')
}

/** @throws Error for anything but 0x hex. */
export const bytesIn = (value: unknown, type: string): Uint8Array => {
  if (typeof value !== 'string' || !HEX.test(value)) throw refused(`expected 0x hex for ${type}`)
  return Buffer.from(value.slice(2), 'hex')
}

/** @throws Error for anything but an integer. */
export const integerIn = (value: unknown, type: string): bigint => {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value === 'string' && NUMBER.test(value)) return BigInt(value)
  throw refused(`expected an integer for ${type}`)
}

const word = (value: bigint): Uint8Array =>
  Buffer.from(
    BigInt.asUintN(WORD_BYTES * 8, value)
      .toString(16)
      .padStart(WORD_BYTES * 2, '0'),
    'hex',
  )

const encodeInteger = (value: unknown, type: string, isUnsigned: boolean, bits: number): Uint8Array => {
  if (bits < 8 || bits > 256 || bits % 8 !== 0) throw refused(`there is no type ${type}`)
  const integer = integerIn(value, type)
  const fits = isUnsigned ? BigInt.asUintN(bits, integer) === integer : BigInt.asIntN(bits, integer) === integer
  if (!fits) throw refused(`a value does not fit ${type}`)
  return word(integer)
}

const encodeFixedBytes = (value: unknown, type: string, size: number): Uint8Array => {
  if (size < 1 || size > WORD_BYTES) throw refused(`there is no type ${type}`)
  const bytes = bytesIn(value, type)
  if (bytes.length !== size) throw refused(`expected ${size} bytes for ${type}`)
  return Buffer.concat([bytes], WORD_BYTES)
}

const encodeAtom = (type: string, value: unknown): Uint8Array => {
  const integer = INTEGER.exec(type)
  if (integer !== null) return encodeInteger(value, type, integer[1] === 'u', Number(integer[2]))
  const fixed = FIXED_BYTES.exec(type)
  if (fixed !== null) return encodeFixedBytes(value, type, Number(fixed[1]))
  switch (type) {
    case 'string':
      if (typeof value !== 'string') throw refused('expected a text for string')
      return keccak_256(Buffer.from(value, 'utf8'))
    case 'bytes':
      return keccak_256(bytesIn(value, type))
    case 'bool':
      if (typeof value !== 'boolean') throw refused('expected true or false for bool')
      return word(value ? 1n : 0n)
    case 'address': {
      const bytes = bytesIn(value, type)
      if (bytes.length !== 20) throw refused('expected 20 bytes for address')
      return Buffer.concat([Buffer.alloc(WORD_BYTES - bytes.length), bytes])
    }
    default:
      throw refused(`there is no type ${type}`)
  }
}

const encodeValue = (types: Types, type: string, value: unknown, depth: number): Uint8Array => {
  if (depth > DEPTH_MAX) throw refused(`it is more than ${DEPTH_MAX} levels deep`)
  const array = ARRAY.exec(type)
  if (array !== null) {
    const [, element = '', length] = array
    if (!Array.isArray(value)) throw refused(`expected a list for ${type}`)
    if (length !== '' && value.length !== Number(length)) throw refused(`expected ${length} elements for ${type}`)
    return keccak_256(Buffer.concat(value.map((each) => encodeValue(types, element, each, depth + 1))))
  }
  return Object.hasOwn(types, type) ? hashStruct(types, type, value, depth + 1) : encodeAtom(type, value)
}

const hashStruct = (types: Types, name: string, value: unknown, depth = 0): Uint8Array => {
  const fields = Object.hasOwn(types, name) ? types[name] : undefined
  if (fields === undefined) throw refused(`the type ${name} is not among the types`)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused(`expected an object for ${name}`)
  const known = new Set(fields.map((field) => field.name))
  if (known.size !== fields.length) throw refused(`${name} has two fields of one name`)
  const unknown = Object.keys(value).find((key) => !known.has(key))
  if (unknown !== undefined) throw refused(`${name} has no field ${unknown}`)
  const typeHash = keccak_256(Buffer.from(encodeType(types, name), 'utf8'))
  const words = fields.map((field) => {
    if (!IDENTIFIER.test(field.name) || !IDENTIFIER.test(elementOf(field.type))) {
      throw refused(`${name} has a field or a type that is no identifier`)
    }
    if (!Object.hasOwn(value, field.name)) throw refused(`${name} lacks ${field.name}`)
    return encodeValue(types, field.type, (value as Record<string, unknown>)[field.name], depth)
  })
  return keccak_256(Buffer.concat([typeHash, ...words]))
}

/** @returns 32 bytes. Pure. @throws Error for data that does not fit its types. */
export const typedDataDigest = ({ domain, types, primaryType, message }: TypedData): Uint8Array => {
  const given = DOMAIN_FIELDS.filter(({ name }) => domain[name] !== undefined)
  const withDomain = { ...types, [DOMAIN]: types[DOMAIN] ?? given }
  const parts = [PREFIX, hashStruct(withDomain, DOMAIN, domain)]
  // Data may be a domain alone.
  if (primaryType !== DOMAIN) parts.push(hashStruct(withDomain, primaryType, message))
  return keccak_256(Buffer.concat(parts))
}
