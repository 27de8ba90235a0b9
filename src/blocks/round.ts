import type { Chain } from '../chains/chain.ts'

/** A round ends after this time, so that a hanging node is not called hundreds of times. The next round continues. */
const ROUND_MS = 10_000

/** One pass of a periodic task over the waiting items of a network. When its time is over, it leaves the rest to the next round. */
export type Round = { readonly chain: Chain; isOver(): boolean }

/** @param input.nowMs a monotonic clock, in milliseconds. */
export const startRound = (chain: Chain, { nowMs = () => performance.now() } = {}): Round => {
  const endsAtMs = nowMs() + ROUND_MS
  return { chain, isOver: () => nowMs() >= endsAtMs }
}
