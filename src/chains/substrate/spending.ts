// What a call takes from its signer besides the fee: what it sends, what it deposits, and the gas of a message. It is never
// too little; a deposit may turn out to be another account's, or not to be asked for.

import type { Hex } from '../chain.ts'
import { callsOf } from './batches.ts'
import type { CallTree } from './decode.ts'
import { toHex } from './extrinsic.ts'
import type { Runtime } from './runtime.ts'
import { littleEndian } from './storage.ts'
import { fieldOf } from './values.ts'

const amountIn = (call: CallTree, name: string): bigint => {
  const amount = fieldOf(call, name)
  return amount.kind === 'integer' ? amount.value : 0n
}

const bytesIn = (call: CallTree, name: string): bigint => {
  const data = fieldOf(call, name)
  return data.kind === 'bytes' ? BigInt((data.value.length - 2) / 2) : 0n
}

/** In planck; 0 where the runtime has no such constant, by this name or the one that it had. */
const constant = ({ constants }: Runtime, pallet: string, name: string, older = name): bigint =>
  littleEndian(toHex((constants[pallet]?.[name] ?? constants[pallet]?.[older])?.toU8a() ?? new Uint8Array()))

const VALUE_PER_GAS_TAG = 0

/** GearBank.GasMultiplier, a variant: what a unit of gas costs. All that a message does not use comes back. */
const planckPerGas = ({ constants }: Runtime): bigint => {
  const [tag, ...value] = constants.gearBank?.gasMultiplier?.toU8a() ?? []
  return tag === VALUE_PER_GAS_TAG ? littleEndian(toHex(Uint8Array.from(value))) : 0n
}

const spentByOne = (runtime: Runtime, call: CallTree): bigint => {
  const [pallet = '', name] = call.functionName.split('.')
  switch (call.functionName) {
    case 'balances.transfer':
    case 'balances.transfer_allow_death':
    case 'balances.transfer_keep_alive':
      return amountIn(call, 'value')
    case 'gear.send_message':
      return amountIn(call, 'value') + amountIn(call, 'gas_limit') * planckPerGas(runtime)
  }
  if (pallet !== 'nfts' && pallet !== 'uniques') return 0n
  switch (name) {
    case 'create':
      return constant(runtime, pallet, 'collectionDeposit', 'classDeposit')
    case 'mint':
      return constant(runtime, pallet, 'itemDeposit', 'instanceDeposit')
    case 'set_metadata':
    case 'set_collection_metadata':
    case 'set_class_metadata':
      return (
        constant(runtime, pallet, 'metadataDepositBase') +
        constant(runtime, pallet, 'depositPerByte') * bytesIn(call, 'data')
      )
    default:
      return 0n
  }
}

/** @returns planck, of all calls within a batch. Pure. */
export const spentBy = (runtime: Runtime, call: Hex): bigint =>
  callsOf(runtime, call).reduce((sum, each) => sum + spentByOne(runtime, each), 0n)
