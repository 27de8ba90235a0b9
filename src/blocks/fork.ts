import { type BlockPoint, type Follower, listSeenBlocks } from '../../db/queries/cursors.ts'
import type { BlockRef, Chain, Head } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

export type { Head } from '../chains/chain.ts'

/** Whether the chain seems to have left the block where a cursor stands; `findFork` tells for sure. */
export const isReorganised = (input: {
  readonly cursor: BlockPoint
  readonly latest: BlockRef
  /** The block after the cursor, where there is one. */
  readonly next: BlockRef | null
}): boolean => {
  const { cursor, latest, next } = input
  if (next !== null) return next.parentHash !== cursor.hash
  return latest.number < cursor.number || (latest.number === cursor.number && latest.hash !== cursor.hash)
}

/** Where the chain forked off; whether that is below what was final. */
export type Fork = BlockPoint & { readonly isBelowFinal: boolean }

/**
 * The newest block that a follower has seen and the chain still has: everything above it must be read again.
 * Where the reorganisation goes below all that is remembered, the block below the oldest of them.
 * @returns null where the node is only behind: its newest block is one of those seen, or older than all of them.
 */
export const findFork = async (
  ctx: Pick<WorkerCtx, 'db' | 'log'>,
  input: {
    readonly chain: Pick<Chain, 'network' | 'block'>
    readonly head: Head
    readonly follower: Follower
    readonly cursor: BlockPoint
  },
): Promise<Fork | null> => {
  const { chain, cursor } = input
  const { latest } = input.head
  const seen = await listSeenBlocks(ctx.db, input.follower)
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

/** Below this number blocks are final: the node's word, but never nearer than one block, else the network's depth. */
export const finalNumberOf = (chain: Pick<Chain, 'depth'>, head: Head): bigint => {
  if (head.finalized !== null) return head.finalized.number
  const depth = BigInt(chain.depth.final)
  return head.latest.number > depth ? head.latest.number - depth : 0n
}

/**
 * Whether the node had the block after a cursor, and has it no longer. The number alone does not tell such a block from one
 * that a node does not have yet: behind one URL one node may tell the head, and another one the blocks.
 * @throws node_unavailable.
 */
export const isNextGone = async (
  chain: Pick<Chain, 'depth' | 'history'>,
  { cursor, head }: { readonly cursor: BlockPoint; readonly head: Head },
): Promise<boolean> =>
  cursor.number < finalNumberOf(chain, head) && (await chain.history(cursor.number + 1n)) === 'pruned'

/** For the log, until there is a node that has it. */
export const nextIsGone = ({ network }: Pick<Chain, 'network'>, { number }: BlockPoint): AppError =>
  new AppError(
    'node_unavailable',
    `The ${network} node no longer has block ${number + 1n}, which comes next: one that keeps all of them (an archive node) has it.`,
  )
