// What a call of a Substrate runtime means, by the SCALE specification, the runtime's metadata and docs/custody.md.
// Only the table of types is taken from a library; it is read in the strict form alone: each compact integer as short
// as it can be.

import { decodeAddress, encodeAddress } from '@polkadot/util-crypto/address'
import { byPath, type Call, type Reading, type Value } from './oracle.ts'

type Field = { readonly name: string | null; readonly type: number }
export type Variant = { readonly name: string; readonly index: number; readonly fields: readonly Field[] }
export type ScaleType = {
  readonly path: readonly string[]
  readonly def: {
    readonly composite?: { readonly fields: readonly Field[] }
    readonly variant?: { readonly variants: readonly Variant[] }
    readonly sequence?: { readonly type: number }
    readonly array?: { readonly len: number; readonly type: number }
    readonly tuple?: readonly number[]
    readonly primitive?: string
    readonly compact?: { readonly type: number }
  }
}
export type Types = {
  readonly types: readonly ScaleType[]
  /** The type of a call. */
  readonly call: number
  readonly ss58Prefix: number
}

/** The metadata's own table. */
export const typesOf = (
  lookup: { readonly types: Iterable<{ readonly type: { toJSON(): unknown } }> },
  ss58Prefix: number,
): Types => {
  const types = [...lookup.types].map(({ type }) => {
    const { path = [], def } = type.toJSON() as ScaleType
    return { path, def }
  })
  return { types, call: types.findIndex(({ path }) => path.at(-1) === 'RuntimeCall'), ss58Prefix }
}

class Uncertain extends Error {}
const certain = (condition: boolean): void => {
  if (!condition) throw new Uncertain()
}

const snake = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase()

export const typeAt = ({ types }: Pick<Types, 'types'>, id: number): ScaleType => {
  const type = types[id]
  if (type === undefined) throw new Error(`no type ${id}`)
  return type
}

export const isByte = (types: Types, id: number): boolean => typeAt(types, id).def.primitive?.toLowerCase() === 'u8'

/** The bits of an integer type, or of a wrapper of one. */
export const bitsOf = (types: Types, id: number): number => {
  const { primitive, composite } = typeAt(types, id).def
  const [only] = composite?.fields ?? []
  return only === undefined ? Number(primitive?.slice(1)) : bitsOf(types, only.type)
}

type Named = readonly [path: string, value: Value]

type Reader = { at: number; readonly data: Buffer; readonly types: Types }

const take = (reader: Reader, length: number): Buffer => {
  certain(reader.at + length <= reader.data.length)
  reader.at += length
  return reader.data.subarray(reader.at - length, reader.at)
}

const little = (bytes: Buffer): bigint => BigInt(`0x0${Buffer.from(bytes).reverse().toString('hex')}`)

const takeCompact = (reader: Reader, bits: number): bigint => {
  const [first = 0] = take(reader, 1)
  reader.at -= 1
  const mode = first & 3
  if (mode < 3) {
    const value = little(take(reader, 1 << mode)) >> 2n
    certain(mode === 0 || value >= 1n << (mode === 1 ? 6n : 14n))
    certain(value < 1n << BigInt(bits))
    return value
  }
  take(reader, 1)
  const bytes = take(reader, (first >> 2) + 4)
  certain(bytes.at(-1) !== 0)
  const value = little(bytes)
  certain(value >= 1n << 30n && value < 1n << BigInt(bits))
  return value
}

const hexOf = (bytes: Buffer): string => `0x${bytes.toString('hex')}`
const integer = (value: bigint): Value => ({ kind: 'integer', integer: value })

const takePrimitive = (reader: Reader, name: string): Value => {
  if (name === 'Bool' || name === 'bool') {
    const [byte = 2] = take(reader, 1)
    certain(byte < 2)
    return { kind: 'bool', text: byte === 1 ? 'true' : 'false' }
  }
  if (name === 'Str' || name === 'str') {
    const bytes = take(reader, Number(takeCompact(reader, 32)))
    try {
      return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
    } catch {
      throw new Uncertain()
    }
  }
  const bits = Number(name.slice(1))
  const value = little(take(reader, bits / 8))
  return integer(/^i/i.test(name) ? BigInt.asIntN(bits, value) : value)
}

const under = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** Values without names are a list. */
const takeList = (reader: Reader, types: readonly number[], path: string): readonly Named[] => [
  ...types.flatMap((type, index) => takeValue(reader, type, under(path, String(index)))),
  [under(path, 'length'), integer(BigInt(types.length))],
]

