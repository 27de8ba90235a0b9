// What a network asks for a transaction now. This is the one place that answers that, and how much of a node's word on it
// is believed.
//
// - The base fee. A block charges its own base fee, whatever a transaction offers. So a base fee that is told too high costs
//   nothing by itself: it only raises the most that a transaction offers, and that stays below the ceiling.
// - The tip is paid in full, so a tip that is told too high is lost. Up to `believedTipWei` of the network the median that
//   eth_feeHistory tells is believed. Above it, it must be borne out by what transactions of a recent block paid, and it must
//   not be above the lowest base fee of the recent blocks: where a tip beats the base fee, the base fee has not caught up yet.
//   And whatever the node says, it is never above a tenth of the ceiling, so a node that lies about all of this costs no more.
// - Where that is too little, nothing is lost: the fee ladder climbs.

import { AppError } from '../../errors.ts'
import type { Intent } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import { NodeUnavailable, type Question, question, type Rpc } from '../node/rpc.ts'
import { isRecord, list, listOf, nullable, quantity, record, toQuantity } from '../node/wire.ts'

const HISTORY_BLOCKS = 5
const REWARD_PERCENTILE = 50
/** The tip is at most the ceiling divided by this. */
const CEILING_PER_TIP = 10n
const GWEI = 1_000_000_000n

/** What a node says of recent blocks (eth_feeHistory), as it says it. */
type FeeHistory = {
  /** Of the recent blocks, oldest first, and of the next one. */
  readonly baseFees: readonly bigint[]
  /** The median of each block's tips, oldest first. Empty blocks report none, or 0. */
  readonly tips: readonly bigint[]
  /** null where the node does not say which block is the first of them. */
  readonly oldestBlock: bigint | null
}

/** What the market asks, in wei per unit of gas: judged, so it is never above the ceiling. */
export type FeeMarket = {
  /** Of the next block, by the node's word: it may be above the ceiling. */
  readonly nextBaseFee: bigint
  /** What is to be offered on top, at least the network's minimum. */
  readonly tip: bigint
  /** No transaction offers more, unless its caller fixed the fee. */
  readonly ceiling: bigint
}

const parseHistory = (value: unknown): FeeHistory => {
  const history = record(value)
  const rewards = nullable(list)(history.reward) ?? []
  return {
    baseFees: listOf(quantity)(history.baseFeePerGas),
    tips: rewards.map((each) => (nullable(listOf(quantity))(each) ?? [])[0] ?? 0n),
    oldestBlock: nullable(quantity)(history.oldestBlock),
  }
}

/** What recent blocks paid. `marketOf` judges it. */
export const historyQuestion = (): Question<FeeHistory> =>
  question('eth_feeHistory', [`0x${HISTORY_BLOCKS}`, 'latest', [REWARD_PERCENTILE]], parseHistory)

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const higher = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const lowest = (amounts: readonly bigint[]): bigint => amounts.reduce(lower, amounts[0] ?? 0n)

/** Of those above 0; 0 where there are none. */
const median = (amounts: readonly bigint[]): bigint => {
  const paid = amounts.filter((each) => each > 0n).toSorted((one, other) => (one < other ? -1 : Number(one > other)))
  return paid[paid.length >> 1] ?? 0n
}

/** What the transactions of one block paid. */
type PaidBlock = { readonly baseFee: bigint; readonly tip: bigint }

/** EIP-1559: the tip is what is offered, as far as the cap leaves room for it above the base fee. */
const paidTip = (transaction: unknown, baseFee: bigint): bigint => {
  if (!isRecord(transaction)) return 0n
  const cap = nullable(quantity)(transaction.maxFeePerGas)
  const offered = nullable(quantity)(transaction.maxPriorityFeePerGas)
  if (cap !== null && offered !== null) return lower(offered, cap - baseFee)
  return (nullable(quantity)(transaction.gasPrice) ?? 0n) - baseFee
}

const parsePaidBlock = (value: unknown): PaidBlock => {
  const block = record(value)
  const baseFee = quantity(block.baseFeePerGas)
  return { baseFee, tip: median(list(block.transactions).map((each) => paidTip(each, baseFee))) }
}

/** The newest of these blocks in which somebody paid a tip; null where the node does not show it. */
const readPaidBlock = async (rpc: Rpc, { oldestBlock, tips }: FeeHistory): Promise<PaidBlock | null> => {
  const index = tips.findLastIndex((tip) => tip > 0n)
  if (oldestBlock === null || index < 0) return null
  const params = [toQuantity(oldestBlock + BigInt(index)), true]
  try {
    const answer = await rpc.try(question('eth_getBlockByNumber', params, nullable(parsePaidBlock)))
    return answer.ok ? answer.value : null
  } catch (error) {
    // Without the block the tip is not believed, which is safe. The failure itself is counted where the node is asked.
    if (error instanceof NodeUnavailable) return null
    throw error
  }
}

const believedTip = async (
  { rpc, row }: { readonly rpc: Rpc; readonly row: EvmNetworkRow },
  history: FeeHistory,
): Promise<bigint> => {
  const told = median(history.tips)
  if (told <= row.believedTipWei) return told
  const block = await readPaidBlock(rpc, history)
  if (block === null) return row.believedTipWei
  const borneOut = lower(block.tip, lowest([...history.baseFees, block.baseFee]))
  return lower(told, higher(row.believedTipWei, borneOut))
}

/** Judges what a node told. It asks the node again only where the told tip is unusually high. */
export const marketOf = async (
  context: { readonly rpc: Rpc; readonly row: EvmNetworkRow },
  history: FeeHistory,
): Promise<FeeMarket> => {
  const { maxFeePerGasCapWei: ceiling, minPriorityFeeWei } = context.row
  const asked = lower(await believedTip(context, history), ceiling / CEILING_PER_TIP)
  return { nextBaseFee: history.baseFees.at(-1) ?? 0n, tip: higher(asked, minPriorityFeeWei), ceiling }
}

const gweiOf = (wei: bigint): string => String(Number((wei * 1_000n) / GWEI) / 1_000)

/**
 * Refuses what no block would take for as much as is ever offered. A caller who fixes `maxFeePerGas` decides that alone.
 */
export const assertBelowCeiling = (intent: Intent, market: FeeMarket, row: EvmNetworkRow): void => {
  const needed = market.nextBaseFee + row.minPriorityFeeWei
  if (intent.maxFeePerGas !== undefined || needed <= market.ceiling) return
  throw new AppError(
    'fee_ceiling_reached',
    `${row.network} asks for ${gweiOf(needed)} gwei per gas now, and this service offers at most ${gweiOf(market.ceiling)}: try again when fees are lower, or fix "maxFeePerGas".`,
  )
}
