// Decodes SCALE by the types in the metadata. The data is untrusted and calls may be nested, so depth and size are
// limited. A value that is not in its canonical encoding (for example a length in more bytes than needed) is refused.

import type { Hex } from '../chain.ts'
import { encodeAddress } from './address.ts'
import type { Runtime } from './runtime.ts'
import { fromHex, littleEndian, toHex } from './scale.ts'

/** The maximum nesting; a runtime accepts no deeper call (sp_api, MAX_EXTRINSIC_DEPTH). */
const DEPTH_MAX = 256
/** The size of the data does not limit the number of values: a list of values without bytes can have any length. */
const VALUES_MAX = 50_000
const ACCOUNT_BYTES = 32
/** The SS58 prefix of a runtime that names none. */
const ANY_NETWORK = 42
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export type Field = { readonly name: string; readonly value: Value }

/** A decoded value. Fields have their names in the metadata, or `0`, `1`, …. An Option is its content, or nothing. */
export type Value =
  | { readonly kind: 'integer'; readonly value: bigint }
  /** Accounts in SS58, bytes in hex. */
  | { readonly kind: 'account' | 'bytes' | 'bool' | 'text'; readonly value: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'list'; readonly items: readonly Value[] }
  | { readonly kind: 'record'; readonly fields: readonly Field[] }
  | { readonly kind: 'variant'; readonly name: string; readonly content: Value }
  /** `functionName`: `balances.transfer_keep_alive` */
  | { readonly kind: 'call'; readonly functionName: string; readonly fields: readonly Field[] }

/** The data does not match the type, is not canonical, or exceeds the limits. */
class Unreadable extends Error {}

type Cursor = {
  readonly runtime: Runtime
  readonly callType: number
  readonly data: Uint8Array
  at: number
  left: number
}

const take = (cursor: Cursor, length: number): Uint8Array => {
  const end = cursor.at + length
  if (end > cursor.data.length) throw new Unreadable('more bytes than there are')
  const taken = cursor.data.subarray(cursor.at, end)
  cursor.at = end
  return taken
}

const takeByte = (cursor: Cursor): number => take(cursor, 1)[0] ?? 0

/** Decodes a compact integer. The two lowest bits of the first byte select the length. */
const takeCompact = (cursor: Cursor): bigint => {
  const first = takeByte(cursor)
  const mode = first & 3
  if (mode === 0) return BigInt(first >> 2)
  const isShort = mode !== 3
  const length = isShort ? mode * 2 : (first >> 2) + 4
  if (isShort) cursor.at -= 1
  const number = littleEndian(take(cursor, length)) >> (isShort ? 2n : 0n)
  const least =
    mode === 1 ? 1n << 6n : mode === 2 ? 1n << 14n : length === 4 ? 1n << 30n : 1n << BigInt(8 * (length - 1))
  if (number < least) throw new Unreadable('a number in more bytes than it takes')
  return number
}

/** Decodes a length, limited by the data's size or the number of values that may still be read. */
const takeLength = (cursor: Cursor): number => {
  const length = takeCompact(cursor)
  if (length > BigInt(Math.max(cursor.left, cursor.data.length))) throw new Unreadable('more than may be read')
  return Number(length)
}

const PRIMITIVE_INTEGER = /^([UI])(8|16|32|64|128|256)$/

const readPrimitive = (cursor: Cursor, name: string): Value => {
  const [, sign, bits] = PRIMITIVE_INTEGER.exec(name) ?? []
  if (bits !== undefined) {
    const value = littleEndian(take(cursor, Number(bits) / 8))
    return { kind: 'integer', value: sign === 'I' ? BigInt.asIntN(Number(bits), value) : value }
  }
  if (name === 'Bool') {
    const byte = takeByte(cursor)
    if (byte > 1) throw new Unreadable('neither true nor false')
    return { kind: 'bool', value: byte === 1 ? 'true' : 'false' }
  }
  if (name !== 'Str') throw new Unreadable(`a primitive ${name}`)
  try {
    return { kind: 'text', value: UTF8.decode(take(cursor, takeLength(cursor))) }
  } catch {
    throw new Unreadable('a text')
  }
}

type Type = ReturnType<Runtime['registry']['lookup']['getSiType']>
type TypeFields = Type['def']['asComposite']['fields']
export type TypeId = Type['def']['asSequence']['type']

const nameOf = (type: Type): string => type.path.at(-1)?.toString() ?? ''

const isByte = ({ registry }: Runtime, id: TypeId): boolean => {
  const { def } = registry.lookup.getSiType(id)
  return def.isPrimitive && def.asPrimitive.isU8
}

const readNamed = (cursor: Cursor, fields: TypeFields, depth: number): readonly Field[] =>
  fields.map(({ name, type }, index) => ({
    // Rust marks unused fields with leading underscores: drop them.
    name: name.isSome ? name.unwrap().toString().replace(/^_+/, '') : String(index),
    value: readValue(cursor, type, depth),
  }))

/** A single field without a name is returned as its value. */
const readFields = (cursor: Cursor, fields: TypeFields, depth: number): Value => {
  const read = readNamed(cursor, fields, depth)
  const [first] = read
  if (first === undefined) return { kind: 'nothing' }
  if (fields[0]?.name.isSome === true) return { kind: 'record', fields: read }
  return read.length === 1 ? first.value : { kind: 'list', items: read.map(({ value }) => value) }
}

const readItems = (cursor: Cursor, input: { length: number; type: TypeId; depth: number }): Value => {
  const { length, type, depth } = input
  if (isByte(cursor.runtime, type)) return { kind: 'bytes', value: toHex(take(cursor, length)) }
  const items: Value[] = []
  for (let index = 0; index < length; index += 1) items.push(readValue(cursor, type, depth))
  return { kind: 'list', items }
}

