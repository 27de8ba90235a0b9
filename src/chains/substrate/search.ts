// Where an extrinsic is that nobody here sent: a node knows no hash by itself, so the newest final blocks are looked through, as
// many as an era has, and those above them, which it leaves the pool for. Whoever asks for one signed it not long ago.

import type { Hex } from '../chain.ts'
import { NodeUnavailable } from '../node/rpc.ts'
import { blockQuestion, hashOfExtrinsic, hashQuestion, readFinalHead } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { headerQuestion } from './storage.ts'

/** Bodies in one batch: some are a megabyte. */
const BLOCKS_AT_ONCE = 16

type Seen = { readonly blockHash: Hex; readonly parentHash: Hex; readonly extrinsics: ReadonlySet<Hex> }

/** The hash of the final block that an extrinsic is in, or that it is in one which is not final yet. */
export type Place = { readonly blockHash: Hex } | 'not_final'

/**
 * @returns null for an extrinsic that is in no block of an era.
 * @throws NodeUnavailable, also where the node lacks one of them and the others do not have it.
 */
export const createSearch = (
  node: Pick<SubstrateNode, 'rpc' | 'bulk' | 'row' | 'eras'>,
): ((extrinsic: Hex) => Promise<Place | null>) => {
  const { rpc, bulk, row } = node
  /** By number; final blocks stay as they are. */
  const seen = new Map<number, Seen>()

  const read = async (numbers: readonly number[], into: Map<number, Seen>): Promise<void> => {
    const hashes = await rpc.askAll(numbers.map((number) => hashQuestion(BigInt(number))))
    const there = numbers.flatMap((number, index) => {
      const blockHash = hashes[index] ?? null
      return blockHash === null ? [] : [{ number, blockHash }]
    })
    const blocks = await bulk.askAll(
      there.map(({ blockHash }) => blockQuestion(blockHash)),
      { batchLimit: BLOCKS_AT_ONCE },
    )
    for (const [index, { number, blockHash }] of there.entries()) {
      const { parentHash, extrinsics } = blocks[index] ?? {}
      if (parentHash === undefined || extrinsics === undefined) continue
      into.set(number, { blockHash, parentHash, extrinsics: new Set(extrinsics.map(hashOfExtrinsic)) })
    }
  }

  /** From the newest final block down, each the parent of the one before: what a node has beside them is not final. */
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

  /** Blocks that may still go away are read each time: which of them stay is not asked, as the answer is the same. */
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

  const find = async (extrinsic: Hex): Promise<Place | null> => {
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
    // From the same final block on: what became final meanwhile is above it.
    if (await isAbove(extrinsic, { final: newest, era })) return 'not_final'
    if (blocks.length < numbers.length) {
      const sentence = `The ${row.network} node lacks some of its newest ${numbers.length} blocks, where the transaction may be.`
      throw new NodeUnavailable('refused', sentence)
    }
    return null
  }

  /** One after the other: what the first one reads, the next ones need not. */
  let turn: Promise<unknown> = Promise.resolve()
  return (extrinsic) => {
    const found = turn.then(() => find(extrinsic))
    turn = found.catch(() => {})
    return found
  }
}
