// What a call says, by the runtime's metadata: its pallet and name, and its arguments with the calls among them. An address
// is its SS58 text, an integer a decimal string, a variant with something in it `{ Name: … }`, one without its name.

import { unreachable } from '../../errors.ts'
import type { DecodedCall, Hex } from '../chain.ts'
import type { Runtime } from './runtime.ts'
import { callType, type Field, type Value, valueAs } from './values.ts'

/** A larger call is shown as it is. */
const DECODE_LIMIT_BYTES = 131_072

export type CallTree = Extract<Value, { readonly kind: 'call' }>

/** A call of whatever size; null for what is no call of the runtime, or not all of one. Pure. */
export const treeOf = (runtime: Runtime, call: Hex): CallTree | null => {
  const tree = valueAs(runtime, callType(runtime), call)
  return tree?.kind === 'call' ? tree : null
}

/** One that is shown and judged: null for a larger one, too. Pure. */
export const readTree = (runtime: Runtime, call: Hex): CallTree | null =>
  call.length > 2 + 2 * DECODE_LIMIT_BYTES ? null : treeOf(runtime, call)

/**
 * Whether a second reader agrees that bytes are a call: the codec must give the same bytes again. Addresses by an index it
 * takes for others. It reads without bounds, and slowly, so it comes last. Pure.
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
    case 'address':
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
      return value.of.kind === 'nothing' ? value.name : { [value.name]: shown(value.of) }
    case 'call':
      return { function_name: value.functionName, arguments: shownFields(value.fields) }
    default:
      return unreachable(value)
  }
}

/** Pure. */
export const told = ({ functionName, fields }: CallTree): DecodedCall => ({
  functionName,
  arguments: shownFields(fields),
})
