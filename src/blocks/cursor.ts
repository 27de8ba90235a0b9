import type { HasDb, Tx } from '../../db/client.ts'
import { type BlockPoint, forgetBlocksAbove, moveCursor, rememberBlocks } from '../../db/queries/cursors.ts'
import type { HasMetrics } from '../platform/metrics/metrics.ts'
import type { HasLog } from '../platform/process/log.ts'
import type { StepResult } from './follow.ts'
import { type Fork, finalNumberOf, findFork, type Step } from './fork.ts'

/** Thrown inside a database transaction to undo it. */
class Overtaken extends Error {}

/**
 * Moves a follower's cursor and writes what belongs to the move, in one database transaction.
 * @returns false if another process has moved the cursor meanwhile: then nothing is written.
 */
export const move = async (
  ctx: HasDb,
  input: Pick<Step, 'chain' | 'follower'> & {
    readonly from: BlockPoint
    readonly to: BlockPoint
    readonly write: (tx: Tx) => Promise<void>
  },
): Promise<boolean> => {
  const { stalledAfterSeconds } = input.chain.patience
  try {
    await ctx.db.transaction(async (tx) => {
      if (!(await moveCursor(tx, { ...input, stalledAfterSeconds }))) throw new Overtaken()
      await input.write(tx)
    })
    return true
  } catch (error) {
    if (error instanceof Overtaken) return false
    throw error
  }
}

/**
 * Moves a follower's cursor over the next blocks and writes what was found in them.
 * @param input.blocks in order, at least one; the first is the child of the cursor's block.
 * @returns as `move`.
 */
export const advance = async (
  ctx: HasDb,
  input: Step & { readonly blocks: readonly BlockPoint[]; readonly write: (tx: Tx) => Promise<void> },
): Promise<boolean> => {
  const { chain, head, follower, cursor, blocks, write } = input
  const to = blocks.at(-1)
  if (to === undefined) throw new Error('expected at least one block to advance over')
  // The cursor's own block is kept even if it is final: the search for a fork starts there.
  let finalNumber = finalNumberOf(chain, head)
  if (finalNumber > to.number) finalNumber = to.number
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
