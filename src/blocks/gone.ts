// Blocks that nodes let go of before a follower came by. Their number alone does not tell them from blocks that a node
// does not have yet: behind one URL one node may tell the head, and another one the blocks.

import type { BlockPoint } from '../../db/queries/cursors.ts'
import type { Chain } from '../chains/chain.ts'
import { AppError } from '../errors.ts'
import { finalNumberOf, type Head } from './fork.ts'

/** Whether the node had the block after a cursor, and has it no longer. @throws node_unavailable. */
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
