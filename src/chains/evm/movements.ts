// Every movement of an asset in a range of blocks, for the indexer: headers and transfer events side by side, then the
// native coin's movements of the blocks that have transactions. Answers that are not of one and the same chain (a
// reorganisation between two of them, a node that lags behind another) give null: the range is to be read again.
//
// The place of a movement within its transaction, unique and the same at every reading:
//   an event       logIndex = its index in the block, itemIndex = its place in an ERC-1155 batch
//   its own value  logIndex = -1
//   internal value logIndex = -2, -3, … in the order of execution, counting what moved the coin

import { type BlockMovements, type BlockRef, type Hex, RangeTooWide, type RecordedMovement } from '../chain.ts'
import { NodeUnavailable, type Rpc } from '../node/rpc.ts'
import { checksum } from './address.ts'
import { type BlockHeader, readHeaders } from './blocks.ts'
import { movementOf, TRANSFER_BATCH_TOPIC, TRANSFER_SINGLE_TOPIC, TRANSFER_TOPIC, transfersOf } from './logs.ts'
import { readLogs, readMissingLogs, type TopicFilter } from './mined-logs.ts'
import { type BlockCoins, type NativesContext, readNatives } from './natives.ts'
import type { MinedLog } from './receipts.ts'
import type { CoinMove } from './traces.ts'

type Range = { readonly fromBlock: bigint; readonly toBlock: bigint }

const OWN_VALUE_INDEX = -1

/** null where a block is missing, or is not the child of the one before it. */
const readLinkedHeaders = async (rpc: Rpc, { fromBlock, toBlock }: Range): Promise<readonly BlockHeader[] | null> => {
  const numbers = Array.from({ length: Number(toBlock - fromBlock) + 1 }, (_, index) => fromBlock + BigInt(index))
  const headers = (await readHeaders(rpc, numbers)).flatMap((header) => header ?? [])
  const areLinked = headers.every((header, index) => index === 0 || header.parentHash === headers[index - 1]?.hash)
  return headers.length === numbers.length && areLinked ? headers : null
}

const nativeMovements = (transactionHash: Hex, moves: readonly CoinMove[]): readonly RecordedMovement[] => {
  let inner = OWN_VALUE_INDEX
  return moves.map(({ from, to, amount, isOwn }) => {
    if (!isOwn) inner -= 1
    return {
      standard: 'native',
      contract: null,
      tokenId: null,
      from: checksum(from),
      to: checksum(to),
      amount,
      transactionHash,
      logIndex: isOwn ? OWN_VALUE_INDEX : inner,
      itemIndex: 0,
    }
  })
}

const eventMovements = (log: MinedLog): readonly RecordedMovement[] =>
  transfersOf(log).map((transfer, itemIndex) => ({
    ...movementOf(transfer),
    transactionHash: log.transactionHash,
    logIndex: log.logIndex,
    itemIndex,
  }))

/** In the order of the block's transactions; within one, the coin before the events. */
const blockMovements = (
  { number, hash, parentHash, timestampMs, transactionHashes }: BlockHeader,
  logs: readonly MinedLog[],
  coins: BlockCoins | undefined,
): BlockMovements => {
  const ref: BlockRef = { number, hash, parentHash, timestampMs }
  if (transactionHashes.length === 0) return { ...ref, movements: [], isTraced: true }
  const events = Map.groupBy(logs, ({ transactionHash }) => transactionHash)
  const movements = transactionHashes.flatMap((transactionHash) => [
    ...nativeMovements(transactionHash, coins?.moves.get(transactionHash) ?? []),
    ...(events.get(transactionHash) ?? []).flatMap(eventMovements),
  ])
  return { ...ref, movements, isTraced: coins?.isTraced ?? false }
}

const readRange = async (context: NativesContext, range: Range): Promise<readonly BlockMovements[] | null> => {
  const { rpc } = context
  const linked = readLinkedHeaders(rpc, range)
  const [headers, moves, ranged] = await Promise.all([
    linked,
    linked.then((known) => (known === null ? null : readNatives(context, known))),
    readLogs(rpc, range),
  ])
  if (headers === null || moves === null || ranged === null) return null
  const missing = await readMissingLogs(rpc, headers, new Set(ranged.map(({ blockHash }) => blockHash)))
  if (missing === null) return null
  const logs = Map.groupBy([...ranged, ...missing], ({ blockHash }) => blockHash)
  const known = new Set(headers.map(({ hash }) => hash))
  // An event of a block that we were not told of: the chain changed between two answers.
  if ([...logs.keys()].some((hash) => !known.has(hash))) return null
  return headers.map((header) => blockMovements(header, logs.get(header.hash) ?? [], moves.get(header.hash)))
}

/** null where the node does not have all blocks (yet), or changed its mind meanwhile. */
export const readMovements = async (
  context: NativesContext,
  range: Range,
): Promise<readonly BlockMovements[] | null> => {
  if (range.toBlock < range.fromBlock) throw new Error('expected a range that ends where it begins or later')
  try {
    return await readRange(context, range)
  } catch (error) {
    const isTooMuch = error instanceof NodeUnavailable && ['too_large', 'timeout'].includes(error.trouble)
    if (isTooMuch && range.toBlock > range.fromBlock) throw new RangeTooWide(error)
    throw error
  }
}

/** Where the events index whom they concern (EIP-20, EIP-721: topics 1 and 2; EIP-1155: 2 and 3). */
const filtersOf = (address: string): readonly TopicFilter[] => {
  const whom: Hex = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
  const multi = [TRANSFER_SINGLE_TOPIC, TRANSFER_BATCH_TOPIC] as const
  return [
    [TRANSFER_TOPIC, whom],
    [TRANSFER_TOPIC, null, whom],
    [multi, null, whom],
    [multi, null, null, whom],
  ]
}

/** As `eventMovements` of chain.ts says; other addresses' movements may be among them. */
export const readEventMovements = async (
  rpc: Rpc,
  input: Range & { readonly address: string },
): Promise<readonly BlockMovements[] | null> => {
  const answers = await Promise.all(filtersOf(input.address).map((topics) => readLogs(rpc, input, topics)))
  const logs = new Map<string, MinedLog>()
  for (const answer of answers) {
    if (answer === null) return null
    for (const log of answer) logs.set(`${log.blockHash}/${log.logIndex}`, log)
  }
  const ordered = [...logs.values()].sort((a, b) => a.logIndex - b.logIndex)
  const byBlock = Map.groupBy(ordered, ({ blockHash }) => blockHash)
  const numbers = [...new Set(ordered.map(({ blockNumber }) => blockNumber))].sort((a, b) => (a < b ? -1 : 1))
  const headers = (await readHeaders(rpc, numbers)).flatMap((header) => header ?? [])
  if (headers.length !== numbers.length || headers.some(({ hash }) => !byBlock.has(hash))) return null
  if (byBlock.size !== headers.length) return null
  return headers.map((header) => blockMovements(header, byBlock.get(header.hash) ?? [], undefined))
}
