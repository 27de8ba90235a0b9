// Blocks as followers need them: who they are, who their parent is, and which transactions are in them.

import type { BlockRef, BlockWithHashes, Hex } from '../chain.ts'
import { type Question, question, type Rpc } from './rpc.ts'
import { bytes, hash, listOf, nullable, quantity, record, smallQuantity, toQuantity } from './wire.ts'

const parseRef = (value: unknown): BlockRef => {
  const block = record(value)
  return {
    number: quantity(block.number),
    hash: hash(block.hash),
    parentHash: hash(block.parentHash),
    timestampMs: smallQuantity(block.timestamp) * 1_000,
  }
}

/** `bloom` is null where the node sends none: then it proves nothing. */
export type BlockHeader = BlockWithHashes & { readonly bloom: Hex | null }

const parseHeader = (value: unknown): BlockHeader => {
  const block = record(value)
  return {
    ...parseRef(value),
    transactionHashes: listOf(hash)(block.transactions),
    bloom: nullable(bytes)(block.logsBloom),
  }
}

/** One block by number, with the hashes of its transactions; null where the node does not have it. */
export const headerQuestion = (number: bigint): Question<BlockHeader | null> =>
  question('eth_getBlockByNumber', [toQuantity(number), false], nullable(parseHeader))

/** @throws NodeUnavailable. */
export const readBlock = async (rpc: Rpc, number: bigint): Promise<BlockWithHashes | null> => {
  const header = await rpc.ask(headerQuestion(number))
  if (header === null) return null
  const { bloom: _, ...block } = header
  return block
}

/** The newest block, and the newest final one where the node knows the tag. @throws NodeUnavailable. */
export const readHead = async (
  rpc: Rpc,
): Promise<{ readonly latest: BlockRef; readonly finalized: BlockRef | null }> => {
  const [latest, finalized] = await rpc.tryAll([
    question('eth_getBlockByNumber', ['latest', false], parseRef),
    question('eth_getBlockByNumber', ['finalized', false], nullable(parseRef)),
  ])
  return { latest: rpc.need(latest), finalized: finalized.ok ? finalized.value : null }
}
