import type { HasDb } from '../../db/client.ts'
import { type BlockPoint, type Follower, listSeenBlocks } from '../../db/queries/cursors.ts'
import type { BlockRef, Chain, Head } from '../chains/chain.ts'
import { AppError } from '../platform/errors.ts'
import type { HasLog } from '../platform/process/log.ts'

export type { Head } from '../chains/chain.ts'

/** Whether the cursor's block seems to be no longer on the chain; `findFork` makes sure. */
export const isReorganised = (input: {
  readonly cursor: BlockPoint
  readonly latest: BlockRef
  /** The block after the cursor, or null. */
  readonly next: BlockRef | null
}): boolean => {
  const { cursor, latest, next } = input
  if (next !== null) return next.parentHash !== cursor.hash
  return latest.number < cursor.number || (latest.number === cursor.number && latest.hash !== cursor.hash)
}

/** What a step of a follower begins with. */
export type Step = {
  readonly chain: Chain
  readonly head: Head
  readonly follower: Follower
  readonly cursor: BlockPoint
}

/** The last common block of both branches. */
export type Fork = BlockPoint & { readonly isBelowFinal: boolean }

/**
 * Finds the newest block that a follower has seen and the chain still has: everything above it must be read again. If no seen
 * block is left, the block below the oldest of them.
 * @returns null if the node is only behind: its newest block is one of those seen, or older than all of them.
 */
export const findFork = async (
  ctx: HasDb & HasLog,
  { chain, head: { latest }, follower, cursor }: Step,
): Promise<Fork | null> => {
  const seen = await listSeenBlocks(ctx.db, follower)
  if (latest.number < cursor.number) {
    const atLatest = seen.find((point) => point.number === latest.number)
    if (atLatest === undefined || atLatest.hash === latest.hash) return null
  }
  for (const point of seen) {
    const block = await chain.block(point.number)
    if (block !== null && block.hash === point.hash) return { ...point, isBelowFinal: false }
  }
  const { number: oldest } = seen.at(-1) ?? cursor
  const below = oldest === 0n ? 0n : oldest - 1n
  const block = await chain.block(below)
  if (block === null) throw new Error(`the node of ${chain.network} has no block ${below}`)
  ctx.log.error({ network: chain.network, block: String(below) }, 'a reorganisation went below the final depth')
  return { number: block.number, hash: block.hash, isBelowFinal: true }
}

/** The newest final block's number: as the node says, otherwise by the network's depth. */
export const finalNumberOf = (chain: Pick<Chain, 'depth'>, head: Head): bigint => {
  if (head.finalized !== null) return head.finalized.number
  const depth = BigInt(chain.depth.final)
  return head.latest.number > depth ? head.latest.number - depth : 0n
}

/**
 * Whether the node has pruned the block after a cursor. That a block is missing does not prove it: of two nodes behind one URL
 * one may have a head that the other does not have yet.
 */
export const isNextGone = async (
  chain: Pick<Chain, 'depth' | 'history'>,
  { cursor, head }: { readonly cursor: BlockPoint; readonly head: Head },
): Promise<boolean> =>
  cursor.number < finalNumberOf(chain, head) && (await chain.history(cursor.number + 1n)) === 'pruned'

/** The error to log until a node has the next block. */
export const nextIsGone = ({ network }: Pick<Chain, 'network'>, { number }: BlockPoint): AppError =>
  new AppError(
    'node_unavailable',
    `The ${network} node no longer has the next block, ${number + 1n}: use an archive node, which keeps all blocks.`,
  )
