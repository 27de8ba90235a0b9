// The backfill: finds what an address moved before it became a wallet's, from the indexer's block down to the first
// block.
//
//   above `from_block`  the indexer watches the address. The backfill begins while the indexer's cursor is locked. An
//                       indexer step that looked for wallets before that does not commit (index-blocks.ts).
//   just below it       whole blocks are read, as the indexer reads them, as many as the network's definition says.
//   lower blocks        only events that index the address. Coin movements are not found there: nodes have no index of
//                       them, and reading years of blocks for one address costs too much.
//
// It ends at the first block, or before the time at which the key was made here. Each range is written together with
// the progress, while the indexer's cursor is locked. If a reorganisation removed blocks since they were read, the
// range is not written; blocks that the indexer goes back over it reads again itself. Both write the same row for the
// same movement, so a movement that both see is stored once.
//
// Before it reads a range, it checks that the node still has the lowest block: a node that has pruned it may leave
// events out silently. So the backfill goes down to the first block that the node has, and waits there, with the reason
// in its row. It never gives up: it tries again, at growing intervals, because a node may catch up, be repaired or be
// replaced.

import {
  type BackfillPlace,
  type BackfillRow,
  beginBackfill,
  holdIndexer,
  moveBackfill,
  pauseBackfill,
  readBackfill,
  seenByIndexer,
} from '../../../db/queries/backfills.ts'
import { claimMovements, insertMovements } from '../../../db/queries/movements.ts'
import type { BackfillHindrance } from '../../../db/words.ts'
import { type BlockMovements, type Chain, RangeTooWide } from '../../chains/chain.ts'
import { AppError } from '../../platform/errors.ts'
import type { TrackingCtx } from '../../signing/ctx.ts'
import { keptRows, recordDoubtfulContracts, withStandards } from './movement-rows.ts'
import { blocksAtOnce, eventBlocksAtOnce, readEventsBelow, readRangeBelow } from './read-range.ts'
import { isUnreachable, pauseSeconds } from './settle-doubtful-contracts.ts'

/** Short, because all jobs share the worker's concurrency. */
const SHIFT_MS = 2_000
/** The node's clock and that of this process may differ by this. */
const CLOCK_MARGIN_MS = 3_600_000

/** The longest interval between tries: short for what passes by itself, long for what an operator must repair. */
const MAX_PAUSE_SECONDS = { behind: 60, away: 60, refused: 3_600, pruned: 86_400 } as const satisfies Record<
  BackfillHindrance,
  number
>

type StepResult = 'advanced' | 'wait' | 'pruned' | 'done'

/**
 * `wait`: the indexer has not begun, or the node's blocks differ from the indexer's. `pruned`: the node no longer has
 * the next block.
 * @throws RangeTooWide if the node refuses even one block.
 */
export const backfillStep = async (
  ctx: TrackingCtx,
  input: { readonly chain: Chain; readonly address: string },
): Promise<StepResult> => {
  const { chain, address } = input
  const place = { network: chain.network, address }
  const row = await readBackfill(ctx.db, place)
  if (row === null || row.doneAt !== null) return 'done'
  const { fromBlock, reachedBlock } = row
  if (fromBlock === null || reachedBlock === null) return begin(ctx, place)

  const wholeDownTo = fromBlock + 1n - BigInt(chain.wholeBackfillBlocks)
  const whole = reachedBlock > 0n && reachedBlock > wholeDownTo
  const floor = whole && wholeDownTo > 0n ? wholeDownTo : 0n
  const most = Math.min(whole ? blocksAtOnce(chain) : eventBlocksAtOnce(chain), Number(reachedBlock - floor))
  const below = await availableBelow(chain, { above: reachedBlock, most })
  if (typeof below === 'string') return below === 'pruned' ? 'pruned' : 'wait'
  const range = whole ? await readRangeBelow(chain, below) : await readEventsBelow(chain, { ...below, address })
  if (range.kind === 'too_wide') return 'advanced'
  if (range.kind === 'not_there') return 'wait'
  return storeRange(ctx, { chain, place, row, reachedBlock, whole, fromBlock: below.fromBlock, blocks: range.blocks })
}

/** The widest range below a block that the node still has: `most` blocks, halved until the node has the lowest. */
const availableBelow = async (chain: Chain, { above, most }: { readonly above: bigint; readonly most: number }) => {
  for (let asked = most; ; asked = Math.ceil(asked / 2)) {
    const fromBlock = above - BigInt(asked)
    // Ask for block 1 instead of 0: nodes that have pruned block 1 still have block 0.
    const history = await chain.history(fromBlock === 0n && asked > 1 ? 1n : fromBlock)
    if (history === 'kept') return { fromBlock, asked }
    if (history === 'not_there' || asked === 1) return history
  }
}

const begin = (ctx: TrackingCtx, place: BackfillPlace): Promise<StepResult> =>
  ctx.db.transaction(async (tx) => {
    const cursor = await holdIndexer(tx, place.network)
    if (cursor === null) return 'wait'
    await beginBackfill(tx, place, cursor.number)
    await claimMovements(tx, place)
    return 'advanced'
  })

