// What an address moved before it became a wallet's: a walk from where the indexer stood down to the first block.
//
//   above `from_block`       the indexer watches the address. The walk begins while the indexer is held; a step of the
//                            indexer that looked for wallets before that does not commit (see index-blocks.ts).
//   near it                  blocks are read whole, as the indexer reads them, so many as the network's row says.
//   below those              by events that index the address. The coin's movements are not found there: a node has no
//                            index of them, and reading every block of years for one address is out of proportion.
//
// The walk ends at the first block, or below the day on which the key was made here. Each range is written with the row
// that says how far it came, while the indexer is held: what the indexer has left since the range was read (a
// reorganisation) is not written, and what it went back over it reads again itself. Both write the same rows for the same
// movement, so what both see is kept once.
//
// Before a range is read, its lowest block must be one that the node still has: a node that has forgotten it may leave its
// events out without a word. So a walk goes down to the very first block that the node has, and stands there, with the
// reason in its row. Nothing is given up for good: what hinders it is tried again, ever more seldom, as a node may catch up,
// be mended, or make room for one that has the whole chain.

import {
  type BackfillPlace,
  type BackfillRow,
  beginBackfill,
  hinderBackfill,
  holdIndexer,
  moveBackfill,
  readBackfill,
  seenByIndexer,
} from '../../db/queries/backfills.ts'
import { insertMovements } from '../../db/queries/movements.ts'
import type { Hindrance } from '../../db/words.ts'
import { type BlockMovements, type Chain, RangeTooWide } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'
import { corrected, keptRows, writeDoubts } from './kept.ts'
import { blocksAtOnce, eventBlocksAtOnce, readEventsBelow, readRangeBelow } from './read-range.ts'
import { isAway, patienceSeconds } from './settle-doubts.ts'

/** Short: all jobs share the same few places. */
const SHIFT_MS = 2_000
/** Clocks of nodes and of ours may differ by this. */
const CLOCK_MARGIN_MS = 3_600_000

/** How seldom a walk is tried again at most: soon for what passes by itself, seldom for what somebody must change. */
const MAX_PAUSE_SECONDS = { behind: 60, away: 60, refused: 3_600, pruned: 86_400 } as const satisfies Record<
  Hindrance,
  number
>

type StepResult = 'advanced' | 'wait' | 'pruned' | 'done'

/**
 * `wait`: the indexer has not begun, or the node is not of one mind with it. `pruned`: the node no longer has the next block.
 * @throws node_unavailable; RangeTooWide where the node refuses even one block.
 */
export const backfillStep = async (
  ctx: WorkerCtx,
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
  const below = await keptBelow(chain, { above: reachedBlock, most })
  if (typeof below === 'string') return below === 'pruned' ? 'pruned' : 'wait'
  const range = whole ? await readRangeBelow(chain, below) : await readEventsBelow(chain, { ...below, address })
  if (range.kind === 'too_wide') return 'advanced'
  if (range.kind === 'not_there') return 'wait'
  return takeIn(ctx, { chain, place, row, reachedBlock, whole, fromBlock: below.fromBlock, blocks: range.blocks })
}

/** The widest range below a block, of so many blocks, halved and halved again, that the node still has. */
const keptBelow = async (chain: Chain, { above, most }: { readonly above: bigint; readonly most: number }) => {
  for (let asked = most; ; asked = Math.ceil(asked / 2)) {
    const fromBlock = above - BigInt(asked)
    // Of the first block nothing is told: nodes that have forgotten the next one keep it.
    const history = await chain.history(fromBlock === 0n && asked > 1 ? 1n : fromBlock)
    if (history === 'kept') return { fromBlock, asked }
    if (history === 'not_there' || asked === 1) return history
  }
}

const begin = (ctx: WorkerCtx, place: BackfillPlace): Promise<StepResult> =>
  ctx.db.transaction(async (tx) => {
    const cursor = await holdIndexer(tx, place.network)
    if (cursor === null) return 'wait'
    await beginBackfill(tx, place, cursor.number)
    return 'advanced'
  })

