// Chooses how many blocks to request at once. Nodes limit ranges in different ways (width, results, bytes), so the
// width is found by trying, and bounded so that a range fits into memory and into one short database transaction.

import type { BlockPoint } from '../../../db/queries/cursors.ts'
import { finalNumberOf } from '../../blocks/cursor.ts'
import { type BlockMovements, type Chain, type Head, RangeTooWide } from '../../chains/chain.ts'

export const FIRST_WIDTH = 16
/** The widest range that hosted nodes commonly serve. */
export const MAX_WIDTH = 2_000
/** One address has few events, so ranges can be wider if the node allows it. */
const MAX_EVENTS_WIDTH = 100_000
/** About 10 MB of movements, and a second of work. */
export const MOVEMENTS_AIMED_AT = 20_000

/** The next width after a range was read. Pure. */
export const widthAfterSuccess = (input: {
  readonly width: number
  /** Less than the width at the end of the chain. */
  readonly blocksRead: number
  readonly movementsRead: number
  readonly max?: number
}): number => {
  const { width, blocksRead, movementsRead, max = MAX_WIDTH } = input
  if (movementsRead > MOVEMENTS_AIMED_AT) {
    return Math.max(1, Math.floor((blocksRead * MOVEMENTS_AIMED_AT) / movementsRead))
  }
  return blocksRead < width ? width : Math.min(width * 2, max)
}

/** The next width after a range was refused or incomplete; at least 1. Pure. */
export const widthAfterRefusal = (blocksAsked: number): number => Math.max(1, Math.floor(blocksAsked / 2))

/** `not_there`: the node does not have all blocks (yet), or switched to another branch during the read. */
export type Range =
  | { readonly kind: 'read'; readonly blocks: readonly BlockMovements[] }
  | { readonly kind: 'too_wide' }
  | { readonly kind: 'not_there' }

/** Kept as long as the chain object. After a restart a few ranges suffice to find the width again. */
const widths = new WeakMap<object, number>()
const eventWidths = new WeakMap<object, number>()

/** While a range is decoded and stored, the node reads these: with one alone it would wait for the decoding. */
const RANGES_AHEAD = 2

type Ahead = Below & { readonly range: Promise<Range> }

/** The next ranges of final blocks, in order, each from where the one before it ends. */
const ahead = new WeakMap<object, readonly Ahead[]>()

/**
 * Reads the blocks after a cursor, as many as the node serves at once; none at the end of the chain.
 * @throws RangeTooWide if the node refuses even one block.
 */
export const readRange = async (
  chain: Pick<Chain, 'movements' | 'depth'>,
  input: { readonly cursor: BlockPoint; readonly head: Head },
): Promise<Range> => {
  const { head } = input
  const fromBlock = input.cursor.number + 1n
  const [known, ...later] = ahead.get(chain) ?? []
  ahead.delete(chain)
  if (known?.fromBlock !== fromBlock) {
    const range = await startReading(chain, { fromBlock, last: head.latest.number })?.range
    if (range === undefined) return { kind: 'read', blocks: [] }
    readAhead(chain, { range, later: [], head })
    return range
  }
  const range = await known.range
  readAhead(chain, { range, later, head })
  return range
}

/** null if the chain has not come to that block. */
const startReading = (
  chain: Pick<Chain, 'movements'>,
  { fromBlock, last }: { readonly fromBlock: bigint; readonly last: bigint },
): Ahead | null => {
  if (last < fromBlock) return null
  const below = { fromBlock, asked: Math.min(blocksAtOnce(chain), Number(last - fromBlock) + 1) }
  return { ...below, range: readRangeBelow(chain, below) }
}

/** @param input.later what is read ahead already. */
const readAhead = (
  chain: Pick<Chain, 'movements' | 'depth'>,
  { range, later, head }: { readonly range: Range; readonly later: readonly Ahead[]; readonly head: Head },
): void => {
  const end = range.kind === 'read' ? range.blocks.at(-1) : undefined
  if (end === undefined) return
  const last = finalNumberOf(chain, head)
  const all = [...later]
  while (all.length < RANGES_AHEAD) {
    const { fromBlock, asked } = all.at(-1) ?? { fromBlock: end.number, asked: 1 }
    const next = startReading(chain, { fromBlock: fromBlock + BigInt(asked), last })
    if (next === null) break
    // A caller that awaits it gets its failure. Any other failure would be an unhandled rejection.
    next.range.catch(() => {})
    all.push(next)
  }
  ahead.set(chain, all)
}

/** How many blocks to read at once: whole blocks, or events that index an address. */
export const blocksAtOnce = (chain: object): number => widths.get(chain) ?? FIRST_WIDTH
export const eventBlocksAtOnce = (chain: object): number => eventWidths.get(chain) ?? MAX_WIDTH

/** `asked` blocks from `fromBlock` on, at most as many as are read at once. */
type Below = { readonly fromBlock: bigint; readonly asked: number }

type Reading = Below & {
  readonly widths: WeakMap<object, number>
  readonly width: number
  readonly max: number
  readonly read: (range: { readonly fromBlock: bigint; readonly toBlock: bigint }) => ReturnType<Chain['movements']>
}

/** Reads blocks, and records how many to request next. */
const readBlocks = async (chain: object, input: Reading): Promise<Range> => {
  const { widths, width, max, fromBlock, asked, read } = input
  try {
    const blocks = await read({ fromBlock, toBlock: fromBlock + BigInt(asked - 1) })
    if (blocks === null) return { kind: 'not_there' }
    const movementsRead = blocks.reduce((sum, block) => sum + block.movements.length, 0)
    widths.set(chain, widthAfterSuccess({ width, blocksRead: asked, movementsRead, max }))
    return { kind: 'read', blocks }
  } catch (error) {
    if (!(error instanceof RangeTooWide) || asked === 1) throw error
    widths.set(chain, widthAfterRefusal(asked))
    return { kind: 'too_wide' }
  }
}

export const readRangeBelow = async (chain: Pick<Chain, 'movements'>, below: Below): Promise<Range> => {
  const range = await readBlocks(chain, {
    ...below,
    widths,
    width: blocksAtOnce(chain),
    max: MAX_WIDTH,
    read: async (asked) => {
      const blocks = await chain.movements(asked)
      return blocks !== null && isOneChain(blocks, below) ? blocks : null
    },
  })
  if (range.kind === 'not_there') widths.set(chain, widthAfterRefusal(below.asked))
  return range
}

/** Reads only the events that index an address. */
export const readEventsBelow = (
  chain: Pick<Chain, 'eventMovements'>,
  { address, ...below }: Below & { readonly address: string },
): Promise<Range> =>
  readBlocks(chain, {
    ...below,
    widths: eventWidths,
    width: eventBlocksAtOnce(chain),
    max: MAX_EVENTS_WIDTH,
    read: (asked) => chain.eventMovements({ address, ...asked }),
  })

/** Whether these are all requested blocks, each the child of the one before: a node may answer from two branches. */
const isOneChain = (blocks: readonly BlockMovements[], { fromBlock, asked }: Below): boolean =>
  blocks.length === asked &&
  blocks.every(
    (block, index) =>
      block.number === fromBlock + BigInt(index) && (index === 0 || block.parentHash === blocks[index - 1]?.hash),
  )
