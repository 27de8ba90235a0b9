// Decodes calls by the runtime's metadata, with nested calls. For display an address is SS58, an integer is a decimal
// string, a variant with content is `{ Name: … }`, and one without content is its name.

import { AppError, unreachable } from '../../platform/errors.ts'
import type { DecodedCall, Hex, Intent, RecordedIntent } from '../chain.ts'
import { publicKeyOf } from './address.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { compact, toHex } from './scale.ts'
import { callType, type Field, fieldOf, integerOf, itemsOf, snakeCase, type Value, valueAs } from './values.ts'

// The codec encodes the calls that this service makes. It relies on the names of types in the metadata, which may be
// forged, so the bytes are decoded again by the structure of the types, and must give the intended call.

/** An integer, an SS58 address, bytes in hex, the name of a variant, null, or a record with its fields in order. */
export type Argument = bigint | number | boolean | string | null | { readonly [field: string]: Argument }

const isArgument = (value: Value, wanted: Argument): boolean => {
  switch (value.kind) {
    case 'integer':
      return (typeof wanted === 'bigint' || typeof wanted === 'number') && value.value === BigInt(wanted)
    case 'bool':
      return value.value === String(wanted)
    case 'account':
    case 'bytes':
    case 'text':
      return value.value === wanted
    case 'nothing':
      return wanted === null
    case 'variant':
      return value.name === wanted && value.content.kind === 'nothing'
    case 'record':
      return typeof wanted === 'object' && wanted !== null && areArguments(value.fields, wanted)
    case 'list':
    case 'call':
      return false
  }
}

const areArguments = (fields: readonly Field[], wanted: { readonly [field: string]: Argument }): boolean => {
  const entries = Object.entries(wanted)
  return (
    fields.length === entries.length &&
    fields.every(({ name, value }, index) => {
      const [field, argument] = entries[index] ?? ['', null]
      return name === snakeCase(field) && isArgument(value, argument)
    })
  )
}

/** The codec takes the public key of an address, which it would read more slowly. */
const forCodec = (argument: Argument): Argument | Uint8Array =>
  typeof argument === 'string' ? (publicKeyOf(argument) ?? argument) : argument

/** Pallet and name are in camel case. */
type Wanted = { readonly pallet: string; readonly name: string; readonly values: readonly Argument[] }

const encodesAnother = ({ specName, specVersion }: Runtime, name: string): AppError =>
  new AppError(
    'metadata_untrusted',
    `Nothing is signed with the metadata of runtime ${specName} ${specVersion}: it encodes ${name} as another call.`,
  )

/** @throws metadata_untrusted if the metadata encodes the call as another one. Pure. */
export const encodeCall = (runtime: Runtime, { pallet, name, values }: Wanted): Hex => {
  const make = runtime.calls[pallet]?.[name]
  if (make === undefined) throw new Error(`runtime ${runtime.specVersion} has no call ${pallet}.${name}`)
  const call = make(...values.map(forCodec)).toHex()
  const tree = treeOf(runtime, call)
  const isSame =
    tree?.functionName === `${snakeCase(pallet)}.${snakeCase(name)}` &&
    tree.fields.length === values.length &&
    tree.fields.every(({ value }, index) => isArgument(value, values[index] ?? null))
  if (!isSame) throw encodesAnother(runtime, `${pallet}.${name}`)
  return call
}

/** Puts several calls into one `utility.batch_all`; a single call stays as it is. */
const batchAll = (runtime: Runtime, calls: readonly Hex[]): Hex => {
  const [first] = calls
  if (first === undefined) throw new Error('expected at least one call')
  if (calls.length === 1) return first
  const empty = runtime.calls.utility?.batchAll?.([]).toHex()
  const [index, length] = [empty?.slice(0, -2), empty?.slice(-2)]
  if (index === undefined || length !== '00') throw new Error(`runtime ${runtime.specVersion} has no Utility`)
  const all = [index, toHex(compact(BigInt(calls.length))), ...calls].map((each) => each.replace('0x', '')).join('')
  const tree = treeOf(runtime, `0x${all}`)
  const items = itemsOf(tree?.fields[0]?.value)
  const areCalls = items.length === calls.length && items.every(({ kind }) => kind === 'call')
  if (tree?.functionName !== 'utility.batch_all' || !areCalls) throw encodesAnother(runtime, 'utility.batchAll')
  return `0x${all}`
}

