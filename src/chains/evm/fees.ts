// The EIP-1559 fees of one transaction: the caller's if given, otherwise the market's (market.ts). The fee cap allows the
// base fee to double (six full blocks in a row) and stays within the ceiling.

import { higher, lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import { gweiOf } from '../../platform/networks/network.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { Intent } from '../chain.ts'
import type { FeeMarket } from './market.ts'
import { assertFees, type Fees } from './unsigned.ts'

const BASE_FEE_MULTIPLE = 2n
/** The market's fees, with room for the base fee to double. Pure. */
export const marketFees = ({ nextBaseFee, tip, ceiling }: FeeMarket): Fees => ({
  maxFeePerGas: lower(BASE_FEE_MULTIPLE * nextBaseFee + tip, ceiling),
  maxPriorityFeePerGas: tip,
})

/** The caller's fees if given, otherwise the market's. Pure. */
export const chooseFees = (intent: Intent, market: FeeMarket): Fees => {
  const { maxFeePerGas, maxPriorityFeePerGas } = intent
  const tip = maxPriorityFeePerGas ?? lower(market.tip, maxFeePerGas ?? market.tip)
  const suggested = marketFees({ ...market, tip }).maxFeePerGas
  const fees = { maxFeePerGas: maxFeePerGas ?? higher(suggested, tip), maxPriorityFeePerGas: tip }
  assertFees(fees)
  return fees
}

/** Whether the fees that an intent fixes are within the ceiling; those of the market always are. Pure. */
export const isWithinCap = (intent: Intent, { maxFeePerGasCapWei }: EvmNetworkRow): boolean =>
  [intent.maxFeePerGas, intent.maxPriorityFeePerGas, intent.gasPrice].every(
    (fee) => fee === undefined || fee <= maxFeePerGasCapWei,
  )

/** Refuses a tip so low that nodes do not relay the transaction. */
export const assertRelayed = (fees: Fees, row: EvmNetworkRow): void => {
  if (fees.maxPriorityFeePerGas >= row.minPriorityFeeWei) return
  throw new AppError(
    'fee_too_low',
    `Field "maxPriorityFeePerGas" must be at least ${gweiOf(row.minPriorityFeeWei)} gwei on ${row.network}, and "maxFeePerGas" no less.`,
  )
}
