// Final blocks by their numbers, as the tracker asks for them: one after the other, in as few round trips as can be.
//
// A node says which block is at a height of its own best chain, final or not, and behind one URL may be several nodes. So a
// hash is believed to be final where
// - the node called the block final, or it is the parent of such a one: then nobody has to be asked for it; or
// - it was told in one batch with a final block that is as high, and once more after that was answered, as the questions
//   of a batch may be answered in any order.
// What was learnt so of the blocks above is used once, for the next questions.

import type { BlockRef, BlockWithHashes, Hex } from '../chain.ts'
import { blockOf, blockQuestions, type FinalHead, hashQuestion, readFinalHead } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { finalizedHashQuestion, type Header, headerQuestion } from './storage.ts'

/** Hashes that are asked for with the first of them. */
const AHEAD = 32
const KEPT_MAX = 2 * AHEAD

export type FinalBlocks = {
  /** The newest one: one round trip while it is the same. @throws NodeUnavailable. */
  head(): Promise<BlockRef>
  /** null where there is none yet, or the node does not have it. @throws NodeUnavailable. */
  block(number: bigint): Promise<BlockWithHashes | null>
}

/** Which of these hashes a node told twice, around naming a final block that is as high. */
const finalAmong = (
  told: readonly (Hex | null)[],
  { first, again, header }: { first: bigint; again: readonly (Hex | null)[]; header: Header | null },
): readonly { readonly number: bigint; readonly hash: Hex }[] =>
  told.flatMap((hash, index) => {
    const number = first + BigInt(index)
    const isFinal = header !== null && number <= header.number && hash !== null && hash === again[index]
    return isFinal ? [{ number, hash }] : []
  })

export const createFinalBlocks = (node: Pick<SubstrateNode, 'rpc'>): FinalBlocks => {
  const { rpc } = node
  /** Of blocks that nobody has asked for yet. */
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
    // A node that is behind, or a chain that was begun anew: what was heard before may not be of it.
    if (newest !== null && ref.number <= newest.ref.number) known.clear()
    newest = final
    keep(ref.number - 1n, ref.parentHash)
    keep(ref.number, ref.hash)
    return ref
  }

  const lookUp = async (number: bigint): Promise<BlockWithHashes | null> => {
    const hashes = Array.from({ length: AHEAD }, (_, index) => hashQuestion(number + BigInt(index)))
    const [final, ...told] = await rpc.askAll([finalizedHashQuestion, ...hashes])
    const [hash] = told
    if (hash === null || hash === undefined) return null
    const [header, block, timestamp, ...again] = await rpc.tryAll([
      headerQuestion(final),
      ...blockQuestions(hash),
      ...hashes,
    ])
    const found = finalAmong(told, { first: number, again: again.map(rpc.need), header: rpc.need(header) })
    for (const each of found.slice(1)) keep(each.number, each.hash)
    return found[0]?.number === number ? blockOf(node, hash, [block, timestamp]) : null
  }

  const block = async (number: bigint): Promise<BlockWithHashes | null> => {
    const hash = known.get(number)
    if (hash === undefined) return lookUp(number)
    known.delete(number)
    return blockOf(node, hash, await rpc.tryAll(blockQuestions(hash)))
  }

  return { head, block }
}
