// How many blocks to ask a node for at once: nodes limit ranges by width, by results or by bytes, each in its own way, so
// the width is found by trying, and held where a range fits into memory and into one short database transaction.

export const FIRST_WIDTH = 16
/** The widest range that hosted nodes commonly serve. */
export const MAX_WIDTH = 2_000
/** Of one address there are few events: a node that sets no limit is done sooner. */
export const MAX_EVENTS_WIDTH = 100_000
/** About 10 MB of movements, and a second of work. */
export const MOVEMENTS_AIMED_AT = 20_000

/** After a range was read. Pure. */
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

/** After a range was refused, or was not there as a whole; at least 1. Pure. */
export const widthAfterRefusal = (blocksAsked: number): number => Math.max(1, Math.floor(blocksAsked / 2))
