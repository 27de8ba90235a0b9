// Decodes a call for policies. A wrong decoding would let a call past its policy, so a second decoder must agree (decode.ts).
// A rule on the function compares the outer call only. A rule that allows `utility.batch_all` or `proxy.proxy` allows any inner
// call; a rule that allows `balances.transfer_keep_alive` allows no batch.

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
      // Rules need the length to exclude further items.
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

/** Decodes a message as its call, `gear.send_message`, without the gas limit: that is set only after the policies ran. Pure. */
export const readMessage = (runtime: Runtime, message: Intent & { readonly to: string }): ReadCall | null => {
  const read = readCall(runtime, messageCall(runtime, message))
  if (read === null) return null
  return { ...read, values: new Map([...read.values].filter(([name]) => name !== 'gas_limit')) }
}

/** Decodes a call; null unless both decoders agree on it. Pure. */
export const readCall = (runtime: Runtime, call: Hex): ReadCall | null => {
  const tree = readTree(runtime, call)
  if (tree === null || !isExactCall(runtime, call)) return null
  return { functionName: tree.functionName, values: new Map(leavesOfAll(tree.fields, '')), readBy: runtime.bytesHash }
}