const takeVariant = (cursor: Cursor, type: Type) => {
  const index = takeByte(cursor)
  const variant = type.def.asVariant.variants.find((each) => each.index.toNumber() === index)
  if (variant === undefined) throw new Unreadable('an unknown variant')
  return variant
}

const readVariant = (cursor: Cursor, type: Type, depth: number): Value => {
  const { name, fields } = takeVariant(cursor, type)
  const content = readFields(cursor, fields, depth)
  const own = nameOf(type)
  if (own === 'Option') return content
  // MultiAddress::Id is shown as its address; the other variants keep their names.
  if (own === 'MultiAddress' && content.kind === 'account') return content
  return { kind: 'variant', name: name.toString(), content }
}

/** Converts `PolkadotXcm` to `polkadot_xcm`, the spelling in names of calls. */
export const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()

/** A call is a variant of pallets, and inside it a variant of the pallet's calls. */
const readCall = (cursor: Cursor, type: Type, depth: number): Value => {
  const pallet = takeVariant(cursor, type)
  const [inner] = pallet.fields
  if (inner === undefined) throw new Unreadable('a pallet without calls')
  const call = takeVariant(cursor, cursor.runtime.registry.lookup.getSiType(inner.type))
  const functionName = `${snakeCase(pallet.name.toString())}.${call.name.toString()}`
  return { kind: 'call', functionName, fields: readNamed(cursor, call.fields, depth) }
}

const readBits = (cursor: Cursor, store: TypeId): Value => {
  const bits = takeLength(cursor)
  const name = cursor.runtime.registry.lookup.getSiType(store).def.asPrimitive.type
  const storeBytes = Number(PRIMITIVE_INTEGER.exec(name)?.[2] ?? 8) / 8
  return { kind: 'bytes', value: toHex(take(cursor, Math.ceil(bits / (storeBytes * 8)) * storeBytes)) }
}

/** Encodes the address lazily: that takes a hundred times as long as decoding, and a call may contain thousands. */
const addressOf = (publicKey: Uint8Array, prefix = ANY_NETWORK): Value => ({
  kind: 'account',
  get value() {
    return encodeAddress(publicKey, prefix)
  },
})

const readValue = (cursor: Cursor, id: TypeId, depth: number): Value => {
  cursor.left -= 1
  if (depth > DEPTH_MAX || cursor.left < 0) throw new Unreadable('deeper, or more, than is read')
  const { registry } = cursor.runtime
  const type = registry.lookup.getSiType(id)
  const { def } = type
  const deeper = depth + 1
  if (def.isPrimitive) return readPrimitive(cursor, def.asPrimitive.type)
  if (def.isCompact) return { kind: 'integer', value: takeCompact(cursor) }
  if (def.isSequence) return readItems(cursor, { length: takeLength(cursor), type: def.asSequence.type, depth: deeper })
  if (def.isArray) {
    return readItems(cursor, { length: def.asArray.len.toNumber(), type: def.asArray.type, depth: deeper })
  }
  if (def.isTuple) {
    const items = def.asTuple.map((each) => readValue(cursor, each, deeper))
    return items.length === 0 ? { kind: 'nothing' } : { kind: 'list', items }
  }
  if (def.isVariant) {
    return Number(id) === cursor.callType ? readCall(cursor, type, deeper) : readVariant(cursor, type, deeper)
  }
  if (def.isBitSequence) return readBits(cursor, def.asBitSequence.bitStoreType)
  if (!def.isComposite) throw new Unreadable('a type of an old form')
  if (nameOf(type) === 'AccountId32') {
    return addressOf(take(cursor, ACCOUNT_BYTES), registry.chainSS58)
  }
  return readFields(cursor, def.asComposite.fields, deeper)
}

export const callType = ({ metadata }: Runtime): TypeId => metadata.asLatest.extrinsic.callType

/** Decodes a value. null unless the data is exactly one value in canonical encoding, within the limits. Pure. */
export const valueAs = (runtime: Runtime, type: TypeId, data: Hex): Value | null => {
  const cursor: Cursor = { runtime, callType: Number(callType(runtime)), data: fromHex(data), at: 0, left: VALUES_MAX }
  try {
    const value = readValue(cursor, type, 0)
    return cursor.at === cursor.data.length ? value : null
  } catch (error) {
    if (error instanceof Unreadable) return null
    throw error
  }
}

const NOTHING: Value = { kind: 'nothing' }

/** A field of a record or a call; `nothing` if there is no such field. Pure. */
export const fieldOf = (value: Value | null, name: string): Value => {
  const fields = value?.kind === 'record' || value?.kind === 'call' ? value.fields : []
  return fields.find((each) => each.name === name)?.value ?? NOTHING
}

export const integerOf = (value: Value | null | undefined): bigint | null =>
  value?.kind === 'integer' ? value.value : null

/** An integer field; 0 if it is missing or not an integer. Pure. */
export const integerIn = (value: Value | null, name: string): bigint => integerOf(fieldOf(value, name)) ?? 0n

export const itemsOf = (value: Value | undefined): readonly Value[] => (value?.kind === 'list' ? value.items : [])

export const addressIn = (value: Value | null, name: string): string | null => {
  const field = fieldOf(value, name)
  return field.kind === 'account' ? field.value : null
}

export const isTrueIn = (value: Value | null, name: string): boolean => {
  const field = fieldOf(value, name)
  return field.kind === 'bool' && field.value === 'true'
}

/** A field of bytes as text; '' if it is missing or not valid UTF-8. Pure. */
export const textIn = (value: Value | null, name: string): string => {
  const field = fieldOf(value, name)
  try {
    return field.kind === 'bytes' ? UTF8.decode(fromHex(field.value)) : ''
  } catch {
    return ''
  }
}
