// Where an extrinsic is that nobody here sent: a node knows no hash by itself, so the newest final blocks are looked through, as
// many as an era has. Whoever asks for one signed it not long ago.

import type { Hex } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { hash, nullable } from '../node/wire.ts'
import { blockQuestion, hashOfExtrinsic, readFinalHead } from './blocks.ts'
import type { SubstrateNode } from './node.ts'

/** Bodies in one batch: some are a megabyte. */
const BLOCKS_AT_ONCE = 16

type Seen = { readonly blockHash: Hex; readonly extrinsics: ReadonlySet<Hex> }

/** @returns the hash of the final block that an extrinsic is in, or null. */
export const createSearch = (
  node: Pick<SubstrateNode, 'rpc' | 'bulk' | 'row'>,
): ((extrinsic: Hex) => Promise<Hex | null>) => {
  const { rpc, bulk, row } = node
  /** By number; final blocks stay as they are. */
  const seen = new Map<number, Seen>()

  const read = async (numbers: readonly number[]): Promise<void> => {
    const hashes = await rpc.askAll(numbers.map((number) => question('chain_getBlockHash', [number], nullable(hash))))
    const there = numbers.flatMap((number, index) => {
      const blockHash = hashes[index] ?? null
      return blockHash === null ? [] : [{ number, blockHash }]
    })
    const blocks = await bulk.askAll(
      there.map(({ blockHash }) => blockQuestion(blockHash)),
      { batchLimit: BLOCKS_AT_ONCE },
    )
    for (const [index, { number, blockHash }] of there.entries()) {
      const extrinsics = blocks[index]?.extrinsics.map(hashOfExtrinsic)
      if (extrinsics !== undefined) seen.set(number, { blockHash, extrinsics: new Set(extrinsics) })
    }
  }

  return async (extrinsic) => {
    const newest = Number((await readFinalHead(node)).ref.number)
    const oldest = Math.max(newest - row.eraBlocks + 1, 0)
    for (const number of seen.keys()) if (number < oldest || number > newest) seen.delete(number)
    const numbers = Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index)
    await read(numbers.filter((number) => !seen.has(number)))
    return (
      numbers.map((number) => seen.get(number)).find((block) => block?.extrinsics.has(extrinsic))?.blockHash ?? null
    )
  }
}
