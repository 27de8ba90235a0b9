// Indexing: follows a network from a cursor in ranges of blocks, and keeps the movements that touch a known address.
// What a block costs does not depend on how many wallets there are: its addresses are looked up in one query. The cursor,
// the hashes of blocks that are not final and the movements are written in one database transaction, so that a killed
// worker neither skips nor doubles anything; a reorganisation deletes what is above its fork, and reads it again.

import type { Tx } from '../../db/client.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor } from '../../db/queries/cursors.ts'
import { deleteMovementsAbove, insertMovements, type MovementRow } from '../../db/queries/movements.ts'
import { advance } from '../blocks/advance.ts'
import type { StepResult } from '../blocks/follow.ts'
import { type Head, isReorganised } from '../blocks/fork.ts'
import { rewind } from '../blocks/rewind.ts'
import type { BlockMovements, Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { keptRows } from './kept.ts'
import { readRange } from './read-range.ts'
import { watchedIn } from './watched.ts'

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
  if (range.kind === 'not_there') return 'caught_up'
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
  const { chain, blocks } = input
  const { network } = chain
  const watched = await watchedIn(ctx, { network, blocks })
  const rows = keptRows({ network, blocks, watched })
  await readFactsAhead(ctx, { chain, rows })
  const moved = await advance(ctx, { ...input, write: (tx) => insertMovements(tx, rows) })
  return moved ? 'advanced' : 'overtaken'
}

/** So that a listing need not ask the node. What a strange contract answers must not hold up the chain. */
const readFactsAhead = async (
  ctx: Pick<WorkerCtx, 'log'>,
  input: { readonly chain: Chain; readonly rows: readonly MovementRow[] },
): Promise<void> => {
  const { chain, rows } = input
  const contracts = new Set(rows.flatMap((row) => row.contract ?? []))
  try {
    await chain.facts([...contracts])
  } catch (err) {
    ctx.log.warn({ err, network: chain.network }, 'the facts of moved tokens could not be read')
  }
}
