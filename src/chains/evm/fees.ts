// EIP-1559 fees: the tip is what recent blocks paid at the median, at least the network's minimum; the cap leaves room for
// the base fee to double (six full blocks in a row) and stays below the network's own limit.

import { AppError } from '../../errors.ts'
import type { Intent } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import { type Question, question } from '../node/rpc.ts'
import { list, listOf, nullable, quantity, record } from '../node/wire.ts'
import { assertFees, type Fees } from './unsigned.ts'

const HISTORY_BLOCKS = 5
const REWARD_PERCENTILE = 50
const BASE_FEE_MULTIPLE = 2n
const GWEI = 1_000_000_000n

/** The base fee of the next block, and what recent blocks' transactions paid on top. */
export type FeeMarket = { readonly nextBaseFee: bigint; readonly tips: readonly bigint[] }

const parseHistory = (value: unknown): FeeMarket => {
  const history = record(value)
  const baseFees = listOf(quantity)(history.baseFeePerGas)
  const rewards = nullable(list)(history.reward) ?? []
  return {
    nextBaseFee: baseFees.at(-1) ?? 0n,
    tips: rewards.flatMap((each) => (nullable(listOf(quantity))(each) ?? []).slice(0, 1)),
  }
}

/** What the next block asks for. */
export const marketQuestion = (): Question<FeeMarket> =>
  question('eth_feeHistory', [`0x${HISTORY_BLOCKS}`, 'latest', [REWARD_PERCENTILE]], parseHistory)

/** null where the intent fixes both fees. */
export const feeQuestion = (intent: Intent): Question<FeeMarket> | null =>
  intent.maxFeePerGas !== undefined && intent.maxPriorityFeePerGas !== undefined ? null : marketQuestion()

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const higher = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** Empty blocks report no tip, which says nothing of what is wanted. */
const medianTip = (tips: readonly bigint[]): bigint => {
  const paid = tips.filter((tip) => tip > 0n).toSorted((one, other) => (one < other ? -1 : Number(one > other)))
  return paid[paid.length >> 1] ?? 0n
}

/** The caller's fees where given, else the market's. Pure. @throws fee_too_low (a tip above the cap) */
export const chooseFees = (intent: Intent, market: FeeMarket | null, row: EvmNetworkRow): Fees => {
  const { nextBaseFee, tips } = market ?? { nextBaseFee: 0n, tips: [] }
  const suggestedTip = lower(higher(medianTip(tips), row.minPriorityFeeWei), row.maxFeePerGasCapWei)
  const tip = intent.maxPriorityFeePerGas ?? lower(suggestedTip, intent.maxFeePerGas ?? suggestedTip)
  const suggestedCap = lower(BASE_FEE_MULTIPLE * nextBaseFee + tip, row.maxFeePerGasCapWei)
  const fees = { maxFeePerGas: intent.maxFeePerGas ?? higher(suggestedCap, tip), maxPriorityFeePerGas: tip }
  assertFees(fees)
  return fees
}

/** What the market suggests never goes above the network's cap: only what an intent fixes can. Pure. */
export const isWithinCap = (intent: Intent, { maxFeePerGasCapWei }: EvmNetworkRow): boolean =>
  [intent.maxFeePerGas, intent.maxPriorityFeePerGas].every((fee) => fee === undefined || fee <= maxFeePerGasCapWei)

/** Nodes do not relay what tips less. @throws fee_too_low */
export const assertRelayed = (fees: Fees, row: EvmNetworkRow): void => {
  if (fees.maxPriorityFeePerGas >= row.minPriorityFeeWei) return
  const milligwei = (row.minPriorityFeeWei * 1_000n) / GWEI
  throw new AppError(
    'fee_too_low',
    `Field "maxPriorityFeePerGas" must be at least ${Number(milligwei) / 1_000} gwei on ${row.network}, and "maxFeePerGas" no less.`,
  )
}
