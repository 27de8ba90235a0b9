// Makes unsigned transactions from intents, without a node. What every pool would refuse by its form is refused here:
// recorded, it would hold its nonce until it is given up.

import { higher } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { EvmUnsigned, Intent, Offer, Unsigned } from '../chain.ts'
import { serializeUnsigned } from './encode.ts'
import { leastGas } from './intrinsic.ts'

/** Callers pass a transaction back only to the chain that made it. */
export const evmUnsigned = (unsigned: Unsigned): EvmUnsigned => {
  if (unsigned.family !== 'evm') throw new Error('expected an unsigned transaction of an EVM network')
  return unsigned
}

/** Fees, in wei per unit of gas. */
export type Fees = Pick<EvmUnsigned, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

/** EIP-1559: a tip above the cap makes the transaction invalid. */
export const assertFees = (fees: Fees): void => {
  if (fees.maxPriorityFeePerGas > fees.maxFeePerGas) {
    throw new AppError('fee_too_low', 'maxFeePerGas must not be below maxPriorityFeePerGas.')
  }
}

/** The fees that an intent with a gas price has; null for one without. Pure. */
export const pricedFees = ({ gasPrice }: Intent): Fees | null =>
  gasPrice === undefined ? null : { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice }

type Row = Pick<
  EvmNetworkRow,
  'network' | 'chainId' | 'hasDataFloor' | 'maxTransactionGas' | 'maxTransactionBytes' | 'maxFeePerGasCapWei'
>

/** Refuses a gas limit of the caller with which no block would include the transaction. */
const assertGas = (intent: Intent, { network, hasDataFloor, maxTransactionGas: most }: Row): void => {
  const { gasLimit } = intent
  if (gasLimit === undefined) return
  const refuse = (rule: string) => new AppError('invalid_input', `Field "unsigned_transaction.gasLimit" must ${rule}.`)
  const least = leastGas({ call: intent, hasDataFloor })
  if (gasLimit < least) throw refuse(`be at least ${least}, which this transaction costs before anything runs`)
  if (most !== null && gasLimit > most)
    throw refuse(`not be above ${most}, the most gas that a transaction on ${network} may have`)
}

/** What a signature adds at most: v with a large chain id, r and s, and longer lengths before them. */
const SIGNATURE_BYTES = 80

/** The most bytes that the signed transaction may have, whatever nonce, gas and fees are chosen for it. Pure. */
const signedBytes = (intent: Intent, row: Row): number =>
  (serializeUnsigned(longest(intent, row)).length - 2) / 2 + SIGNATURE_BYTES

const assertBytes = (intent: Intent, row: Row): void => {
  const bytes = signedBytes(intent, row)
  if (bytes <= row.maxTransactionBytes) return
  throw new AppError(
    'invalid_input',
    `The signed transaction may have ${bytes} bytes, and nodes of ${row.network} take at most ${row.maxTransactionBytes}: send less data.`,
  )
}

/** Refuses what no node takes, in whatever state the chain is. */
export const assertForm = (intent: Intent, row: Row): void => {
  assertGas(intent, row)
  assertBytes(intent, row)
}

/** An access list makes a transaction with a gas price one of type 1, even if it is empty. Pure. */
const chooseType = ({ gasPrice, accessList }: Intent): Pick<EvmUnsigned, 'type' | 'accessList'> => ({
  ...(gasPrice === undefined ? {} : { type: accessList === undefined ? 'legacy' : 'eip2930' }),
  ...(accessList === undefined ? {} : { accessList }),
})

type Rest = Fees & { readonly row: Pick<Row, 'chainId'>; readonly nonce: number; readonly gasLimit: bigint }

const merge = (intent: Intent, rest: Rest): EvmUnsigned => ({
  family: 'evm',
  chainId: rest.row.chainId,
  nonce: rest.nonce,
  to: intent.to,
  value: intent.value,
  input: intent.input,
  gasLimit: rest.gasLimit,
  maxFeePerGas: rest.maxFeePerGas,
  maxPriorityFeePerGas: rest.maxPriorityFeePerGas,
  ...chooseType(intent),
})

/** The transaction with the longest nonce, gas and fees that it may get. Only for its size. Pure. */
export const longest = (intent: Intent, row: Pick<Row, 'chainId' | 'maxFeePerGasCapWei'>): EvmUnsigned => {
  const { maxFeePerGas = 0n } = pricedFees(intent) ?? intent
  const fee = higher(row.maxFeePerGasCapWei, maxFeePerGas)
  return merge(intent, {
    row,
    nonce: higher(2 ** 32, intent.nonce ?? 0),
    gasLimit: higher(2n ** 32n, intent.gasLimit ?? 0n),
    maxFeePerGas: fee,
    maxPriorityFeePerGas: fee,
  })
}

export const fillIn = (intent: Intent, rest: Rest & { readonly row: Row }): EvmUnsigned => {
  assertFees(rest)
  assertForm(intent, rest.row)
  return merge(intent, rest)
}

/** null if nonce, gasLimit or one of the fees is missing. Pure. */
export const complete = (row: Row, intent: Intent): EvmUnsigned | null => {
  const { nonce, gasLimit } = intent
  const { maxFeePerGas, maxPriorityFeePerGas } = pricedFees(intent) ?? intent
  if (nonce === undefined || gasLimit === undefined) return null
  if (maxFeePerGas === undefined || maxPriorityFeePerGas === undefined) return null
  return fillIn(intent, { row, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas })
}

/** Value and gas at the fee cap, without the network's surcharge, which is not part of the transaction. Pure. */
export const worstCost = (unsigned: EvmUnsigned): bigint => unsigned.value + unsigned.gasLimit * unsigned.maxFeePerGas

export const offerOf = (unsigned: EvmUnsigned): Offer => {
  const { maxFeePerGas, maxPriorityFeePerGas } = unsigned
  return { maxFeePerGas, maxPriorityFeePerGas, worstCost: worstCost(unsigned), isBound: true }
}

/** See `Replacement.effectOf`. Pure. */
export const effectOf = ({ chainId, nonce, to, value, input, gasLimit }: EvmUnsigned) => {
  const place = `${chainId} ${nonce}`
  return { place, effect: [place, to, value, input, gasLimit].join(' ').toLowerCase() }
}
