// Encodes calls that this service makes itself. The codec encodes them, and it relies on the names of types in the metadata,
// which may be forged. So the bytes are decoded again by the structure of the types, and must give the intended call.

import { AppError } from '../../platform/errors.ts'
import type { Hex } from '../chain.ts'
import { treeOf } from './decode.ts'
import type { Runtime } from './runtime.ts'
import { compact, toHex } from './scale.ts'
import { type Field, itemsOf, snakeCase, type Value } from './values.ts'

/** An argument: an integer, an SS58 address, bytes in hex, the name of a variant, null, or a record with its fields in order. */
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
      return value.name === wanted && value.of.kind === 'nothing'
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

/** A call of the runtime; pallet and name in camel case. */
type Wanted = { readonly pallet: string; readonly name: string; readonly values: readonly Argument[] }

const encodesAnother = ({ specName, specVersion }: Runtime, name: string): AppError =>
  new AppError(
    'metadata_untrusted',
    `Nothing is signed with the metadata of runtime ${specName} ${specVersion}: it encodes ${name} as another call.`,
  )

/** Encodes a call. @throws metadata_untrusted if the metadata encodes it as another call. Pure. */
export const encodeCall = (runtime: Runtime, { pallet, name, values }: Wanted): Hex => {
  const make = runtime.calls[pallet]?.[name]
  if (make === undefined) throw new Error(`runtime ${runtime.specVersion} has no call ${pallet}.${name}`)
  const call = make(...values).toHex()
  const tree = treeOf(runtime, call)
  const isSame =
    tree?.functionName === `${snakeCase(pallet)}.${snakeCase(name)}` &&
    tree.fields.length === values.length &&
    tree.fields.every(({ value }, index) => isArgument(value, values[index] ?? null))
  if (!isSame) throw encodesAnother(runtime, `${pallet}.${name}`)
  return call
}

/** Puts several calls into one `utility.batch_all`; a single call stays as it is. Pure. */
export const batchAll = (runtime: Runtime, calls: readonly [Hex, ...Hex[]]): Hex => {
  if (calls.length === 1) return calls[0]
  const empty = runtime.calls.utility?.batchAll?.([]).toHex()
  const [index, length] = [empty?.slice(0, -2), empty?.slice(-2)]
  if (index === undefined || length !== '00') throw new Error(`runtime ${runtime.specVersion} has no Utility`)
  const all = [index, toHex(compact(BigInt(calls.length))), ...calls].map((each) => each.replace('0x', '')).join('')
  const tree = treeOf(runtime, `0x${all}`)
  const [list] = tree?.fields ?? []
  const items = itemsOf(list?.value)
  const areCalls = items.length === calls.length && items.every(({ kind }) => kind === 'call')
  if (tree?.functionName !== 'utility.batch_all' || !areCalls) throw encodesAnother(runtime, 'utility.batchAll')
  return `0x${all}`
}
