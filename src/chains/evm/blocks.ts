// Reads block headers: hash, parent hash and transaction hashes.

import { type BlockWithSenders, chained, type SentTransaction } from '../blocks.ts'
import type { BlockRef, BlockWithHashes, Head, Hex, Intent } from '../chain.ts'
import { type Answer, type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes, hash, listOf, nullable, quantity, rawAddress, record, smallQuantity, toQuantity } from '../node/wire.ts'
import { checksum } from './address.ts'
import { isBlockMissing } from './node-errors.ts'

export const parseRef = (value: unknown): BlockRef => {
  const block = record(value)
  return {
    number: quantity(block.number),
    hash: hash(block.hash),
    parentHash: hash(block.parentHash),
    timestampMs: smallQuantity(block.timestamp) * 1_000,
  }
}

/** A chain before EIP-1559 has no base fee. */
const parseNewest = (value: unknown): Omit<Head, 'finalized'> => ({
  latest: parseRef(value),
  baseFeePerGas: nullable(quantity)(record(value).baseFeePerGas),
})

/** `bloom` is null if the node does not send one. */
export type BlockHeader = BlockWithHashes & { readonly bloom: Hex | null }

const parseHeader = (value: unknown): BlockHeader => {
  const block = record(value)
  return {
    ...parseRef(value),
    transactionHashes: listOf(hash)(block.transactions),
    bloom: nullable(bytes)(block.logsBloom),
  }
}

/** A block by its number; null if the node does not have it. */
export const headerQuestion = (number: bigint): Question<BlockHeader | null> =>
  question('eth_getBlockByNumber', [toQuantity(number), false], nullable(parseHeader))

/** Blocks by number; null for those that the node does not have. */
export const readHeaders = async (rpc: Rpc, numbers: readonly bigint[]): Promise<readonly (BlockHeader | null)[]> => {
  const answers: readonly Answer<BlockHeader | null>[] = await rpc.tryAll(numbers.map(headerQuestion), {
    size: 'bulk',
  })
  return answers.map((answer) => blockIn(rpc, answer))
}

/** For a missing block most nodes answer null, some refuse. */
const blockIn = <Block>(rpc: Rpc, answer: Answer<Block | null>): Block | null =>
  !answer.ok && isBlockMissing(answer.error) ? null : rpc.need(answer)

/** Successive block numbers. */
export const numbersFrom = (first: bigint, count: number): readonly bigint[] =>
  Array.from({ length: count }, (_, index) => first + BigInt(index))

const readBlocks = async (rpc: Rpc, numbers: readonly bigint[]): Promise<readonly (BlockWithHashes | null)[]> =>
  (await readHeaders(rpc, numbers)).map((header) => {
    if (header === null) return null
    const { bloom: _, ...block } = header
    return block
  })

export const readBlock = async (rpc: Rpc, number: bigint): Promise<BlockWithHashes | null> =>
  (await readBlocks(rpc, [number]))[0] ?? null

/** See `Blocks.blocksFrom`. */
export const readBlocksFrom = async (
  rpc: Rpc,
  { number, limit }: { readonly number: bigint; readonly limit: number },
): Promise<readonly BlockWithHashes[]> => chained(await readBlocks(rpc, numbersFrom(number, limit)))

/** See `Submission.callTextOf`. */
export const callTextOf = ({ to, value, input }: Pick<Intent, 'to' | 'value' | 'input'>): string =>
  [to ?? 'creation', value, input.toLowerCase()].join(' ')

const parseSent = (value: unknown): SentTransaction => {
  const sent = record(value)
  const to = nullable((address) => checksum(rawAddress(address)))(sent.to)
  const callText = callTextOf({ to, value: quantity(sent.value), input: bytes(sent.input) })
  return { hash: hash(sent.hash), from: checksum(rawAddress(sent.from)), to, callText }
}

const parseSenders = (value: unknown): BlockWithSenders & BlockRef => ({
  ...parseRef(value),
  transactions: listOf(parseSent)(record(value).transactions),
})

/** See `Blocks.sendersFrom`. */
export const readSendersFrom = async (
  rpc: Rpc,
  { number, limit }: { readonly number: bigint; readonly limit: number },
): Promise<readonly BlockWithSenders[]> => {
  const answers: readonly Answer<(BlockWithSenders & BlockRef) | null>[] = await rpc.tryAll(
    numbersFrom(number, limit).map((each) =>
      question('eth_getBlockByNumber', [toQuantity(each), true], nullable(parseSenders)),
    ),
    { size: 'bulk' },
  )
  const blocks = answers.map((answer) => blockIn(rpc, answer))
  const end = blocks.indexOf(null)
  return blocks.slice(0, end === -1 ? undefined : end).filter((block) => block !== null)
}

/** The newest block, and the newest final one if the node supports that tag. */
export const readHead = async (rpc: Rpc): Promise<Head> => {
  const [latest, finalized] = await rpc.tryAll([
    question('eth_getBlockByNumber', ['latest', false], parseNewest),
    question('eth_getBlockByNumber', ['finalized', false], nullable(parseRef)),
  ])
  return { ...rpc.need(latest), finalized: finalized.ok ? finalized.value : null }
}
