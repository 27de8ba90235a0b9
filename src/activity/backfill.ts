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

import {
  type BackfillPlace,
  type BackfillRow,
  beginBackfill,
  holdIndexer,
  moveBackfill,
  readBackfill,
  seenByIndexer,
} from '../../db/queries/backfills.ts'
import { insertMovements } from '../../db/queries/movements.ts'
import type { BlockMovements, Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { corrected } from './corrected.ts'
import { keptRows } from './kept.ts'
import { readEventsBelow, readRangeBelow } from './read-range.ts'

/** Short: all jobs share the same few places. */
const SHIFT_MS = 2_000
/** Clocks of nodes and of ours may differ by this. */
const CLOCK_MARGIN_MS = 3_600_000

type StepResult = 'advanced' | 'wait' | 'done'

/** `wait`: the indexer has not begun, or the node is not of one mind with it. @throws node_unavailable. */
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
  const range = whole
    ? await readRangeBelow(chain, { above: reachedBlock, floor: wholeDownTo > 0n ? wholeDownTo : 0n })
    : await readEventsBelow(chain, { above: reachedBlock, address })
  if (range.kind === 'too_wide') return 'advanced'
  if (range.kind === 'not_there') return 'wait'
  return takeIn(ctx, { chain, place, row, reachedBlock, whole, ...range })
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
  const blocks = await corrected(ctx, { chain, blocks: input.blocks, watched })
  const rows = keptRows({ network, blocks, watched })
  const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]))
  const done = fromBlock === 0n || (await isBeforeKey(chain, { ...input, fromBlock }))
  return ctx.db.transaction(async (tx) => {
    const cursor = await holdIndexer(tx, network)
    if (cursor === null) return 'wait'
    if (cursor.number + 1n < reachedBlock) {
      // The indexer went back: from there on it reads for this address too.
      const move = { place, from: reachedBlock, to: cursor.number + 1n, coins: false, done: false }
      return (await moveBackfill(tx, move)) ? 'advanced' : 'wait'
    }
    const seen = await seenByIndexer(tx, { network, fromBlock, toBlock: reachedBlock - 1n })
    if (seen.some(({ number, hash }) => (whole || hashes.has(number)) && hashes.get(number) !== hash)) return 'wait'
    const moved = await moveBackfill(tx, { place, from: reachedBlock, to: fromBlock, coins: whole, done })
    if (!moved) return 'wait'
    await insertMovements(tx, rows)
    return done ? 'done' : 'advanced'
  })
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

/** Steps until the walk is done, its shift is over, the process stops, or there is something to wait for. */
export const backfillShift = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly address: string; readonly signal: AbortSignal },
): Promise<StepResult> => {
  const endsAt = Date.now() + SHIFT_MS
  let result: StepResult = 'advanced'
  while (result === 'advanced' && !input.signal.aborted && Date.now() < endsAt) result = await backfillStep(ctx, input)
  return result
}
