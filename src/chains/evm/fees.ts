// The EIP-1559 fees of one transaction: the caller's if given, otherwise the market's (market.ts). The fee cap allows
// the base fee to double (six full blocks in a row) and stays within the ceiling.

import { higher, lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import { gweiOf } from '../../platform/networks/network.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { EvmUnsigned, Intent } from '../chain.ts'
import type { Rpc } from '../node/rpc.ts'
import type { Excess, FeeRules } from '../submission.ts'
import { ZERO_ADDRESS } from './address.ts'
import { type FeeMarket, historyQuestion, marketOf } from './market.ts'
import { surchargeFrom, surchargeQuestions } from './surcharge.ts'
import { assertFees, evmUnsigned, type Fees } from './unsigned.ts'

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

/** Refuses a tip so low that nodes do not relay the transaction. */
export const assertRelayed = (fees: Fees, row: EvmNetworkRow): void => {
  if (fees.maxPriorityFeePerGas >= row.minPriorityFeeWei) return
  throw new AppError(
    'fee_too_low',
    `Field "maxPriorityFeePerGas" must be at least ${gweiOf(row.minPriorityFeeWei)} gwei on ${row.network}, and "maxFeePerGas" no less.`,
  )
}

/** Roughly the gas of a token transfer or a mint. */
const ORDINARY_GAS = 100_000n
const PAYMENT = { to: ZERO_ADDRESS, value: 0n, input: '0x' } as const

const FIELDS = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const satisfies (keyof Intent)[]

/** The first field that is too high. A gas price is paid in full, so it may be at most our own fee cap. Pure. */
const findExcess = (intent: Intent, { ordinary, times }: { ordinary: EvmUnsigned; times: bigint }): Excess | null => {
  const { gasPrice = 0n } = intent
  if (gasPrice > ordinary.maxFeePerGas) return { field: 'gasPrice', most: ordinary.maxFeePerGas }
  for (const field of FIELDS) {
    const most = times * ordinary[field]
    if ((intent[field] ?? 0n) > most) return { field, most }
  }
  return null
}

export const createFeeRules = (context: { readonly rpc: Rpc; readonly row: EvmNetworkRow }): FeeRules => {
  const { rpc, row } = context
  return {
    // The market's fees always are.
    isWithinFeeCap: ({ maxFeePerGas, maxPriorityFeePerGas, gasPrice }) =>
      [maxFeePerGas, maxPriorityFeePerGas, gasPrice].every((fee = 0n) => fee <= row.maxFeePerGasCapWei),
    excess: async ({ intent, ordinary, times }) => findExcess(intent, { ordinary: evmUnsigned(ordinary), times }),
    feesOf: (unsigned) => {
      const { maxFeePerGas, maxPriorityFeePerGas } = evmUnsigned(unsigned)
      return { maxFeePerGas, maxPriorityFeePerGas }
    },
    gasFee: (unsigned) => evmUnsigned(unsigned).gasLimit * evmUnsigned(unsigned).maxFeePerGas,
    surcharge: async (unsigned) => {
      const { gasLimit, ...call } = evmUnsigned(unsigned)
      return surchargeFrom(rpc, await rpc.tryAll(surchargeQuestions(row, call)))(gasLimit)
    },
    ordinaryFee: async () => {
      const [history, ...answers] = await rpc.tryAll([historyQuestion(), ...surchargeQuestions(row, PAYMENT)])
      const { maxFeePerGas } = marketFees(await marketOf(context, rpc.need(history)))
      return ORDINARY_GAS * maxFeePerGas + surchargeFrom(rpc, answers)(ORDINARY_GAS)
    },
  }
}