/** The one field without a name is the value itself. */
const takeFields = (reader: Reader, fields: readonly Field[], path: string): readonly Named[] => {
  const [first] = fields
  if (first === undefined) return []
  if (first.name !== null) return fields.flatMap(({ name, type }) => takeValue(reader, type, under(path, String(name))))
  if (fields.length === 1) return takeValue(reader, first.type, path)
  return takeList(
    reader,
    fields.map(({ type }) => type),
    path,
  )
}

const takeItems = (
  reader: Reader,
  { type, count }: { type: number; count: number },
  path: string,
): readonly Named[] => {
  if (isByte(reader.types, type)) return [[path, { kind: 'bytes', text: hexOf(take(reader, count)) }]]
  return takeList(
    reader,
    Array.from({ length: count }, () => type),
    path,
  )
}

const takeVariant = (reader: Reader, variants: readonly Variant[]): Variant => {
  const [byte] = take(reader, 1)
  const found = variants.find(({ index }) => index === byte)
  if (found === undefined) throw new Uncertain()
  return found
}

const takeCall = (reader: Reader): { readonly name: string; readonly fields: readonly Field[] } => {
  const { types } = reader
  const pallet = takeVariant(reader, typeAt(types, types.call).def.variant?.variants ?? [])
  const calls = typeAt(types, pallet.fields[0]?.type ?? -1).def.variant?.variants ?? []
  const { name, fields } = takeVariant(reader, calls)
  return { name: `${snake(pallet.name)}.${name}`, fields }
}

const takeEnum = (reader: Reader, { path: typePath, def }: ScaleType, path: string): readonly Named[] => {
  const { name, fields } = takeVariant(reader, def.variant?.variants ?? [])
  const type = typePath.at(-1)
  if (type === 'Option') return takeFields(reader, fields, path)
  if (type === 'MultiAddress') {
    // By docs/custody.md such a call is not read.
    certain(name !== 'Index')
    if (name === 'Id') return takeFields(reader, fields, path)
  }
  if (fields.length === 0) return [[path, { kind: 'text', text: name }]]
  return takeFields(reader, fields, under(path, name))
}

const takeValue = (reader: Reader, id: number, path: string): readonly Named[] => {
  const { types } = reader
  const type = typeAt(types, id)
  const { composite, variant, sequence, array, tuple, primitive, compact } = type.def
  if (id === types.call) {
    const { name, fields } = takeCall(reader)
    return [[under(path, 'function'), { kind: 'text', text: name }], ...takeFields(reader, fields, path)]
  }
  if (type.path.at(-1) === 'AccountId32') {
    return [[path, { kind: 'account', text: encodeAddress(take(reader, 32), types.ss58Prefix) }]]
  }
  if (primitive !== undefined) return [[path, takePrimitive(reader, primitive)]]
  if (compact !== undefined) {
    // Of the unit nothing is encoded.
    const isUnit = typeAt(types, compact.type).def.tuple?.length === 0
    return isUnit ? [] : [[path, integer(takeCompact(reader, bitsOf(types, compact.type)))]]
  }
  if (sequence !== undefined) {
    const count = Number(takeCompact(reader, 32))
    certain(count <= reader.data.length)
    return takeItems(reader, { type: sequence.type, count }, path)
  }
  if (array !== undefined) return takeItems(reader, { type: array.type, count: array.len }, path)
  // The unit is no value.
  if (tuple !== undefined) return tuple.length === 0 ? [] : takeList(reader, tuple, path)
  if (composite !== undefined) return takeFields(reader, composite.fields, path)
  if (variant !== undefined) return takeEnum(reader, type, path)
  throw new Error(`a type of another kind: ${id}`)
}

/** The meaning of a call in hex; null if it is not certain. */
export const readRuntimeCall = (types: Types, input: string): Reading | null => {
  const reader: Reader = { at: 0, data: Buffer.from(input.slice(2), 'hex'), types }
  try {
    const { name, fields } = takeCall(reader)
    const values = fields.flatMap((field, index) => takeValue(reader, field.type, field.name ?? String(index)))
    certain(reader.at === reader.data.length)
    return { name, values: byPath(values) }
  } catch (error) {
    if (error instanceof Uncertain) return null
    throw error
  }
}

/** The meaning of a message to a program; null on a network without programs. */
export const readProgramMessage = ({ types }: Types, { to, value, input }: Call): Reading | null => {
  if (to === null || !types.some(({ path }) => path.join('::').startsWith('pallet_gear::'))) return null
  return {
    name: 'gear.send_message',
    values: byPath([
      ['destination', { kind: 'bytes', text: hexOf(Buffer.from(decodeAddress(to))) }],
      ['payload', { kind: 'bytes', text: input }],
      ['value', integer(value)],
      ['keep_alive', { kind: 'bool', text: 'true' }],
    ]),
  }
}
