// Reads final blocks by number for the tracker, in their order, in as few round trips as possible.
//
// A node answers a height with a block of its best chain, which may not be final, and several nodes may be behind one URL.
// So a hash counts as final only if
// - the node named the block as final, or it is the parent of such a block; or
// - the node gave the hash in the same batch as a final block of at least this height, and gave it again after that answer
//   (the questions of a batch may be answered in any order).
// Final hashes of the next blocks are kept, and each is used once.

import { type Blocks, chained } from '../blocks.ts'
import type { BlockRef, BlockWithHashes, Hex } from '../chain.ts'
import { blockOf, blockQuestions, type FinalHead, hashQuestion, readFinalHead } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { finalizedHashQuestion, type Header, headerQuestion } from './storage.ts'

/** How many hashes are asked for at once. */
const AHEAD = 32
const KEPT_MAX = 2 * AHEAD

export type FinalBlocks = {
  /** The newest final block; one round trip while it is unchanged. */
  head(): Promise<BlockRef>
  /** null if the block is not final yet, or the node does not have it. */
  block(number: bigint): Promise<BlockWithHashes | null>
  blocksFrom: Blocks['blocksFrom']
}

/** The hashes that the node gave before and after it named a final block of at least their height. */
const finalAmong = (
  hashes: readonly (Hex | null)[],
  { from, again, header }: { from: bigint; again: readonly (Hex | null)[]; header: Header | null },
): readonly { readonly number: bigint; readonly hash: Hex }[] =>
  hashes.flatMap((hash, index) => {
    const number = from + BigInt(index)
    const isFinal = header !== null && number <= header.number && hash !== null && hash === again[index]
    return isFinal ? [{ number, hash }] : []
  })

export const createFinalBlocks = (node: Pick<SubstrateNode, 'rpc'>): FinalBlocks => {
  const { rpc } = node
  /** Final hashes of blocks that were not asked for yet, by number. */
  const known = new Map<bigint, Hex>()
  let newest: FinalHead | null = null

  const keep = (number: bigint, hash: Hex): void => {
    known.delete(number)
    known.set(number, hash)
    for (const oldest of [...known.keys()].slice(0, -KEPT_MAX)) known.delete(oldest)
  }

  const head = async (): Promise<BlockRef> => {
    const final = await readFinalHead(node, newest)
    const { ref } = final
    if (ref.hash === newest?.ref.hash) return ref
    // The node is behind, or the chain was started anew: the known hashes may be of another chain.
    if (newest !== null && ref.number <= newest.ref.number) known.clear()
    newest = final
    keep(ref.number - 1n, ref.parentHash)
    keep(ref.number, ref.hash)
    return ref
  }

  const lookUp = async (number: bigint): Promise<BlockWithHashes | null> => {
    const questions = Array.from({ length: AHEAD }, (_, index) => hashQuestion(number + BigInt(index)))
    const [final, ...first] = await rpc.askAll([finalizedHashQuestion, ...questions])
    const [hash] = first
    if (hash === null || hash === undefined) return null
    const [header, block, timestamp, ...again] = await rpc.tryAll([
      headerQuestion(final),
      ...blockQuestions(hash),
      ...questions,
    ])
    const found = finalAmong(first, { from: number, again: again.map(rpc.need), header: rpc.need(header) })
    for (const each of found.slice(1)) keep(each.number, each.hash)
    return found[0]?.number === number ? blockOf(node, hash, [block, timestamp]) : null
  }

  const block = async (number: bigint): Promise<BlockWithHashes | null> => {
    const hash = known.get(number)
    if (hash === undefined) return lookUp(number)
    known.delete(number)
    return blockOf(node, hash, await rpc.tryAll(blockQuestions(hash)))
  }

  const blocksFrom: Blocks['blocksFrom'] = async ({ number, limit }) => {
    const first = await block(number)
    if (first === null) return []
    // The hashes of the next ones are known by now.
    const numbers = Array.from({ length: limit - 1 }, (_, index) => number + 1n + BigInt(index))
    const missing = numbers.findIndex((each) => !known.has(each))
    const ready = missing === -1 ? numbers : numbers.slice(0, missing)
    return chained([first, ...(await Promise.all(ready.map(block)))])
  }

  return { head, block, blocksFrom }
}
