// Reads transfers from events. Slicing fixed words is twenty times as fast as decoding by an ABI. An event that does
// not have the form of its standard is not a transfer, because contracts can emit anything.
//   Transfer(address,address,uint256): 4 topics for ERC-721; 3 topics and one word for ERC-20; 1 topic and three words if
//   nothing is indexed (early ERC-20 and ERC-721). The last two do not show the standard: see `asStandard` in movements.ts.
//   TransferSingle(address,address,address,uint256,uint256), TransferBatch(…,uint256[],uint256[]): ERC-1155.

import type { Hex, Movement } from '../chain.ts'
import { checksum } from './address.ts'
import type { RawLog } from './simulate.ts'

/** keccak256 of the events' signatures (EIP-20, EIP-721, EIP-1155). */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
export const TRANSFER_SINGLE_TOPIC = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
export const TRANSFER_BATCH_TOPIC = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
export const TRANSFER_TOPICS = [TRANSFER_TOPIC, TRANSFER_SINGLE_TOPIC, TRANSFER_BATCH_TOPIC] as const

/** The address of the logs for movements of the native coin in eth_simulateV1 (execution-apis, traceTransfers). */
const NATIVE_LOG_ADDRESS = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** A movement without checksums in its addresses, which take time and are often not needed. */
export type Transfer = {
  readonly standard: Movement['standard']
  readonly contract: Hex | null
  readonly tokenId: bigint | null
  readonly from: Hex
  readonly to: Hex
  readonly amount: bigint
}

const WORD_DIGITS = 64
const ADDRESS_PADDING = '0'.repeat(24)

/** Whether a log is for a movement of the native coin; no contract emits such a log. Pure. */
export const isCoinLog = ({ address, topics }: RawLog): boolean =>
  address === NATIVE_LOG_ADDRESS && topics[0] === TRANSFER_TOPIC

/** A log as one for a movement of the native coin. Pure. */
export const asCoinLog = <Log extends RawLog>(log: Log): Log => ({ ...log, address: NATIVE_LOG_ADDRESS })

/** The log that eth_simulateV1 makes for a movement of the native coin. Pure. */
export const coinLog = (move: { readonly from: Hex; readonly to: Hex; readonly amount: bigint }): RawLog => {
  const wordOf = (address: Hex): Hex => `0x${ADDRESS_PADDING}${address.slice(2)}`
  return {
    address: NATIVE_LOG_ADDRESS,
    topics: [TRANSFER_TOPIC, wordOf(move.from), wordOf(move.to)],
    data: `0x${move.amount.toString(16).padStart(WORD_DIGITS, '0')}`,
  }
}

/** The address in a word of 64 digits; null if its upper bytes are not zero. */
export const addressIn = (word: string | undefined): Hex | null =>
  word?.length === WORD_DIGITS && word.startsWith(ADDRESS_PADDING) ? `0x${word.slice(24)}` : null

const splitWords = (data: Hex): readonly string[] => {
  const words: string[] = []
  for (let at = 2; at + WORD_DIGITS <= data.length; at += WORD_DIGITS) words.push(data.slice(at, at + WORD_DIGITS))
  return words
}

const numberIn = (word: string): bigint => BigInt(`0x${word}`)

const parseTransfer = (log: RawLog): Transfer | null => {
  const topicCount = log.topics.length
  const wordCount = (log.data.length - 2) / WORD_DIGITS
  if (topicCount + wordCount !== 4 || topicCount === 2) return null
  const topics = log.topics.slice(1).map((topic) => topic.slice(2))
  const [from, to, last] = wordCount === 0 ? topics : [...topics, ...splitWords(log.data)]
  const source = addressIn(from)
  const target = addressIn(to)
  if (source === null || target === null || last === undefined) return null
  const number = numberIn(last)
  if (topicCount === 4) {
    return { standard: 'erc721', contract: log.address, tokenId: number, from: source, to: target, amount: 1n }
  }
  const isNative = log.address === NATIVE_LOG_ADDRESS
  return {
    standard: isNative ? 'native' : 'erc20',
    contract: isNative ? null : log.address,
    tokenId: null,
    from: source,
    to: target,
    amount: number,
  }
}

/** The items of an ABI-encoded uint256[] whose offset is in the word at `slot`; null if they exceed the data. */
const listAt = (words: readonly string[], slot: number): readonly string[] | null => {
  const offset = numberIn(words[slot] ?? '')
  const start = Number(offset / 32n)
  if (offset % 32n !== 0n || start >= words.length) return null
  const length = numberIn(words[start] ?? '')
  if (length > BigInt(words.length - start - 1)) return null
  return words.slice(start + 1, start + 1 + Number(length))
}

const parseItems = (log: RawLog): readonly (readonly [string, string])[] => {
  const words = splitWords(log.data)
  const [first, second] = words
  if (first === undefined || second === undefined) return []
  if (log.topics[0] === TRANSFER_SINGLE_TOPIC) return words.length === 2 ? [[first, second]] : []
  const ids = listAt(words, 0)
  const amounts = listAt(words, 1)
  if (ids === null || amounts === null || ids.length !== amounts.length) return []
  return ids.map((id, index) => [id, amounts[index] ?? ''])
}

const parseMultiTransfers = (log: RawLog): readonly Transfer[] => {
  const from = addressIn(log.topics[2]?.slice(2))
  const to = addressIn(log.topics[3]?.slice(2))
  if (log.topics.length !== 4 || from === null || to === null) return []
  return parseItems(log).map(([id, amount]) => ({
    standard: 'erc1155',
    contract: log.address,
    tokenId: numberIn(id),
    from,
    to,
    amount: numberIn(amount),
  }))
}

/** The transfers in one event, in order; empty for other events. Pure. */
export const parseTransfers = (log: RawLog): readonly Transfer[] => {
  const [topic] = log.topics
  if (topic === TRANSFER_TOPIC) {
    const transfer = parseTransfer(log)
    return transfer === null ? [] : [transfer]
  }
  return topic === TRANSFER_SINGLE_TOPIC || topic === TRANSFER_BATCH_TOPIC ? parseMultiTransfers(log) : []
}

export const checksumMovement = (transfer: Transfer): Movement => ({
  ...transfer,
  contract: transfer.contract === null ? null : checksum(transfer.contract),
  from: checksum(transfer.from),
  to: checksum(transfer.to),
})
