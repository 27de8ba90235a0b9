import type { Tx } from '../../db/client.ts'
import { type BlockPoint, type Follower, moveCursor } from '../../db/queries/cursors.ts'
import type { WorkerCtx } from '../context.ts'

/** Thrown inside a database transaction to undo it. */
class Overtaken extends Error {}

/**
 * Moves a follower's cursor and writes what belongs to the move, in one database transaction.
 * @returns false where somebody else has moved the cursor meanwhile: then nothing is written.
 */
export const move = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: {
    readonly follower: Follower
    readonly from: BlockPoint
    readonly to: BlockPoint
    readonly write: (tx: Tx) => Promise<void>
  },
): Promise<boolean> => {
  try {
    await ctx.db.transaction(async (tx) => {
      if (!(await moveCursor(tx, input))) throw new Overtaken()
      await input.write(tx)
    })
    return true
  } catch (error) {
    if (error instanceof Overtaken) return false
    throw error
  }
}