const takeIn = async (
  ctx: WorkerCtx,
  input: {
    readonly chain: Chain
    readonly place: BackfillPlace
    readonly row: BackfillRow
    readonly reachedBlock: bigint
    readonly whole: boolean
    readonly fromBlock: bigint
    readonly blocks: readonly BlockMovements[]
  },
): Promise<StepResult> => {
  const { chain, place, reachedBlock, whole, fromBlock } = input
  const { network } = place
  const watched = { addresses: new Set([place.address]), collections: new Set<string>() }
  const set = await corrected(ctx, { chain, blocks: input.blocks, watched })
  const { blocks } = set
  const rows = keptRows({ network, blocks, watched })
  const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]))
  const done = fromBlock === 0n || (await isBeforeKey(chain, { ...input, fromBlock }))
  return ctx.db.transaction(async (tx) => {
    const cursor = await holdIndexer(tx, network)
    if (cursor === null) return 'wait'
    if (cursor.number + 1n < reachedBlock) {
      // The indexer went back: from there on it reads for this address too.
      const move = { place, from: reachedBlock, to: cursor.number + 1n, done: false }
      return (await moveBackfill(tx, move)) ? 'advanced' : 'wait'
    }
    const seen = await seenByIndexer(tx, { network, fromBlock, toBlock: reachedBlock - 1n })
    if (seen.some(({ number, hash }) => (whole || hashes.has(number)) && hashes.get(number) !== hash)) return 'wait'
    const coins = whole ? { coinsTo: fromBlock, ...tracedTo(input) } : {}
    const moved = await moveBackfill(tx, { place, from: reachedBlock, to: fromBlock, ...coins, done })
    if (!moved) return 'wait'
    await insertMovements(tx, rows)
    await writeDoubts(tx, { chain, corrected: set })
    return done ? 'done' : 'advanced'
  })
}

/** Down to where every block was traced, beginning with the first; absent where one above these was not. */
const tracedTo = (input: {
  readonly row: BackfillRow
  readonly reachedBlock: bigint
  readonly fromBlock: bigint
  readonly blocks: readonly BlockMovements[]
}): { readonly tracedTo?: bigint } => {
  const { row, reachedBlock, fromBlock, blocks } = input
  const isNext =
    row.tracedReachedBlock === null ? row.coinsReachedBlock === null : row.tracedReachedBlock === reachedBlock
  if (!isNext) return {}
  const untraced = blocks.findLast(({ isTraced }) => !isTraced)
  return { tracedTo: untraced === undefined ? fromBlock : untraced.number + 1n }
}

const isBeforeKey = async (
  chain: Chain,
  input: { readonly row: BackfillRow; readonly fromBlock: bigint; readonly blocks: readonly BlockMovements[] },
): Promise<boolean> => {
  const { keyMadeAt } = input.row
  if (keyMadeAt === null) return false
  const lowest = input.blocks[0]
  const block = lowest?.number === input.fromBlock ? lowest : await chain.block(input.fromBlock)
  return block !== null && block.timestampMs < keyMadeAt.getTime() - CLOCK_MARGIN_MS
}

type Hindered = { readonly hindrance: Hindrance; readonly reason: string }

const REASONS = {
  pruned: 'The node no longer has the next block below.',
  wait: 'The node lacks the next blocks below, or is not of one mind with the indexer.',
} as const

const hinderedBy = async (ctx: WorkerCtx, chain: Chain, error: unknown): Promise<Hindered> => {
  if (!(error instanceof AppError || error instanceof RangeTooWide)) throw error
  ctx.log.warn({ err: error, network: chain.network }, 'a walk back through the blocks is hindered')
  return { hindrance: (await isAway(chain)) ? 'away' : 'refused', reason: error.message }
}

/**
 * Steps until the walk is done, its shift is over, the process stops, or there is something to wait for, which is written
 * into its row. @returns when to go on, in seconds from now; null where the walk is done.
 */
export const backfillShift = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly address: string; readonly signal: AbortSignal },
): Promise<number | null> => {
  const { chain, address } = input
  const endsAt = Date.now() + SHIFT_MS
  let result: StepResult | Hindered = 'advanced'
  while (result === 'advanced' && !input.signal.aborted && Date.now() < endsAt) {
    result = await backfillStep(ctx, input).catch((error: unknown) => hinderedBy(ctx, chain, error))
  }
  if (result === 'done') return null
  if (result === 'advanced') return 0
  return hinder(ctx, {
    place: { network: chain.network, address },
    ...(typeof result === 'string'
      ? { hindrance: result === 'pruned' ? ('pruned' as const) : ('behind' as const), reason: REASONS[result] }
      : result),
  })
}

const hinder = async (ctx: WorkerCtx, input: Hindered & { readonly place: BackfillPlace }): Promise<number> => {
  const tries = (await readBackfill(ctx.db, input.place))?.tries ?? 0
  const afterSeconds = patienceSeconds({ tries, maxSeconds: MAX_PAUSE_SECONDS[input.hindrance] })
  await hinderBackfill(ctx.db, { ...input, tries: tries + 1, afterSeconds })
  return afterSeconds
}
