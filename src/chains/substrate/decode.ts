// Decodes calls by the runtime's metadata: the pallet, the name and the arguments, with nested calls. In the shown form an
// address is SS58, an integer is a decimal string, a variant with content is `{ Name: … }`, one without content is its name.

import { unreachable } from '../../platform/errors.ts'
import type { DecodedCall, Hex } from '../chain.ts'
import type { Runtime } from './runtime.ts'
import { callType, type Field, fieldOf, itemsOf, type Value, valueAs } from './values.ts'

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

/** The calls in a batch and in its batches, in order; any other call alone. Empty if the call cannot be decoded. Pure. */
export const callsOf = (runtime: Runtime, call: Hex): readonly CallTree[] => {
  const tree = treeOf(runtime, call)
  return tree === null ? [] : unbatched(tree)
}

/** Decodes a call for display or a forecast; null also for a call above the size limit. Pure. */
export const readTree = (runtime: Runtime, call: Hex): CallTree | null =>
  call.length > 2 + 2 * DECODE_LIMIT_BYTES ? null : treeOf(runtime, call)

/**
 * Whether two decoders accept the bytes: ours, and the codec, which must encode the same bytes again. The codec is slow, reads
 * without bounds and mistakes addresses by index, so it runs after ours. Pure.
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
      return value.of.kind === 'nothing' ? value.name : { [value.name]: shown(value.of) }
    case 'call':
      return { function_name: value.functionName, arguments: shownFields(value.fields) }
    default:
      return unreachable(value)
  }
}

/** A call for display. Pure. */
export const decodedCall = ({ functionName, fields }: CallTree): DecodedCall => ({
  functionName,
  arguments: shownFields(fields),
})
