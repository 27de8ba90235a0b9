// Reads all movements of assets in a range of blocks, for the indexer: headers and transfer events in parallel, then
// the movements of the native coin in blocks with transactions. If the answers do not fit together (after a
// reorganisation, or from nodes that are at different blocks), the result is null, and the range must be read again.
//
// The position of a movement in its transaction, unique and the same at each reading:
//   an event       logIndex = its index in the block, itemIndex = its place in an ERC-1155 batch
//   its own value  logIndex = -1
//   internal value logIndex = -2, -3, … in the order of execution, counted over the movements of the coin
//
// Who sent a transaction is in the same answers as its coins. Only a search by events has to ask for it.

import { type BlockMovements, type BlockRef, type Hex, RangeTooWide, type RecordedMovement } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { hash, nullable, rawAddress, record, toQuantity } from '../node/wire.ts'
import { checksum, ZERO_ADDRESS } from './address.ts'
import { type BlockHeader, numbersFrom, readHeaders } from './blocks.ts'
import { type CoinContract, countedLogs, withoutPassed } from './coin-contract.ts'
import {
  checksumMovement,
  parseTransfers,
  TRANSFER_BATCH_TOPIC,
  TRANSFER_SINGLE_TOPIC,
  TRANSFER_TOPIC,
} from './logs.ts'
import { isTooMuch, type Range, readLogs, readMissingLogs, type TopicFilter } from './mined-logs.ts'
import { type BlockCoins, type NativesContext, readNatives } from './natives.ts'
import { isMethodMissing } from './node-errors.ts'
import type { MinedLog } from './receipts.ts'
import type { CoinMove, Senders } from './traces.ts'

// Reads who sent transactions, by their places: go-ethereum forgets the index by hash after a year, and the blocks
// later.

type Place = Pick<MinedLog, 'blockHash' | 'transactionHash' | 'transactionIndex'>
type Sender = readonly [transactionHash: Hex, sender: Hex]

const parseSender = (value: unknown): Sender => {
  const sent = record(value)
  return [hash(sent.hash), rawAddress(sent.from)]
}

const senderQuestion = ({ blockHash, transactionIndex }: Place): Question<Sender | null> =>
  question('eth_getTransactionByBlockHashAndIndex', [blockHash, toQuantity(transactionIndex)], nullable(parseSender))

/** The senders of the transactions at these places. A sender that the node does not report is missing. */
const readSenders = async (rpc: Rpc, places: readonly Place[]): Promise<Senders> => {
  const distinct = new Map(places.map((place) => [place.transactionHash, place]))
  const answers = await rpc.tryAll([...distinct.values()].map(senderQuestion), { size: 'bulk' })
  const reported = answers.map((answer) => (!answer.ok && isMethodMissing(answer.error) ? null : rpc.need(answer)))
  return new Map(reported.filter((sender) => sender !== null))
}

const OWN_VALUE_INDEX = -1

/** null if a block is missing, or is not the child of the block before it. */
const readLinkedHeaders = async (rpc: Rpc, { fromBlock, toBlock }: Range): Promise<readonly BlockHeader[] | null> => {
  const numbers = numbersFrom(fromBlock, Number(toBlock - fromBlock) + 1)
  const headers = (await readHeaders(rpc, numbers)).flatMap((header) => header ?? [])
  const areLinked = headers.every((header, index) => index === 0 || header.parentHash === headers[index - 1]?.hash)
  return headers.length === numbers.length && areLinked ? headers : null
}

type Sent = Pick<RecordedMovement, 'transactionHash' | 'initiatedBy'>

const nativeMovements = (sent: Sent, moves: readonly CoinMove[]): readonly RecordedMovement[] => {
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
      ...sent,
      logIndex: isOwn ? OWN_VALUE_INDEX : inner,
      itemIndex: 0,
    }
  })
}

const eventMovements = (sent: Sent, log: MinedLog): readonly RecordedMovement[] =>
  parseTransfers(log).map((transfer, itemIndex) => ({
    ...checksumMovement(transfer),
    ...sent,
    logIndex: log.logIndex,
    itemIndex,
  }))

/** Transactions that a network adds by itself have the zero address as their sender (bor's state syncs). */
const parseInitiator = (sender: Hex | undefined): string | null =>
  sender === undefined || sender === ZERO_ADDRESS ? null : checksum(sender)