type ReadRange = {
  readonly chain: Chain
  readonly place: BackfillPlace
  readonly row: BackfillRow
  readonly reachedBlock: bigint
  readonly whole: boolean
  readonly fromBlock: bigint
  readonly blocks: readonly BlockMovements[]
}

const storeRange = async (ctx: TrackingCtx, input: ReadRange): Promise<StepResult> => {
  const { chain, place, reachedBlock, whole, fromBlock } = input
  const { network } = place
  const watched = { addresses: new Set([place.address]), collections: new Set<string>() }
  const set = await withStandards(ctx, { chain, blocks: input.blocks, watched })
  const { blocks } = set
  const rows = keptRows({ network, blocks, watched })
  const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]))
  const done = fromBlock === 0n || (await isBeforeKey(input))
  return ctx.db.transaction(async (tx) => {
    const cursor = await holdIndexer(tx, network)
    if (cursor === null) return 'wait'
    if (cursor.number + 1n < reachedBlock) {
      // The indexer went back below this range: it reads those blocks for this address too.
      const move = { place, from: reachedBlock, to: cursor.number + 1n, done: false }
      return (await moveBackfill(tx, move)) ? 'advanced' : 'wait'
    }
    const indexed = await seenByIndexer(tx, { network, fromBlock, toBlock: reachedBlock - 1n })
    if (indexed.some(({ number, hash }) => (whole || hashes.has(number)) && hashes.get(number) !== hash)) return 'wait'
    const coins = whole ? { coinsTo: fromBlock, ...tracedTo(input) } : {}
    const moved = await moveBackfill(tx, { place, from: reachedBlock, to: fromBlock, ...coins, done })
    if (!moved) return 'wait'
    await insertMovements(tx, rows)
    await recordDoubtfulContracts(tx, { chain, withStandards: set })
    return done ? 'done' : 'advanced'
  })
}

/** The lowest block down to which all blocks were traced; absent if a block above these was not. */
const tracedTo = ({ row, reachedBlock, fromBlock, blocks }: ReadRange): { readonly tracedTo?: bigint } => {
  const isNext =
    row.tracedReachedBlock === null ? row.coinsReachedBlock === null : row.tracedReachedBlock === reachedBlock
  if (!isNext) return {}
  const untraced = blocks.findLast(({ isTraced }) => !isTraced)
  return { tracedTo: untraced === undefined ? fromBlock : untraced.number + 1n }
}

const isBeforeKey = async ({ chain, row: { keyMadeAt }, fromBlock, blocks }: ReadRange): Promise<boolean> => {
  if (keyMadeAt === null) return false
  const lowest = blocks[0]
  const block = lowest?.number === fromBlock ? lowest : await chain.block(fromBlock)
  return block !== null && block.timestampMs < keyMadeAt.getTime() - CLOCK_MARGIN_MS
}

type Hindrance = { readonly hindrance: BackfillHindrance; readonly reason: string }

const HINDRANCES: Readonly<Record<'pruned' | 'wait', Hindrance>> = {
  pruned: { hindrance: 'pruned', reason: 'The node no longer has the next block below.' },
  wait: {
    hindrance: 'behind',
    reason: 'The node lacks the next blocks below, or has other blocks than the indexer saw.',
  },
}

const describeFailure = async (ctx: TrackingCtx, chain: Chain, error: unknown): Promise<Hindrance> => {
  if (!(error instanceof AppError || error instanceof RangeTooWide)) throw error
  ctx.log.warn({ err: error, network: chain.network }, 'a backfill cannot go on')
  return { hindrance: (await isUnreachable(chain)) ? 'away' : 'refused', reason: error.message }
}

/**
 * Steps until the backfill is done, its shift is over, the process stops, or it must wait; then the reason is stored.
 * @returns in how many seconds to go on; null if it is done.
 */
export const backfillShift = async (
  ctx: TrackingCtx,
  input: { readonly chain: Chain; readonly address: string; readonly signal: AbortSignal },
): Promise<number | null> => {
  const { chain, address } = input
  const endsAt = performance.now() + SHIFT_MS
  let result: StepResult | Hindrance = 'advanced'
  while (result === 'advanced' && !input.signal.aborted && performance.now() < endsAt) {
    result = await backfillStep(ctx, input).catch((error: unknown) => describeFailure(ctx, chain, error))
  }
  if (result === 'done') return null
  if (result === 'advanced') return 0
  const { hindrance, reason } = typeof result === 'string' ? HINDRANCES[result] : result
  const place = { network: chain.network, address }
  const tries = (await readBackfill(ctx.db, place))?.tries ?? 0
  const afterSeconds = pauseSeconds({ tries, maxSeconds: MAX_PAUSE_SECONDS[hindrance] })
  await pauseBackfill(ctx.db, { place, hindrance, reason, tries: tries + 1, afterSeconds })
  return afterSeconds
}
