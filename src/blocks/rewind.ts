import type { Tx } from '../../db/client.ts'
import { addCounts } from '../../db/queries/counts.ts'
import { type BlockPoint, type Follower, forgetBlocksAbove, rememberBlocks } from '../../db/queries/cursors.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import type { StepResult } from './follow.ts'
import { type Fork, findFork, type Head } from './fork.ts'
import { move } from './move.ts'

/** After a reorganisation: takes a follower back to where the chain forked off, and undoes what it had from above. */
export const rewind = async (
  ctx: Pick<WorkerCtx, 'db' | 'log'>,
  input: {
    readonly chain: Chain
    readonly head: Head
    readonly follower: Follower
    readonly cursor: BlockPoint
    /** @returns how many rows it changed, for the log. */
    readonly undo: (tx: Tx, fork: Fork) => Promise<number>
  },
): Promise<StepResult> => {
  const { chain, follower, cursor } = input
  const fork = await findFork(ctx, input)
  // Nodes behind one URL are not always of one mind: wait until they are.
  if (fork === null || fork.hash === cursor.hash) return 'caught_up'
  const moved = await move(ctx, {
    follower,
    from: cursor,
    to: fork,
    write: async (tx) => {
      await forgetBlocksAbove(tx, follower, fork.number)
      await rememberBlocks(tx, { follower, blocks: [fork], finalNumber: 0n })
      const undone = await input.undo(tx, fork)
      const depthBlocks = Number(cursor.number - fork.number)
      await addCounts(tx, [
        { name: 'reorganisations_total', labels: { ...follower }, amount: 1 },
        { name: 'reorganised_blocks_total', labels: { ...follower }, amount: depthBlocks },
      ])
      ctx.log.warn(
        { network: chain.network, purpose: follower.purpose, fork: String(fork.number), undone },
        'the chain was reorganised',
      )
    },
  })
  return moved ? 'advanced' : 'overtaken'
}
