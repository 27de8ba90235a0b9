// Nodes forget: bodies and receipts from before a block (EIP-4444), receipts but for the newest, all but what a plan pays
// for. Some say so, some answer null for the block, and some leave the events out without a word. What is gone is always the
// oldest, so that one block speaks for all above it; of events, the next one whose bloom filter speaks of transfers.

import type { History } from '../chain.ts'
import { type Answer, type Question, question, type Rpc } from '../node/rpc.ts'
import { list, listOf, quantity, toQuantity } from '../node/wire.ts'
import { type BlockHeader, headerQuestion, readHeaders } from './blocks.ts'
import { TRANSFER_TOPICS } from './logs.ts'
import { isTransfer, mayHaveTransfers } from './mined-logs.ts'
import { isBlockMissing, isHistoryPruned } from './node-errors.ts'
import { parseMinedLog } from './receipts.ts'

/** So many blocks above one without transfers are looked at for some: only on a network that nobody uses there are more. */
const WITHOUT_MAX = 32

const isRefusedAsPruned = (answer: Answer<unknown>): boolean => !answer.ok && isHistoryPruned(answer.error)

/** Filtered as a walk filters: an index of events may reach less far than the blocks and their receipts. */
const indexedQuestion = (number: bigint): Question<readonly unknown[]> => {
  const here = toQuantity(number)
  return question('eth_getLogs', [{ fromBlock: here, toBlock: here, topics: [TRANSFER_TOPICS] }], list)
}

const readEvents = async (rpc: Rpc, { hash, number }: BlockHeader): Promise<History> => {
  const all = question('eth_getLogs', [{ blockHash: hash }], listOf(parseMinedLog))
  const [events, indexed] = await rpc.tryAll([all, indexedQuestion(number)], { size: 'bulk' })
  if (isRefusedAsPruned(events) || isRefusedAsPruned(indexed)) return 'pruned'
  // Too many to be shown at once are events, too.
  if (!events.ok) return isBlockMissing(events.error) ? 'not_there' : 'kept'
  // A bloom filter with a bit proves an event (Yellow Paper §4.4.3), if not which one.
  if (events.value.length === 0) return 'pruned'
  return indexed.ok && indexed.value.length === 0 && events.value.some(isTransfer) ? 'pruned' : 'kept'
}

/**
 * What the node has of a block. One that it does not have is gone where the node itself is so far above it that the block
 * must be final, else it has not come yet. @throws NodeUnavailable.
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
  const above = Array.from({ length: WITHOUT_MAX }, (_, index) => number + BigInt(index + 1))
  const next = (await readHeaders(rpc, above)).find((each) => each !== null && mayHaveTransfers(each))
  return next ? readEvents(rpc, next) : 'kept'
}
