import type { ReadHead } from './member.ts'

/** More than the newest heights are not needed: a node that is below all of them is far behind. */
const KEPT_MAX = 100

/** Heads that are only a few blocks apart, by their times, are not behind: a chain may pause between two blocks. */
const FEW_BLOCKS = 3n

/**
 * How far nodes of one network are behind the best of them: for how long another one has had a block that they do not have,
 * or, at the first look, by how much their newest block is older.
 */
export const createLag = () => {
  /** Heights of the best node, with the time at which each was seen first; rising. */
  const reached: ReadHead[] = []
  return {
    see: (head: ReadHead): void => {
      const best = reached.at(-1)
      if (best !== undefined && head.number <= best.number) return
      reached.push(head)
      if (reached.length > KEPT_MAX) reached.shift()
    },
    behindMs: (own: ReadHead | null): number => {
      const best = reached.at(-1)
      if (own === null || best === undefined || own.number >= best.number) return 0
      const lacked = reached.find(({ number }) => number > own.number) ?? best
      const olderMs = best.number - own.number > FEW_BLOCKS ? best.timestampMs - own.timestampMs : 0
      return Math.max(own.readAtMs - lacked.readAtMs, olderMs, 0)
    },
  }
}
