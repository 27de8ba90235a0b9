// Indexing: follows a network from a cursor in ranges of blocks, and keeps the movements that touch a known address.
// What a block costs does not depend on how many wallets there are: its addresses are looked up in one query. The cursor,
// the hashes of blocks that are not final and the movements are written in one database transaction, so that a killed
// worker neither skips nor doubles anything; a reorganisation deletes what is above its fork, and reads it again.

import type { Tx } from '../../db/client.ts'
import { databaseTime, hasBackfillBegunSince } from '../../db/queries/backfills.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor } from '../../db/queries/cursors.ts'
import { deleteMovementsAbove, insertMovements } from '../../db/queries/movements.ts'
import { advance, rewind } from '../blocks/cursor.ts'
import type { StepResult } from '../blocks/follow.ts'
import { type Head, isNextGone, isReorganised, nextIsGone } from '../blocks/fork.ts'
import type { BlockMovements, Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { beginCheck } from './check-balances.ts'
import { corrected, keptRows, watchedIn, writeDoubts } from './kept.ts'
import { readRange } from './read-range.ts'

/** Takes in the next blocks of a network, or a reorganisation. */
export const indexStep = async (ctx: WorkerCtx, chain: Chain): Promise<StepResult> => {
  const { network } = chain
  const follower: Follower = { network, purpose: 'index' }
  const head = await chain.head()
  const cursor = await readCursor(ctx.db, follower)
  if (cursor === null) {
    await beginCursor(ctx.db, follower, await firstBlock(ctx, { chain, head }))
    return 'advanced'
  }
  const range = await readRange(chain, { cursor, head })
  if (range.kind === 'too_wide') return 'advanced'
  if (range.kind === 'not_there') {
    if (await isNextGone(chain, { cursor, head })) throw nextIsGone(chain, cursor)
    return 'caught_up'
  }
  const { blocks } = range
  if (isReorganised({ cursor, latest: head.latest, next: blocks[0] ?? null })) {
    const undo = (tx: Tx, fork: BlockPoint) => deleteMovementsAbove(tx, { network, blockNumber: fork.number })
    return rewind(ctx, { chain, head, follower, cursor, undo })
  }
  if (blocks.length === 0) return 'caught_up'
  return takeIn(ctx, { chain, head, follower, cursor, blocks })
}

/** Before the first cursor there were no wallets; a devnet's chain is short and may be older than its database. */
const firstBlock = async (
  ctx: Pick<WorkerCtx, 'config'>,
  input: { readonly chain: Chain; readonly head: Head },
): Promise<BlockPoint> => {
  const genesis = ctx.config.devnet ? await input.chain.block(0n) : null
  return genesis ?? input.head.latest
}

/** Thrown inside a database transaction to undo it. */
class WatchedChanged extends Error {}

const takeIn = async (
  ctx: WorkerCtx,
  input: {
    readonly chain: Chain
    readonly head: Head
    readonly follower: Follower
    readonly cursor: BlockPoint
    readonly blocks: readonly BlockMovements[]
  },
): Promise<StepResult> => {
  const { chain } = input
  const { network } = chain
  const time = await databaseTime(ctx.db)
  const watched = await watchedIn(ctx, { network, blocks: input.blocks })
  const set = await corrected(ctx, { chain, blocks: input.blocks, watched })
  const rows = keptRows({ network, blocks: set.blocks, watched })
  const write = async (tx: Tx) => {
    // A backfill leaves all above the cursor to us, and its wallet may be younger than our look.
    if (await hasBackfillBegunSince(tx, { network, time })) throw new WatchedChanged()
    await insertMovements(tx, rows)
    await writeDoubts(tx, { chain, corrected: set })
  }
  try {
    const moved = await advance(ctx, { ...input, write })
    if (!moved) return 'overtaken'
    beginCheck(ctx, { chain, blocks: set.blocks, moved: new Set(rows.map(({ blockNumber }) => blockNumber)) })
    return 'advanced'
  } catch (error) {
    if (error instanceof WatchedChanged) return 'advanced'
    throw error
  }
}
