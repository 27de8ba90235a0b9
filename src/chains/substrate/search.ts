// Finds the block of an extrinsic that this service did not send. Nodes have no index from a hash to its block, so this reads
// the newest final blocks, as many as an era has, and the blocks above them. An older extrinsic is not found.

import type { Hex } from '../chain.ts'
import { NodeUnavailable } from '../node/rpc.ts'
import { blockQuestion, hashOfExtrinsic, hashQuestion, readFinalHead } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { headerQuestion } from './storage.ts'

/** The number of bodies in one batch. A body may be a megabyte. */
const BLOCKS_AT_ONCE = 16

type Seen = { readonly blockHash: Hex; readonly parentHash: Hex; readonly extrinsics: ReadonlySet<Hex> }

/** The final block that contains an extrinsic, or 'not_final' if its block is not final yet. */
export type Found = { readonly blockHash: Hex } | 'not_final'

/**
 * Creates a search. The search resolves to null if the extrinsic is in none of the newest blocks.
 * @throws NodeUnavailable, also if the extrinsic is not found and the node lacks some of the blocks.
 */
export const createSearch = (
  node: Pick<SubstrateNode, 'rpc' | 'row' | 'eras'>,
): ((extrinsic: Hex) => Promise<Found | null>) => {
  const { rpc, row } = node
  /** Final blocks that were read, by number. */
  const seen = new Map<number, Seen>()

  const read = async (numbers: readonly number[], into: Map<number, Seen>): Promise<void> => {
    const hashes = await rpc.askAll(numbers.map((number) => hashQuestion(BigInt(number))))
    const there = numbers.flatMap((number, index) => {
      const blockHash = hashes[index] ?? null
      return blockHash === null ? [] : [{ number, blockHash }]
    })
    const blocks = await rpc.askAll(
      there.map(({ blockHash }) => blockQuestion(blockHash)),
      { batchLimit: BLOCKS_AT_ONCE },
    )
    for (const [index, { number, blockHash }] of there.entries()) {
      const { parentHash, extrinsics } = blocks[index] ?? {}
      if (parentHash === undefined || extrinsics === undefined) continue
      into.set(number, { blockHash, parentHash, extrinsics: new Set(extrinsics.map(hashOfExtrinsic)) })
    }
  }

  /** The blocks that form one chain below the newest final block. Drops the others: they are not final. */
  const linked = (numbers: readonly number[], newest: Hex): readonly Seen[] => {
    let next = newest
    const gone = numbers.findIndex((number) => {
      const block = seen.get(number)
      if (block?.blockHash !== next) return true
      next = block.parentHash
      return false
    })
    for (const number of gone === -1 ? [] : numbers.slice(gone)) seen.delete(number)
    return numbers.flatMap((number) => seen.get(number) ?? [])
  }

  /** Whether a block above the final one contains the extrinsic. Such blocks may still be replaced, so they are not cached. */
  const isAbove = async (extrinsic: Hex, { final, era }: { final: number; era: number }): Promise<boolean> => {
    const newest = Number((await rpc.ask(headerQuestion()))?.number ?? 0n)
    const count = Math.min(Math.max(newest - final, 0), era)
    const above = new Map<number, Seen>()
    await read(
      Array.from({ length: count }, (_, index) => newest - index),
      above,
    )
    return [...above.values()].some(({ extrinsics }) => extrinsics.has(extrinsic))
  }

  const find = async (extrinsic: Hex): Promise<Found | null> => {
    const { ref } = await readFinalHead(node)
    const newest = Number(ref.number)
    const era = await node.eras.blocks(ref)
    const oldest = Math.max(newest - era + 1, 0)
    for (const number of seen.keys()) if (number < oldest || number > newest) seen.delete(number)
    const numbers = Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index)
    await read(
      numbers.filter((number) => !seen.has(number)),
      seen,
    )
    const blocks = linked(numbers, ref.hash)
    const found = blocks.find(({ extrinsics }) => extrinsics.has(extrinsic))
    if (found !== undefined) return { blockHash: found.blockHash }
    // Begin at the same final block, so that blocks that became final meanwhile are included.
    if (await isAbove(extrinsic, { final: newest, era })) return 'not_final'
    if (blocks.length < numbers.length) {
      const sentence = `The ${row.network} node lacks some of its newest ${numbers.length} blocks, where the transaction may be.`
      throw new NodeUnavailable('refused', sentence)
    }
    return null
  }

  /** Searches run one after the other, so that each uses the blocks that the earlier ones read. */
  let turn: Promise<unknown> = Promise.resolve()
  return (extrinsic) => {
    const found = turn.then(() => find(extrinsic))
    turn = found.catch(() => {})
    return found
  }
}
