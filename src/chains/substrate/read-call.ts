// A call as policies judge it: stricter than a preview, for a guess would be a hole. So a second reader must agree.
// A rule on the function names the outer call: whoever allows `utility.batch_all`, `proxy.proxy` and the like allows whatever
// is in them; a rule on `utility.batch` allows nothing but batches, and none on `balances.transfer_keep_alive` a batch.

import type { CallValue, Hex, Intent, ReadCall } from '../chain.ts'
import { isExactCall, readTree } from './decode.ts'
import { messageCall } from './gear.ts'
import type { Runtime } from './runtime.ts'
import type { Field, Value } from './values.ts'

const within = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

const leavesOfAll = (fields: readonly Field[], path: string): [string, CallValue][] =>
  fields.flatMap(({ name, value }) => leavesOf(value, within(path, name)))

const leavesOf = (value: Value, path: string): [string, CallValue][] => {
  switch (value.kind) {
    case 'nothing':
      return []
    case 'list':
      // Without it no rule could tell that there is not one more.
      return [
        [within(path, 'length'), { kind: 'integer', value: BigInt(value.items.length) }],
        ...value.items.flatMap((each, index) => leavesOf(each, within(path, String(index)))),
      ]
    case 'record':
      return leavesOfAll(value.fields, path)
    case 'variant':
      return value.of.kind === 'nothing'
        ? [[path, { kind: 'text', value: value.name }]]
        : leavesOf(value.of, within(path, value.name))
    case 'call':
      return [
        [within(path, 'function'), { kind: 'text', value: value.functionName }],
        ...leavesOfAll(value.fields, path),
      ]
    default:
      return [[path, value]]
  }
}

/**
 * A message to a program, as the call that it is: `gear.send_message`. Its limit of gas is chosen later, so it is no value
 * that a rule could compare. Pure.
 */
export const readMessage = (runtime: Runtime, message: Intent & { readonly to: string }): ReadCall | null => {
  const read = readCall(runtime, messageCall(runtime, message))
  if (read === null) return null
  return { ...read, values: new Map([...read.values].filter(([name]) => name !== 'gas_limit')) }
}

/** null unless it is read for certain. Pure. */
export const readCall = (runtime: Runtime, call: Hex): ReadCall | null => {
  const tree = readTree(runtime, call)
  if (tree === null || !isExactCall(runtime, call)) return null
  return { functionName: tree.functionName, values: new Map(leavesOfAll(tree.fields, '')), readBy: runtime.bytesHash }
}
