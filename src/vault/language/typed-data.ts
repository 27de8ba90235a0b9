// EIP-712: the digest of typed data. It refuses a value that does not fit its type, a missing one and one that no type
// names, so that the signature covers all that was shown. The vault hashes with this code, and APIs check requests with
// it before they use a credential.

import { keccak_256 } from '@noble/hashes/sha3.js'
import { createBoundedMap } from '../../platform/bounded-map.ts'
import type { TypedData } from './payload.ts'
import { DOMAIN, domainStructOf, readStructs, refused, type Struct, type ValueType } from './typed-data-types.ts'

/** An address by EIP-55. Pure. @param digits 40 digits of lower-case hex. */
export const withChecksum = (digits: string): string => {
  const hash = Buffer.from(keccak_256(Buffer.from(digits))).toString('hex')
  const letters = [...digits].map((digit, at) => ((hash[at] ?? '0') >= '8' ? digit.toUpperCase() : digit))
  return `0x${letters.join('')}`
}

const WORD_BYTES = 32
const PREFIX = Uint8Array.of(0x19, 0x01)

const HEX = /^0x(?:[0-9a-fA-F]{2})*$/
const NUMBER = /^(?:-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/
const ADDRESS = /^0x([0-9a-fA-F]{40})$/
const ONE_CASE = /^(?:[0-9a-f]*|[0-9A-F]*)$/

type Hash = (bytes: Uint8Array) => Uint8Array

type Reading = {
  readonly structs: ReadonlyMap<string, Struct>
  readonly keccak: Hash
  readonly typeHashOf: (struct: Struct) => Uint8Array
}

/** Apps sign the same few types for the same few contracts, and each hash takes some microseconds. */
const KEPT_MAX = 1_000
/** Longer texts are not kept, nor are domains. */
const KEPT_LENGTH_MAX = 1_024
const keptTypeHashes = createBoundedMap<Uint8Array>({ max: KEPT_MAX })
const keptDomainHashes = createBoundedMap<Uint8Array>({ max: KEPT_MAX })
/** Addresses in mixed case with a valid checksum. */
const keptAddresses = createBoundedMap<true>({ max: 10 * KEPT_MAX })

const remembered = (
  kept: typeof keptTypeHashes,
  { key, make }: { readonly key: string; readonly make: () => Uint8Array },
): Uint8Array => {
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = make()
  if (key.length <= KEPT_LENGTH_MAX) kept.set(key, made)
  return made
}

const word = (value: bigint): Uint8Array =>
  Buffer.from(
    BigInt.asUintN(WORD_BYTES * 8, value)
      .toString(16)
      .padStart(WORD_BYTES * 2, '0'),
    'hex',
  )

/** An integer: a safe JSON number, or a text in decimal digits or 0x hex; null for anything else. */
export const integerOf = (value: unknown): bigint | null => {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  return typeof value === 'string' && NUMBER.test(value) ? BigInt(value) : null
}

/** @throws invalid_input for anything but an integer. */
export const integerIn = (value: unknown, path: string): bigint => {
  const integer = integerOf(value)
  if (integer !== null) return integer
  throw refused(path, 'must be an integer: a JSON number below 2^53, or a text in plain decimal digits or 0x hex.')
}

/** @throws invalid_input for anything but 0x hex. */
export const bytesIn = (value: unknown, path: string): Uint8Array => {
  if (typeof value === 'string' && HEX.test(value)) return Buffer.from(value.slice(2), 'hex')
  throw refused(path, 'must be 0x and pairs of hex digits.')
}

const encodeInteger = (type: Extract<ValueType, { readonly kind: 'integer' }>, value: unknown, path: string) => {
  const integer = integerIn(value, path)
  const { bits, isUnsigned, text } = type
  const fits = isUnsigned ? BigInt.asUintN(bits, integer) === integer : BigInt.asIntN(bits, integer) === integer
  if (!fits) throw refused(path, `does not fit the type ${text}.`)
  return word(integer)
}

const isChecksummed = (digits: string): boolean => {
  if (keptAddresses.get(digits)) return true
  if (withChecksum(digits.toLowerCase()) !== `0x${digits}`) return false
  keptAddresses.set(digits, true)
  return true
}

const encodeAddress = (value: unknown, path: string): Uint8Array => {
  const digits = typeof value === 'string' ? ADDRESS.exec(value)?.[1] : undefined
  if (digits === undefined) throw refused(path, 'must be an address: 0x and 40 hex digits.')
  if (!ONE_CASE.test(digits) && !isChecksummed(digits)) {
    throw refused(path, 'has a wrong checksum (EIP-55): a letter may be mistyped.')
  }
  return Buffer.from(digits.padStart(WORD_BYTES * 2, '0'), 'hex')
}

const encodeValue = (reading: Reading, type: ValueType, value: unknown, path: string): Uint8Array => {
  switch (type.kind) {
    case 'struct':
      return hashStruct(reading, reading.structs.get(type.name), value, path)
    case 'list': {
      const { of, length, text } = type
      if (!Array.isArray(value)) throw refused(path, `must be a list: ${text}.`)
      if (length !== null && value.length !== length) throw refused(path, `must have exactly ${length} items: ${text}.`)
      const words = value.map((each, index) => encodeValue(reading, of, each, `${path}.${index}`))
      return reading.keccak(Buffer.concat(words))
    }
    case 'integer':
      return encodeInteger(type, value, path)
    case 'fixed_bytes': {
      const bytes = bytesIn(value, path)
      if (bytes.length !== type.size) throw refused(path, `must be exactly ${type.size} bytes: ${type.text}.`)
      return Buffer.concat([bytes], WORD_BYTES)
    }
    case 'address':
      return encodeAddress(value, path)
    case 'bytes':
      return reading.keccak(bytesIn(value, path))
    case 'string':
      if (typeof value !== 'string') throw refused(path, 'must be a text.')
      return reading.keccak(Buffer.from(value, 'utf8'))
    case 'bool':
      if (typeof value !== 'boolean') throw refused(path, 'must be true or false.')
      return word(value ? 1n : 0n)
    default:
      return type satisfies never
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const hashStruct = (reading: Reading, struct: Struct | undefined, value: unknown, path: string): Uint8Array => {
  if (struct === undefined) throw new Error('a struct that was not read')
  const { name, fields } = struct
  if (!isRecord(value)) throw refused(path, `must be an object of the type ${name}.`)
  const words = fields.map((field) => {
    const at = `${path}.${field.name}`
    if (!Object.hasOwn(value, field.name)) throw refused(at, `is required: it is ${field.text}.`)
    return encodeValue(reading, field.type, value[field.name], at)
  })
  // Every field was there. A further one would be shown, and not signed.
  const names = Object.keys(value)
  if (names.length > fields.length) {
    const known = new Set(fields.map((field) => field.name))
    throw refused(`${path}.${names.find((each) => !known.has(each))}`, `is no field of the type ${name}.`)
  }
  return reading.keccak(Buffer.concat([reading.typeHashOf(struct), ...words]))
}

/** Hashes, or only checks. */
type Way = {
  readonly keccak: Hash
  readonly typeHash: (encoded: string) => Uint8Array
  readonly domainHash: (domain: { readonly keyOf: () => string; readonly make: () => Uint8Array }) => Uint8Array
}

const readingOf = (structs: Reading['structs'], { keccak, typeHash }: Way): Reading => {
  const hashes = new Map<string, Uint8Array>()
  const typeHashOf = ({ name, encoded }: Struct): Uint8Array => {
    const hash = hashes.get(name) ?? typeHash(encoded)
    hashes.set(name, hash)
    return hash
  }
  return { structs, keccak, typeHashOf }
}

/** Contains all that decides the hash of a domain. Only those of valid domains are kept. */
const domainKey = ({ encoded }: Struct, domain: TypedData['domain']): string =>
  JSON.stringify([encoded, ...Object.entries(domain).map(([name, value]) => [name, typeof value, String(value)])])

const encode = ({ domain, types, primaryType, message }: TypedData, way: Way): Uint8Array => {
  const struct = domainStructOf({ types, domain })
  const parts = [
    PREFIX,
    way.domainHash({
      keyOf: () => domainKey(struct, domain),
      make: () => hashStruct(readingOf(new Map([[DOMAIN, struct]]), way), struct, domain, 'domain'),
    }),
  ]
  if (primaryType !== DOMAIN) {
    const reading = readingOf(readStructs(types, primaryType), way)
    parts.push(hashStruct(reading, reading.structs.get(primaryType), message, 'message'))
  } else if (Object.keys(message).length > 0) {
    // The data is the domain alone.
    throw refused('message', 'must be empty, if the primary type is the domain.')
  }
  return way.keccak(Buffer.concat(parts))
}

const HASHING: Way = {
  keccak: keccak_256,
  typeHash: (key) => remembered(keptTypeHashes, { key, make: () => keccak_256(Buffer.from(key, 'utf8')) }),
  domainHash: ({ keyOf, make }) => remembered(keptDomainHashes, { key: keyOf(), make }),
}

const UNHASHED = new Uint8Array(WORD_BYTES)
const CHECKING: Way = { keccak: () => UNHASHED, typeHash: () => UNHASHED, domainHash: ({ make }) => make() }

/** @returns 32 bytes. Pure. @throws invalid_input, with the field, for data that does not fit its types. */
export const typedDataDigest = (typedData: TypedData): Uint8Array => encode(typedData, HASHING)

/** The same checks without the hashing. Pure. @throws invalid_input */
export const checkTypedData = (typedData: TypedData): void => void encode(typedData, CHECKING)

/** The domain may name no chain: then a signature is valid on all with such a contract. @throws invalid_input */
export const requireChainId = ({ domain }: TypedData, chainId: number): void => {
  if (domain.chainId === undefined || integerOf(domain.chainId) === BigInt(chainId)) return
  throw refused('domain.chainId', `must be ${chainId}, the chain id of the wallet's network, or absent.`)
}
