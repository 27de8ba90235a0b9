// Transfer events of a range of blocks, and the proof that none is missing.

import { keccak256 } from 'viem'
import { type Hex, RangeTooWide } from '../chain.ts'
import { NodeUnavailable, type Question, question, type Rpc } from '../node/rpc.ts'
import { listOf, toQuantity } from '../node/wire.ts'
import type { BlockHeader } from './blocks.ts'
import { TRANSFER_TOPICS } from './logs.ts'
import { isBlockMissing, isMethodMissing, isRangeTooWide } from './node-errors.ts'
import { blockReceiptsQuestion, type MinedLog, parseMinedLog } from './receipts.ts'
import type { RawLog } from './simulate.ts'

type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** As eth_getLogs takes them: a topic, one of some, or null for any. */
export type TopicFilter = readonly (Hex | readonly Hex[] | null)[]

const ANY_TRANSFER: TopicFilter = [TRANSFER_TOPICS]

const logsQuestion = (where: Record<string, Hex>, topics: TopicFilter): Question<readonly MinedLog[]> =>
  question('eth_getLogs', [{ ...where, topics }], listOf(parseMinedLog))

/** Whether an event is of a kind that is asked for. Pure. */
export const isTransfer = ({ topics: [topic] }: RawLog): boolean => TRANSFER_TOPICS.some((each) => each === topic)

/** A single block cannot be asked for in halves; its receipts have no limit of results. */
const readOneBlock = async (rpc: Rpc, number: bigint, cause: unknown): Promise<readonly MinedLog[]> => {
  const answer = await rpc.try(blockReceiptsQuestion(number), { size: 'bulk' })
  if (!answer.ok && isMethodMissing(answer.error)) throw new RangeTooWide(cause)
  return (rpc.need(answer) ?? []).flatMap(({ logs }) => logs.filter(isTransfer))
}

/**
 * All transfer events of the range, or those that a filter lets through (where one block is already too much, all of it);
 * null where the node does not have all of it yet.
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
    const isTooMuch = error instanceof NodeUnavailable && ['too_large', 'timeout'].includes(error.trouble)
    if (isTooMuch && !isOne) throw new RangeTooWide(error)
    throw error
  }
}

/** Yellow Paper §4.4.3: three bits of 2048 for each item, from the first three pairs of bytes of its digest. */
const bloomBits = (item: Hex): readonly number[] => {
  const digest = keccak256(item, 'bytes')
  return [0, 2, 4].map((at) => (((digest[at] ?? 0) << 8) | (digest[at + 1] ?? 0)) & 2047)
}

const TOPIC_BITS = TRANSFER_TOPICS.map(bloomBits)

/** Bit 0 is the last of the 512 hex digits' lowest. */
const hasBit = (bloom: Hex, bit: number): boolean =>
  (Number.parseInt(bloom.charAt(bloom.length - 1 - (bit >> 2)), 16) & (1 << (bit & 3))) !== 0

/** Whether a block's bloom filter allows for transfer events: never wrongly no. Pure. */
export const mayHaveTransfers = ({ bloom }: BlockHeader): boolean =>
  bloom?.length === 514 && TOPIC_BITS.some((bits) => bits.every((bit) => hasBit(bloom, bit)))

/**
 * eth_getLogs over a range leaves out, without a word, what a node does not have yet; another node behind the same address
 * may already have told us its header. So a block whose bloom speaks of transfers, but that came without any, is asked for
 * by its hash, which a node without the block must refuse.
 * @returns the events of such blocks, or null where a node does not have one yet
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
