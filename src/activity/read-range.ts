import type { BlockPoint } from '../../db/queries/cursors.ts'
import type { Head } from '../blocks/fork.ts'
import { type BlockMovements, type Chain, RangeTooWide } from '../chains/chain.ts'
import { FIRST_WIDTH, MAX_EVENTS_WIDTH, MAX_WIDTH, widthAfterRefusal, widthAfterSuccess } from './range-width.ts'

/** `not_there`: the node does not have all of it (yet), or changed its mind about the chain while it was read. */
export type Range =
  | { readonly kind: 'read'; readonly blocks: readonly BlockMovements[] }
  | { readonly kind: 'too_wide' }
  | { readonly kind: 'not_there' }

/** What was learnt of a node lives as long as its chain object does: a restart learns it again in a few ranges. */
const widths = new WeakMap<Chain, number>()

/**
 * Reads the blocks after a cursor, as many as the node has shown that it serves at once; none at the end of the chain.
 * @throws node_unavailable; RangeTooWide where the node refuses even one block.
 */
export const readRange = async (
  chain: Chain,
  input: { readonly cursor: BlockPoint; readonly head: Head },
): Promise<Range> => {
  const behind = Number(input.head.latest.number - input.cursor.number)
  if (behind <= 0) return { kind: 'read', blocks: [] }
  const width = widths.get(chain) ?? FIRST_WIDTH
  return readBlocks(chain, { width, asked: Math.min(width, behind), fromBlock: input.cursor.number + 1n })
}

/** Reads blocks below one that was read already, as many at once; at least one. @throws as readRange. */
export const readRangeBelow = async (
  chain: Chain,
  input: { readonly above: bigint; readonly floor: bigint },
): Promise<Range & { readonly fromBlock: bigint }> => {
  const width = widths.get(chain) ?? FIRST_WIDTH
  const asked = Math.min(width, Number(input.above - input.floor))
  const fromBlock = input.above - BigInt(asked)
  return { ...(await readBlocks(chain, { width, asked, fromBlock })), fromBlock }
}

const readBlocks = async (
  chain: Chain,
  input: { readonly width: number; readonly asked: number; readonly fromBlock: bigint },
): Promise<Range> => {
  const { width, asked, fromBlock } = input
  try {
    const blocks = await chain.movements({ fromBlock, toBlock: fromBlock + BigInt(asked - 1) })
    if (blocks === null || !isOneChain(blocks, { fromBlock, asked })) {
      widths.set(chain, widthAfterRefusal(asked))
      return { kind: 'not_there' }
    }
    const movementsRead = blocks.reduce((sum, block) => sum + block.movements.length, 0)
    widths.set(chain, widthAfterSuccess({ width, blocksRead: asked, movementsRead }))
    return { kind: 'read', blocks }
  } catch (error) {
    if (!(error instanceof RangeTooWide) || asked === 1) throw error
    widths.set(chain, widthAfterRefusal(asked))
    return { kind: 'too_wide' }
  }
}

const eventWidths = new WeakMap<Chain, number>()

/** Likewise, but only what events that index an address tell of it. @throws as readRange. */
export const readEventsBelow = async (
  chain: Chain,
  input: { readonly above: bigint; readonly address: string },
): Promise<Range & { readonly fromBlock: bigint }> => {
  const { above, address } = input
  const width = eventWidths.get(chain) ?? MAX_WIDTH
  const asked = above < BigInt(width) ? Number(above) : width
  const fromBlock = above - BigInt(asked)
  try {
    const blocks = await chain.eventMovements({ address, fromBlock, toBlock: above - 1n })
    if (blocks === null) return { kind: 'not_there', fromBlock }
    const movementsRead = blocks.reduce((sum, block) => sum + block.movements.length, 0)
    const max = MAX_EVENTS_WIDTH
    eventWidths.set(chain, widthAfterSuccess({ width, blocksRead: asked, movementsRead, max }))
    return { kind: 'read', blocks, fromBlock }
  } catch (error) {
    if (!(error instanceof RangeTooWide) || asked === 1) throw error
    eventWidths.set(chain, widthAfterRefusal(asked))
    return { kind: 'too_wide', fromBlock }
  }
}

/** Every block that was asked for, in order, each the child of the one before: a range may be read by several calls. */
const isOneChain = (
  blocks: readonly BlockMovements[],
  range: { readonly fromBlock: bigint; readonly asked: number },
): boolean =>
  blocks.length === range.asked &&
  blocks.every(
    (block, index) =>
      block.number === range.fromBlock + BigInt(index) && (index === 0 || block.parentHash === blocks[index - 1]?.hash),
  )
