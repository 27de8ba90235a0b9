import type { HasDb, Tx } from '../../db/client.ts'
import {
  type BlockPoint,
  type Follower,
  forgetBlocksAbove,
  listSeenBlocks,
  moveCursor,
  rememberBlocks,
} from '../../db/queries/cursors.ts'
import type { BlockRef, Chain, Head } from '../chains/chain.ts'
import { lower } from '../platform/amount.ts'
import { AppError } from '../platform/errors.ts'
import type { HasMetrics } from '../platform/metrics/metrics.ts'
import type { HasLog } from '../platform/process/log.ts'
import type { StepResult } from './follow.ts'

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

export type Step = {
  readonly chain: Chain
  readonly head: Head
  readonly follower: Follower
  readonly cursor: BlockPoint
}

/** The last common block of both branches. */
export type Fork = BlockPoint & { readonly isBelowFinal: boolean }

/**
 * The newest block that the follower remembers and the chain still has: everything above it must be read again. If no
 * remembered block is left, the block below the oldest of them.
 * @returns null if the node is only behind: its newest block is a remembered one, or older than all of them.
 */
const findFork = async (
  ctx: HasDb & HasLog,
  { chain, head: { latest }, follower, cursor }: Step,
): Promise<Fork | null> => {
  const remembered = await listSeenBlocks(ctx.db, follower)
  if (latest.number < cursor.number) {
    const atLatest = remembered.find((point) => point.number === latest.number)
    if (atLatest === undefined || atLatest.hash === latest.hash) return null
  }
  for (const point of remembered) {
    const block = await chain.block(point.number)
    if (block !== null && block.hash === point.hash) return { ...point, isBelowFinal: false }
  }
  const { number: oldest } = remembered.at(-1) ?? cursor
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

/** A missing block proves nothing: of two nodes behind one URL one may have a head that the other does not have yet. */
export const isNextBlockPruned = async (
  chain: Pick<Chain, 'depth' | 'history'>,
  { cursor, head }: { readonly cursor: BlockPoint; readonly head: Head },
): Promise<boolean> =>
  cursor.number < finalNumberOf(chain, head) && (await chain.history(cursor.number + 1n)) === 'pruned'

/** The error to log until a node has the next block. */
export const nextBlockPruned = ({ network }: Pick<Chain, 'network'>, { number }: BlockPoint): AppError =>
  new AppError(
    'node_unavailable',
    `The ${network} node no longer has the next block, ${number + 1n}: use an archive node, which keeps all blocks.`,
  )

/**
 * Moves a follower's cursor and writes what belongs to the move, in one database transaction.
 * @returns false if another process has moved the cursor meanwhile: then nothing is written.
 */
export const move = (
  ctx: HasDb,
  input: Pick<Step, 'chain' | 'follower'> & {
    readonly from: BlockPoint
    readonly to: BlockPoint
    readonly write: (tx: Tx) => Promise<void>
  },
): Promise<boolean> => {
  const { stalledAfterSeconds } = input.chain.patience
  return ctx.db.transaction(async (tx) => {
    if (!(await moveCursor(tx, { ...input, stalledAfterSeconds }))) return false
    await input.write(tx)
    return true
  })
}

/** @param input.blocks in order, at least one; the first is the child of the cursor's block. @returns as `move`. */
export const advance = async (
  ctx: HasDb,
  input: Step & { readonly blocks: readonly BlockPoint[]; readonly write: (tx: Tx) => Promise<void> },
): Promise<boolean> => {
  const { chain, head, follower, cursor, blocks, write } = input
  const to = blocks.at(-1)
  if (to === undefined) throw new Error('expected at least one block to advance over')
  // The cursor's own block is kept even if it is final: the search for a fork starts there.
  const finalNumber = lower(finalNumberOf(chain, head), to.number)
  return move(ctx, {
    chain,
    follower,
    from: cursor,
    to,
    write: async (tx) => {
      await rememberBlocks(tx, { follower, blocks, finalNumber })
      await write(tx)
    },
  })
}

/**
 * After a reorganisation: moves the cursor back to the fork, and undoes what was written above it.
 * @param input.undo returns the number of changed rows, for the log.
 */
export const rewind = async (
  ctx: HasDb & HasLog & HasMetrics,
  input: Step & { readonly undo: (tx: Tx, fork: Fork) => Promise<number> },
): Promise<StepResult> => {
  const { chain, follower, cursor } = input
  const fork = await findFork(ctx, input)
  // Nodes behind one URL may disagree: wait until they agree.
  if (fork === null || fork.hash === cursor.hash) return 'caught_up'
  const moved = await move(ctx, {
    chain,
    follower,
    from: cursor,
    to: fork,
    write: async (tx) => {
      await forgetBlocksAbove(tx, follower, fork.number)
      await rememberBlocks(tx, { follower, blocks: [fork], finalNumber: 0n })
      const undone = await input.undo(tx, fork)
      const depthBlocks = Number(cursor.number - fork.number)
      tx.afterCommit(() => {
        const { network, purpose } = follower
        ctx.metrics.chains.reorganisations.inc({ network, purpose })
        ctx.metrics.chains.reorganisedBlocks.inc({ network, purpose }, depthBlocks)
        ctx.log.warn({ network, purpose, fork: String(fork.number), undone }, 'the chain was reorganised')
      })
    },
  })
  return moved ? 'advanced' : 'overtaken'
}
