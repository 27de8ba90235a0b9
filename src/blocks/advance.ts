import type { Tx } from '../../db/client.ts'
import { type BlockPoint, type Follower, rememberBlocks } from '../../db/queries/cursors.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { finalNumberOf, type Head } from './fork.ts'
import { move } from './move.ts'

/**
 * Takes a follower over the blocks after its cursor, with what was found in them.
 * @param input.blocks in order, at least one; the first is the cursor's child.
 * @returns false where somebody else has moved the cursor meanwhile: then nothing is written.
 */
export const advance = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: {
    readonly chain: Pick<Chain, 'depth'>
    readonly head: Head
    readonly follower: Follower
    readonly cursor: BlockPoint
    readonly blocks: readonly BlockPoint[]
    readonly write: (tx: Tx) => Promise<void>
  },
): Promise<boolean> => {
  const { chain, head, follower, cursor, blocks, write } = input
  const to = blocks.at(-1)
  if (to === undefined) throw new Error('expected at least one block to advance over')
  // The cursor's own block is remembered even where it is final: a fork is looked for from there.
  let finalNumber = finalNumberOf(chain, head)
  if (finalNumber > to.number) finalNumber = to.number
  return move(ctx, {
    follower,
    from: cursor,
    to,
    write: async (tx) => {
      await rememberBlocks(tx, { follower, blocks, finalNumber })
      await write(tx)
    },
  })
}
