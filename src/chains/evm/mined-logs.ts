// Reads the transfer events of a range of blocks, and checks that none is missing.

import { keccak256 } from 'viem/utils'
import { type Hex, type History, RangeTooWide } from '../chain.ts'
import { type Answer, NodeUnavailable, type Question, question, type Rpc } from '../node/rpc.ts'
import { list, listOf, quantity, toQuantity } from '../node/wire.ts'
import { type BlockHeader, headerQuestion, numbersFrom, readHeaders } from './blocks.ts'
import { TRANSFER_TOPICS } from './logs.ts'
import { isBlockMissing, isHistoryPruned, isMethodMissing, isRangeTooWide } from './node-errors.ts'
import { blockReceiptsQuestion, type MinedLog, parseMinedLog } from './receipts.ts'
import type { RawLog } from './simulate.ts'

export type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

/** As for eth_getLogs: at each position a topic, a list of alternatives, or null for any topic. */
export type TopicFilter = readonly (Hex | readonly Hex[] | null)[]

const ANY_TRANSFER: TopicFilter = [TRANSFER_TOPICS]

const logsQuestion = (where: Record<string, Hex>, topics: TopicFilter): Question<readonly MinedLog[]> =>
  question('eth_getLogs', [{ ...where, topics }], listOf(parseMinedLog))

const isTransfer = ({ topics: [topic] }: RawLog): boolean => TRANSFER_TOPICS.some((each) => each === topic)

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
 * The transfer events of the range that match the filter (all transfers of a single block with too many events); null
 * if the node does not have the whole range yet.
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

/** Whether a block may have transfer events. False is certain, unless the header has no bloom filter. Pure. */
const mayHaveTransfers = ({ bloom }: BlockHeader): boolean =>
  bloom?.length === 514 && TOPIC_BITS.some((bits) => bits.every((bit) => hasBit(bloom, bit)))

/**
 * For a range, eth_getLogs silently leaves out blocks that the node does not have yet, although another node behind the
 * same URL may have sent their headers. So if a block's bloom filter allows transfers but none was returned, its events
 * are asked for by its hash: a node without the block must refuse that.
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

// Finds out whether a node still has a block and its events. Nodes prune old data: bodies and receipts before some
// block (EIP-4444), all but the newest receipts, or what a plan does not include. Some say so, some answer null for the
// block, and some silently leave out events. The oldest data is pruned first, so one block tells about all later ones.
// For events, the next block whose bloom filter has transfers is checked.

/** How many later blocks are searched for transfers; only unused networks have longer gaps. */
const WITHOUT_MAX = 32

const isRefusedAsPruned = (answer: Answer<unknown>): boolean => !answer.ok && isHistoryPruned(answer.error)

/** Filters as a backfill does, because a node's event index may reach less far back than its receipts. */
const indexedQuestion = (number: bigint): Question<readonly unknown[]> => {
  const here = toQuantity(number)
  return question('eth_getLogs', [{ fromBlock: here, toBlock: here, topics: [TRANSFER_TOPICS] }], list)
}

const readEvents = async (rpc: Rpc, { hash, number }: BlockHeader): Promise<History> => {
  const all = question('eth_getLogs', [{ blockHash: hash }], listOf(parseMinedLog))
  const [events, indexed] = await rpc.tryAll([all, indexedQuestion(number)], { size: 'bulk' })
  if (isRefusedAsPruned(events) || isRefusedAsPruned(indexed)) return 'pruned'
  // A refusal because there are too many events shows that the node has them.
  if (!events.ok) return isBlockMissing(events.error) ? 'not_there' : 'kept'
  // A bit in the bloom filter proves that there was an event, though not which one (Yellow Paper §4.4.3).
  if (events.value.length === 0) return 'pruned'
  return indexed.ok && indexed.value.length === 0 && events.value.some(isTransfer) ? 'pruned' : 'kept'
}

/**
 * Whether the node has a block and its events. A missing block is `pruned` if the node's head is at least `finalDepth`
 * blocks above it, otherwise `not_there`.
 */
export const readHistory = async (
  rpc: Rpc,
  input: { readonly number: bigint; readonly finalDepth: number },
): Promise<History> => {
  const { number, finalDepth } = input
  const [head, header, indexed] = await rpc.tryAll(
    [question('eth_blockNumber', [], quantity), headerQuestion(number), indexedQuestion(number)],
    { size: 'bulk' },
  )
  if (isRefusedAsPruned(header) || isRefusedAsPruned(indexed)) return 'pruned'
  const block = !header.ok && isBlockMissing(header.error) ? null : rpc.need(header)
  if (block === null) return rpc.need(head) >= number + BigInt(finalDepth) ? 'pruned' : 'not_there'
  if (mayHaveTransfers(block)) return readEvents(rpc, block)
  const next = (await readHeaders(rpc, numbersFrom(number + 1n, WITHOUT_MAX))).find(
    (each) => each !== null && mayHaveTransfers(each),
  )
  return next ? readEvents(rpc, next) : 'kept'
}
