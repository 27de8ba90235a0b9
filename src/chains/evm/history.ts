// Finds out whether a node still has a block and its events. Nodes prune old data: bodies and receipts before some block
// (EIP-4444), all but the newest receipts, or what a plan does not include. Some say so, some answer null for the block, and
// some silently leave out events. The oldest data is pruned first, so one block tells about all later ones. For events, the
// next block whose bloom filter has transfers is checked.

import type { History } from '../chain.ts'
import { type Answer, type Question, question, type Rpc } from '../node/rpc.ts'
import { list, listOf, quantity, toQuantity } from '../node/wire.ts'
import { type BlockHeader, headerQuestion, readHeaders } from './blocks.ts'
import { TRANSFER_TOPICS } from './logs.ts'
import { isTransfer, mayHaveTransfers } from './mined-logs.ts'
import { isBlockMissing, isHistoryPruned } from './node-errors.ts'
import { parseMinedLog } from './receipts.ts'

/** How many later blocks are searched for transfers; only unused networks have longer gaps. */
const WITHOUT_MAX = 32

const isRefusedAsPruned = (answer: Answer<unknown>): boolean => !answer.ok && isHistoryPruned(answer.error)

/** Uses the same kind of filter as a backfill, because a node's event index may reach less far back than its receipts. */
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
 * Whether the node has a block and its events. A missing block is `pruned` if the node's head is at least `finalDepth` blocks
 * above it, otherwise `not_there`.
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