/** An intent to make these calls, all or nothing. @throws metadata_untrusted as `encodeCall`. Pure. */
export const intentOf = (runtime: Runtime, calls: readonly Hex[]): Intent => ({
  to: null,
  value: 0n,
  input: batchAll(runtime, calls),
  madeBy: runtime.bytesHash,
})

/** The calls of this function that recorded intents make, also in batches. Pure. */
export const recordedCalls = (
  runtime: Runtime,
  recorded: readonly RecordedIntent[],
  functionName: string,
): readonly CallTree[] =>
  recorded
    .filter(({ to }) => to === null)
    .flatMap(({ input }) => callsOf(runtime, input))
    .filter((call) => call.functionName === functionName)

/** An integer argument by its index, as names differ between runtimes; null for another kind of argument. Pure. */
export const integerAt = ({ fields }: CallTree, index: number): bigint | null => integerOf(fields[index]?.value)

/** @param subject names the text in the error. @throws invalid_input if it is longer than the pallet stores. Pure. */
export const encodeText = (
  runtime: Runtime,
  { pallet, text, subject }: { readonly pallet: string; readonly text: string; readonly subject: string },
): Hex => {
  const data = Buffer.from(text, 'utf8')
  const most = constantOf(runtime, pallet, 'stringLimit') ?? 0n
  if (BigInt(data.length) <= most) return toHex(data)
  throw new AppError('invalid_input', `${subject} must not be longer than the ${most} bytes that the network keeps.`)
}

/** A larger call is not decoded for display. */
const DECODE_LIMIT_BYTES = 131_072

export type CallTree = Extract<Value, { readonly kind: 'call' }>

/** Decodes a call of any size; null unless the bytes are exactly one call of the runtime. Pure. */
export const treeOf = (runtime: Runtime, call: Hex): CallTree | null => {
  const tree = valueAs(runtime, callType(runtime), call)
  return tree?.kind === 'call' ? tree : null
}

const BATCHES: readonly string[] = ['utility.batch', 'utility.batch_all', 'utility.force_batch']

const unbatched = (tree: CallTree): readonly CallTree[] =>
  BATCHES.includes(tree.functionName)
    ? itemsOf(fieldOf(tree, 'calls')).flatMap((each) => (each.kind === 'call' ? unbatched(each) : []))
    : [tree]

/** The calls in a batch and its batches, in order; any other call alone. Empty if the call cannot be decoded. Pure. */
export const callsOf = (runtime: Runtime, call: Hex): readonly CallTree[] => {
  const tree = treeOf(runtime, call)
  return tree === null ? [] : unbatched(tree)
}

/** Decodes a call for display or a forecast; null also for a call above the size limit. Pure. */
export const readTree = (runtime: Runtime, call: Hex): CallTree | null =>
  call.length > 2 + 2 * DECODE_LIMIT_BYTES ? null : treeOf(runtime, call)

/**
 * Whether this decoder and the codec accept the bytes. The codec must encode the same bytes again. It is slow, reads
 * without bounds and mistakes addresses by index, so it runs last. Pure.
 */
export const isExactCall = (runtime: Runtime, call: Hex): boolean => {
  if (treeOf(runtime, call) === null) return false
  try {
    return runtime.registry.createType('Call', call).toHex() === call
  } catch {
    return false
  }
}

const shownFields = (fields: readonly Field[]): Record<string, unknown> =>
  Object.fromEntries(fields.map(({ name, value }) => [name, shown(value)]))

const shown = (value: Value): unknown => {
  switch (value.kind) {
    case 'integer':
      return value.value.toString()
    case 'bool':
      return value.value === 'true'
    case 'account':
    case 'bytes':
    case 'text':
      return value.value
    case 'nothing':
      return null
    case 'list':
      return value.items.map(shown)
    case 'record':
      return shownFields(value.fields)
    case 'variant':
      return value.content.kind === 'nothing' ? value.name : { [value.name]: shown(value.content) }
    case 'call':
      return { function_name: value.functionName, arguments: shownFields(value.fields) }
    default:
      return unreachable(value)
  }
}

export const decodedCall = ({ functionName, fields }: CallTree): DecodedCall => ({
  functionName,
  arguments: shownFields(fields),
})