/** In the order of the transactions; in each transaction the coin comes before the events. */
const blockMovements = (
  { number, hash, parentHash, timestampMs, transactionHashes }: BlockHeader,
  found: {
    readonly logs: readonly MinedLog[]
    readonly coins?: BlockCoins | undefined
    readonly senders?: Senders | undefined
    readonly coinContract: CoinContract
  },
): BlockMovements => {
  const ref: BlockRef = { number, hash, parentHash, timestampMs }
  if (transactionHashes.length === 0) return { ...ref, movements: [], isTraced: true }
  const { coins, senders = coins?.senders, coinContract } = found
  const isTraced = coins?.isTraced ?? false
  const logs = countedLogs(coinContract, { logs: found.logs, isTraced })
  const events = Map.groupBy(logs, ({ transactionHash }) => transactionHash)
  const movements = transactionHashes.flatMap((transactionHash) => {
    const [own, moves] = [events.get(transactionHash) ?? [], coins?.moves.get(transactionHash) ?? []]
    const counted = withoutPassed(coinContract, { moves, logs: own })
    if (counted.length === 0 && own.length === 0) return []
    const sent = { transactionHash, initiatedBy: parseInitiator(senders?.get(transactionHash)) }
    return [...nativeMovements(sent, counted), ...own.flatMap((log) => eventMovements(sent, log))]
  })
  return { ...ref, movements, isTraced }
}

type Context = NativesContext & { readonly coinContract: CoinContract }

const readRange = async (context: Context, range: Range): Promise<readonly BlockMovements[] | null> => {
  const { rpc, coinContract } = context
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
  // An event belongs to an unknown block: the chain changed between two answers.
  if ([...logs.keys()].some((hash) => !known.has(hash))) return null
  return headers.map((header) =>
    blockMovements(header, { logs: logs.get(header.hash) ?? [], coins: moves.get(header.hash), coinContract }),
  )
}

/** null if the node does not have all blocks yet, or the chain changed during the reading. */
export const readMovements = async (context: Context, range: Range): Promise<readonly BlockMovements[] | null> => {
  if (range.toBlock < range.fromBlock) throw new Error('expected a range that ends where it begins or later')
  try {
    return await readRange(context, range)
  } catch (error) {
    if (isTooMuch(error) && range.toBlock > range.fromBlock) throw new RangeTooWide(error)
    throw error
  }
}

/** The events index sender and recipient: EIP-20 and EIP-721 in topics 1 and 2, EIP-1155 in topics 2 and 3. */
const createFilters = (address: string): readonly TopicFilter[] => {
  const padded: Hex = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
  const multi = [TRANSFER_SINGLE_TOPIC, TRANSFER_BATCH_TOPIC] as const
  return [
    [TRANSFER_TOPIC, padded],
    [TRANSFER_TOPIC, null, padded],
    [multi, null, padded],
    [multi, null, null, padded],
  ]
}

/** See `Blocks.eventMovements`. The result may include movements of other addresses. */
export const readEventMovements = async (
  { rpc, coinContract }: Pick<Context, 'rpc' | 'coinContract'>,
  input: Range & { readonly address: string },
): Promise<readonly BlockMovements[] | null> => {
  const answers = await Promise.all(createFilters(input.address).map((topics) => readLogs(rpc, input, topics)))
  const logs = new Map<string, MinedLog>()
  for (const answer of answers) {
    if (answer === null) return null
    for (const log of answer) logs.set(`${log.blockHash}/${log.logIndex}`, log)
  }
  const ordered = [...logs.values()].sort((a, b) => a.logIndex - b.logIndex)
  const byBlock = Map.groupBy(ordered, ({ blockHash }) => blockHash)
  const numbers = [...new Set(ordered.map(({ blockNumber }) => blockNumber))].sort((a, b) => (a < b ? -1 : 1))
  const [read, senders] = await Promise.all([readHeaders(rpc, numbers), readSenders(rpc, ordered)])
  const headers = read.flatMap((header) => header ?? [])
  if (headers.length !== numbers.length || headers.some(({ hash }) => !byBlock.has(hash))) return null
  if (byBlock.size !== headers.length) return null
  return headers.map((header) =>
    blockMovements(header, { logs: byBlock.get(header.hash) ?? [], senders, coinContract }),
  )
}
