// The era of an extrinsic: how many blocks it stays valid. The network's file gives the time in seconds. Block times
// differ between networks (2 to 12 seconds), so they are measured on the newest final blocks from time to time.

import { lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { BlockRef } from '../chain.ts'
import type { Rpc } from '../node/rpc.ts'
import { hashQuestion } from './blocks.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { timestampQuestion } from './storage.ts'

/** How many blocks are measured. Nodes keep the state of 256. */
const MEASURED_BLOCKS = 64n
const MEASURED_AGAIN_MS = 600_000
/** If blocks take more than this many times the usual time, the chain stood still: then the usual time counts. */
const SLOW_TIMES = 2
const PERIOD_MIN = 4
const PERIOD_MAX = 65_536

/** The smallest power of two that is at least `count`. */
const powerAbove = (count: number): number => 2 ** Math.ceil(Math.log2(count))

export type Eras = {
  /** The period of an extrinsic that is made now, in blocks; a power of two. */
  blocks(head: BlockRef): Promise<number>
}

export const createEras = (input: {
  readonly rpc: Rpc
  readonly row: Pick<SubstrateNetworkRow, 'era' | 'blockIntervalMs'>
  readonly nowMs?: () => number
}): Eras => {
  const { rpc, row, nowMs = () => performance.now() } = input
  const { seconds, least, most } = row.era
  let measured: { readonly blocks: number; readonly atMs: number } | null = null

  const measure = async ({ number, timestampMs }: BlockRef): Promise<number> => {
    const span = lower(number, MEASURED_BLOCKS)
    const hash = span === 0n ? null : await rpc.ask(hashQuestion(number - span))
    if (hash === null) return least
    const measuredMs = (timestampMs - (await rpc.ask(timestampQuestion(hash)))) / Number(span)
    const blockMs = measuredMs > SLOW_TIMES * row.blockIntervalMs ? row.blockIntervalMs : measuredMs
    const wished = (seconds * 1_000) / blockMs
    return Number.isFinite(wished) && wished > 0 ? Math.min(Math.max(powerAbove(wished), least), most) : least
  }

  const blocks: Eras['blocks'] = async (head) => {
    if (least === most) return least
    if (measured !== null && nowMs() - measured.atMs < MEASURED_AGAIN_MS) return measured.blocks
    measured = { blocks: await measure(head), atMs: nowMs() }
    return measured.blocks
  }
  return { blocks }
}

/**
 * Checks a period that the caller chose, in blocks. It is limited to the block hashes that the runtime keeps: without
 * the hash of its first block an extrinsic is invalid.
 * @param field the request's field with the period, for errors.
 */
export const chosenEra = (
  runtime: Pick<Runtime, 'constants'>,
  { period, field = 'unsigned_transaction.era' }: { readonly period: number; readonly field?: string },
): number => {
  const rememberedBlocks = Number(constantOf(runtime, 'system', 'blockHashCount') ?? 0n)
  const most = rememberedBlocks === 0 ? PERIOD_MAX : Math.min(PERIOD_MAX, powerAbove(rememberedBlocks + 1) / 2)
  if (period >= PERIOD_MIN && period <= most && Number.isInteger(Math.log2(period))) return period
  const sentence = `Field "${field}" must be a power of two from ${PERIOD_MIN} to ${most}, the number of blocks for which the extrinsic is valid.`
  throw new AppError('invalid_input', sentence)
}
