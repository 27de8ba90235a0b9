// Makes unsigned transactions from intents, without a node.

import { AppError } from '../../errors.ts'
import type { EvmUnsigned, Intent, Offer } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import { leastGas } from './intrinsic.ts'

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

type Row = Pick<EvmNetworkRow, 'chainId' | 'hasDataFloor'>

/** Refuses a gas limit of the caller with which no block would include the transaction. */
const assertGas = (intent: Intent, { hasDataFloor }: Row): void => {
  if (intent.gasLimit === undefined) return
  const least = leastGas({ call: intent, hasDataFloor })
  if (intent.gasLimit >= least) return
  throw new AppError(
    'invalid_input',
    `Field "unsigned_transaction.gasLimit" must be at least ${least}, which this transaction costs before anything runs.`,
  )
}

/** An access list makes a transaction with a gas price one of type 1, even if it is empty. Pure. */
const formOf = ({ gasPrice, accessList }: Intent): Pick<EvmUnsigned, 'type' | 'accessList'> => ({
  ...(gasPrice === undefined ? {} : { type: accessList === undefined ? 'legacy' : 'eip2930' }),
  ...(accessList === undefined ? {} : { accessList }),
})

/** Makes the transaction from the intent and the fields that it left open. */
export const fillIn = (
  intent: Intent,
  rest: Fees & { readonly row: Row; readonly nonce: number; readonly gasLimit: bigint },
): EvmUnsigned => {
  assertFees(rest)
  assertGas(intent, rest.row)
  return {
    family: 'evm',
    chainId: rest.row.chainId,
    nonce: rest.nonce,
    to: intent.to,
    value: intent.value,
    input: intent.input,
    gasLimit: rest.gasLimit,
    maxFeePerGas: rest.maxFeePerGas,
    maxPriorityFeePerGas: rest.maxPriorityFeePerGas,
    ...formOf(intent),
  }
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
