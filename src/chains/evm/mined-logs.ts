// Reads the transfer events of a range of blocks, and checks that none is missing.

import { keccak256 } from 'viem'
import { type Hex, RangeTooWide } from '../chain.ts'
import { NodeUnavailable, type Question, question, type Rpc } from '../node/rpc.ts'
import { listOf, toQuantity } from '../node/wire.ts'
import type { BlockHeader } from './blocks.ts'
import { TRANSFER_TOPICS } from './logs.ts'
import { isBlockMissing, isMethodMissing, isRangeTooWide } from './node-errors.ts'
import { blockReceiptsQuestion, type MinedLog, parseMinedLog } from './receipts.ts'
import type { RawLog } from './simulate.ts'

export type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** As for eth_getLogs: at each position a topic, a list of alternatives, or null for any topic. */
export type TopicFilter = readonly (Hex | readonly Hex[] | null)[]

const ANY_TRANSFER: TopicFilter = [TRANSFER_TOPICS]

const logsQuestion = (where: Record<string, Hex>, topics: TopicFilter): Question<readonly MinedLog[]> =>
  question('eth_getLogs', [{ ...where, topics }], listOf(parseMinedLog))

/** Whether an event is a transfer by its first topic. Pure. */
export const isTransfer = ({ topics: [topic] }: RawLog): boolean => TRANSFER_TOPICS.some((each) => each === topic)

/** Reads the events from a block's receipts, for a block with more events than eth_getLogs returns. */
const readOneBlock = async (rpc: Rpc, number: bigint, cause: unknown): Promise<readonly MinedLog[]> => {
  const answer = await rpc.try(blockReceiptsQuestion(number), { size: 'bulk' })
  if (!answer.ok && isMethodMissing(answer.error)) throw new RangeTooWide(cause)
  return (rpc.need(answer) ?? []).flatMap(({ logs }) => logs.filter(isTransfer))
}

/** Whether the answer was too large for the node, or took it too long. */
export const isTooMuch = (error: unknown): boolean =>
  error instanceof NodeUnavailable && ['too_large', 'timeout'].includes(error.trouble)

/**
 * The transfer events of the range that match the filter (all transfers of a single block with too many events); null if the
 * node does not have the whole range yet.
 */
export const readLogs = async (
  rpc: Rpc,
  { fromBlock, toBlock }: Range,
  topics = ANY_TRANSFER,
): Promise<readonly MinedLog[] | null> => {
  const isOne = fromBlock === toBlock
  const where = { fromBlock: toQuantity(fromBlock), toBlock: toQuantity(toBlock) }
  try {
    const answer = await rpc.try(logsQuestion(where, topics), { size: 'bulk' })
    if (answer.ok) return answer.value
    if (isBlockMissing(answer.error)) return null
    if (!isRangeTooWide(answer.error)) throw rpc.refusal(answer.error)
    if (!isOne) throw new RangeTooWide(answer.error)
    return await readOneBlock(rpc, fromBlock, answer.error)
  } catch (error) {
    if (isTooMuch(error) && !isOne) throw new RangeTooWide(error)
    throw error
  }
}

/** Yellow Paper §4.4.3: each item sets three of 2048 bits, given by the first three pairs of bytes of its digest. */
const bloomBits = (item: Hex): readonly number[] => {
  const digest = keccak256(item, 'bytes')
  return [0, 2, 4].map((at) => (((digest[at] ?? 0) << 8) | (digest[at + 1] ?? 0)) & 2047)
}

const TOPIC_BITS = TRANSFER_TOPICS.map(bloomBits)

/** Bit 0 is the lowest bit of the last hex digit. */
const hasBit = (bloom: Hex, bit: number): boolean =>
  (Number.parseInt(bloom.charAt(bloom.length - 1 - (bit >> 2)), 16) & (1 << (bit & 3))) !== 0

/** Whether a block may have transfer events by its bloom filter. False is certain, unless the header has no filter. Pure. */
export const mayHaveTransfers = ({ bloom }: BlockHeader): boolean =>
  bloom?.length === 514 && TOPIC_BITS.some((bits) => bits.every((bit) => hasBit(bloom, bit)))

/**
 * For a range, eth_getLogs silently leaves out blocks that the node does not have yet, although another node behind the same
 * URL may have sent their headers. So if a block's bloom filter allows transfers but none was returned, its events are asked
 * for by its hash: a node without the block must refuse that.
 * @returns the events of such blocks; null if the node does not have one of them yet
 */
export const readMissingLogs = async (
  rpc: Rpc,
  headers: readonly BlockHeader[],
  found: ReadonlySet<Hex>,
): Promise<readonly MinedLog[] | null> => {
  const doubtful = headers.filter((header) => !found.has(header.hash) && mayHaveTransfers(header))
  const answers = await rpc.tryAll(
    doubtful.map((header) => logsQuestion({ blockHash: header.hash }, ANY_TRANSFER)),
    { size: 'bulk' },
  )
  const logs: MinedLog[] = []
  for (const answer of answers) {
    if (!answer.ok) return null
    logs.push(...answer.value)
  }
  return logs
}
