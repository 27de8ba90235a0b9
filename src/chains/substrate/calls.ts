// Turns an intent into a call of the runtime:
// - `to` and `value`: Balances.transfer_keep_alive;
// - `input` alone: a SCALE-encoded call, used as it is;
// - `to` and `input`, on a network with programs: Gear.send_message.

import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { CallValue, Hex, Intent, ReadCall } from '../chain.ts'
import { encodeCall, isExactCall, readTree, treeOf } from './codec.ts'
import { isMessage as isMessageTo, messageCall } from './gear.ts'
import type { Runtime } from './runtime.ts'
import { U32_END, U128_END } from './scale.ts'
import type { Field, Value } from './values.ts'

// Decodes a call for policies. A wrong decoding would let a call past its policy, so a second decoder must agree
// (codec.ts). A rule on the function compares the outer call only. A rule that allows `utility.batch_all` or
// `proxy.proxy` allows any inner call; a rule that allows `balances.transfer_keep_alive` allows no batch.

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
      return value.content.kind === 'nothing'
        ? [[path, { kind: 'text', value: value.name }]]
        : leavesOf(value.content, within(path, value.name))
    case 'call':
      return [
        [within(path, 'function'), { kind: 'text', value: value.functionName }],
        ...leavesOfAll(value.fields, path),
      ]
    default:
      return [[path, value]]
  }
}

/** Decodes a message as `gear.send_message` without the gas limit, which is set only after the policies ran. Pure. */
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

const refuse = (sentence: string): AppError => new AppError('invalid_input', sentence)

const refuseForeignFields = (network: string, { intent, isMessage }: { intent: Intent; isMessage: boolean }): void => {
  if (intent.maxFeePerGas !== undefined) {
    const sentence = `Field "unsigned_transaction.maxFeePerGas" has no meaning on ${network}; maxPriorityFeePerGas is the tip.`
    throw refuse(sentence)
  }
  if (intent.gasLimit !== undefined && !isMessage) {
    throw refuse(`Field "unsigned_transaction.gasLimit" must be absent on ${network}, except in messages to programs.`)
  }
}

const refuseTooLarge = ({ value, maxPriorityFeePerGas = 0n, nonce = 0 }: Intent): void => {
  const quantities = [
    ['value', value, U128_END, '2^128'],
    ['maxPriorityFeePerGas', maxPriorityFeePerGas, U128_END, '2^128'],
    ['nonce', BigInt(nonce), U32_END, '2^32'],
  ] as const
  const found = quantities.find(([, quantity, end]) => quantity >= end)
  if (found !== undefined) throw refuse(`Field "unsigned_transaction.${found[0]}" must be below ${found[3]}.`)
}

const rawCall = (runtime: Runtime, { value, input, madeBy }: Intent): Hex => {
  if (value !== 0n) {
    throw refuse(
      'Field "unsigned_transaction.value" must be 0 or absent beside a call: the call itself states its amounts.',
    )
  }
  if (madeBy !== undefined && madeBy !== runtime.bytesHash) {
    throw new AppError('node_unavailable', 'The runtime was upgraded during the preparation. Send the request again.')
  }
  if (treeOf(runtime, input) !== null) return input
  throw refuse('Field "unsigned_transaction.input" must be a SCALE-encoded call of the network\'s runtime.')
}

/** Encodes the call of an intent in SCALE. A message whose gas limit is not set yet is encoded without one. */
export const encodeIntent = (runtime: Runtime, row: SubstrateNetworkRow, intent: Intent): Hex => {
  const { network } = row
  const { to, value, input } = intent
  const isMessage = row.hasPrograms && isMessageTo(intent)
  refuseForeignFields(network, { intent, isMessage })
  refuseTooLarge(intent)
  if (to === null) return rawCall(runtime, intent)
  if (isMessage) return messageCall(runtime, { ...intent, to })
  if (input !== '0x') {
    throw refuse(
      `Field "unsigned_transaction.to" must be absent beside "input" on ${network}: a call has no recipient.`,
    )
  }
  return encodeCall(runtime, { pallet: 'balances', name: 'transferKeepAlive', values: [to, value] })
}
