// The indexer: reads a network's blocks from a cursor in ranges, and stores the movements of known addresses. One query
// finds the known addresses of a range, so the cost does not grow with the number of wallets. The cursor, the hashes of
// blocks that are not final and the movements are written in one database transaction, so a killed worker neither skips
// nor repeats anything. After a reorganisation, everything above the fork is deleted and read again.

import type { Tx } from '../../../db/client.ts'
import { databaseTime, hasBackfillBegunSince } from '../../../db/queries/backfills.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor } from '../../../db/queries/cursors.ts'
import { deleteMovementsAbove, insertMovements } from '../../../db/queries/movements.ts'
import { advance, isNextBlockPruned, isReorganised, nextBlockPruned, rewind, type Step } from '../../blocks/cursor.ts'
import type { StepResult } from '../../blocks/follow.ts'
import type { BlockMovements, Chain } from '../../chains/chain.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { TrackingCtx } from '../../signing/ctx.ts'
import { startBalanceCheck } from './check-balances.ts'
import { keptRows, recordDoubtfulContracts, watchedIn, withStandards } from './movement-rows.ts'
import { readRange } from './read-range.ts'

export const indexStep = async (ctx: TrackingCtx, chain: Chain): Promise<StepResult> => {
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
    if (await isNextBlockPruned(chain, { cursor, head })) throw nextBlockPruned(chain, cursor)
    return 'caught_up'
  }
  const { blocks } = range
  if (isReorganised({ cursor, latest: head.latest, next: blocks[0] ?? null })) {
    const undo = (tx: Tx, fork: BlockPoint) => deleteMovementsAbove(tx, { network, blockNumber: fork.number })
    return rewind(ctx, { chain, head, follower, cursor, undo })
  }
  if (blocks.length === 0) return 'caught_up'
  return storeRange(ctx, { chain, head, follower, cursor, blocks })
}

/** The newest block: there were no wallets before. On a devnet the first: its chain may be older than the tables. */
const firstBlock = async (ctx: HasConfig, { chain, head }: Pick<Step, 'chain' | 'head'>): Promise<BlockPoint> => {
  const genesis = ctx.config.devnet ? await chain.block(0n) : null
  return genesis ?? head.latest
}

class WatchedChanged extends Error {}

const storeRange = async (
  ctx: TrackingCtx,
  input: Step & { readonly blocks: readonly BlockMovements[] },
): Promise<StepResult> => {
  const { chain } = input
  const { network } = chain
  const time = await databaseTime(ctx.db)
  const watched = await watchedIn(ctx, { network, blocks: input.blocks })
  const set = await withStandards(ctx, { chain, blocks: input.blocks, watched })
  const rows = keptRows({ network, blocks: set.blocks, watched })
  const write = async (tx: Tx) => {
    // A backfill that began meanwhile relies on us for blocks above the cursor, and we did not look for its wallet.
    if (await hasBackfillBegunSince(tx, { network, time })) throw new WatchedChanged()
    await insertMovements(tx, rows)
    await recordDoubtfulContracts(tx, { chain, withStandards: set })
  }
  try {
    const moved = await advance(ctx, { ...input, write })
    if (!moved) return 'overtaken'
    startBalanceCheck(ctx, { chain, blocks: set.blocks, moved: new Set(rows.map(({ blockNumber }) => blockNumber)) })
    return 'advanced'
  } catch (error) {
    if (error instanceof WatchedChanged) return 'advanced'
    throw error
  }
}
