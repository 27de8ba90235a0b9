// The fees that the network asks for now, and how far a node is believed about them.
//
// - The base fee. A block charges its own base fee, whatever a transaction offers. So a base fee that the node reports
//   too high costs nothing: it only raises the fee cap, which stays below the ceiling.
// - The tip is paid in full, so a tip that the node reports too high is money lost. Up to the network's
//   `believedTipWei` the median of eth_feeHistory is accepted. A higher tip must have been paid by the transactions of
//   a recent block, and must not exceed the lowest recent base fee, because a tip above the base fee lasts only until
//   the base fee has risen. The tip is never above a tenth of the ceiling, which bounds what a lying node can cost.
// - If these fees are too low, nothing is lost: the fee ladder raises them.

import { higher, lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import { gweiOf } from '../../platform/networks/network.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { Intent } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { isRecord, list, listOf, nullable, quantity, record, toQuantity, unlessUnavailable } from '../node/wire.ts'

const HISTORY_BLOCKS = 5
const REWARD_PERCENTILE = 50
const CEILING_PER_TIP = 10n

/** A node's report of recent blocks (eth_feeHistory), not judged yet. */
export type FeeHistory = {
  /** The base fees of the recent blocks, oldest first, and of the next one. */
  readonly baseFees: readonly bigint[]
  /** The median of each block's tips, oldest first. Empty blocks report none, or 0. */
  readonly tips: readonly bigint[]
  /** null if the node does not report the number of the first block. */
  readonly oldestBlock: bigint | null
}

/** Market fees in wei per unit of gas, judged. */
export type FeeMarket = {
  /** The base fee of the next block, as the node reports it. It may be above the ceiling. */
  readonly nextBaseFee: bigint
  /** At least the network's minimum. */
  readonly tip: bigint
  /** The highest fee cap, unless the caller fixed the fee. */
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

/** The fees of recent blocks. `marketOf` judges them. */
export const historyQuestion = (): Question<FeeHistory> =>
  question('eth_feeHistory', [`0x${HISTORY_BLOCKS}`, 'latest', [REWARD_PERCENTILE]], parseHistory)

const lowest = (amounts: readonly bigint[]): bigint => amounts.reduce(lower, amounts[0] ?? 0n)

/** The median of the amounts above 0; 0 if there are none. */
const median = (amounts: readonly bigint[]): bigint => {
  const paid = amounts.filter((each) => each > 0n).toSorted((one, other) => (one < other ? -1 : Number(one > other)))
  return paid[paid.length >> 1] ?? 0n
}

/** A block's base fee, and the median of the tips that its transactions paid. */
type PaidBlock = { readonly baseFee: bigint; readonly tip: bigint }

/** EIP-1559: the tip that is paid is the tip offered, or less if the fee cap leaves less above the base fee. */
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

/** The newest of these blocks in which a tip was paid; null if the node does not return it. */
const readPaidBlock = async (rpc: Rpc, { oldestBlock, tips }: FeeHistory): Promise<PaidBlock | null> => {
  const index = tips.findLastIndex((tip) => tip > 0n)
  if (oldestBlock === null || index < 0) return null
  const params = [toQuantity(oldestBlock + BigInt(index)), true]
  // Without the block the high tip is not accepted, which is safe. The node's client reports the failure.
  const answer = await unlessUnavailable(rpc.try(question('eth_getBlockByNumber', params, nullable(parsePaidBlock))))
  return answer?.ok ? answer.value : null
}

const believedTip = async (
  { rpc, row }: { readonly rpc: Rpc; readonly row: EvmNetworkRow },
  history: FeeHistory,
): Promise<bigint> => {
  const reported = median(history.tips)
  if (reported <= row.believedTipWei) return reported
  const block = await readPaidBlock(rpc, history)
  if (block === null) return row.believedTipWei
  const confirmed = lower(block.tip, lowest([...history.baseFees, block.baseFee]))
  return lower(reported, higher(row.believedTipWei, confirmed))
}

/** Judges the fees that a node reported. Asks the node again only if the reported tip is unusually high. */
export const marketOf = async (
  context: { readonly rpc: Rpc; readonly row: EvmNetworkRow },
  history: FeeHistory,
): Promise<FeeMarket> => {
  const { maxFeePerGasCapWei: ceiling, minPriorityFeeWei } = context.row
  const asked = lower(await believedTip(context, history), ceiling / CEILING_PER_TIP)
  return { nextBaseFee: history.baseFees.at(-1) ?? 0n, tip: higher(asked, minPriorityFeeWei), ceiling }
}

/** Refuses if even the ceiling is below the market's fee. A caller who fixes `maxFeePerGas` decides this alone. */
export const assertBelowCeiling = (intent: Intent, market: FeeMarket, row: EvmNetworkRow): void => {
  const needed = market.nextBaseFee + row.minPriorityFeeWei
  if (intent.maxFeePerGas !== undefined || needed <= market.ceiling) return
  throw new AppError(
    'fee_ceiling_reached',
    `${row.network} asks for ${gweiOf(needed)} gwei per gas now, and this service offers at most ${gweiOf(market.ceiling)}: try again when fees are lower, or fix "maxFeePerGas".`,
  )
}
