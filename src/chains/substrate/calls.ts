// Turns an intent into a call of the runtime:
// - `to` and `value`: Balances.transfer_keep_alive;
// - `input` alone: a SCALE-encoded call, used as it is;
// - `to` and `input`, on a network with programs: Gear.send_message.

import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, Intent } from '../chain.ts'
import { treeOf } from './decode.ts'
import { encodeCall } from './encode-call.ts'
import { isMessage as isMessageTo, messageCall } from './gear.ts'
import type { Runtime } from './runtime.ts'

const refuse = (sentence: string): AppError => new AppError('invalid_input', sentence)

/** @throws invalid_input for a field that has no meaning on a Substrate network. */
const refuseForeignFields = (network: string, { intent, isMessage }: { intent: Intent; isMessage: boolean }): void => {
  if (intent.maxFeePerGas !== undefined) {
    const sentence = `Field "unsigned_transaction.maxFeePerGas" has no meaning on ${network}; maxPriorityFeePerGas is the tip.`
    throw refuse(sentence)
  }
  if (intent.gasLimit !== undefined && !isMessage) {
    throw refuse(`Field "unsigned_transaction.gasLimit" must be absent on ${network}, except in messages to programs.`)
  }
}

const U128_END = 2n ** 128n
const U32_END = 2n ** 32n

/** @throws invalid_input for a quantity that does not fit its Substrate type. */
const refuseTooLarge = ({ value, maxPriorityFeePerGas = 0n, nonce = 0 }: Intent): void => {
  const quantities = [
    ['value', value, U128_END, '2^128'],
    ['maxPriorityFeePerGas', maxPriorityFeePerGas, U128_END, '2^128'],
    ['nonce', BigInt(nonce), U32_END, '2^32'],
  ] as const
  const found = quantities.find(([, quantity, end]) => quantity >= end)
  if (found !== undefined) throw refuse(`Field "unsigned_transaction.${found[0]}" must be below ${found[3]}.`)
}

/** @throws invalid_input if the bytes are not exactly one call of the runtime. */
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
export const callOf = (runtime: Runtime, row: SubstrateNetworkRow, intent: Intent): Hex => {
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
