import type { Chain } from '../chains/chain.ts'

/** A round ends after this time: a node that hangs would otherwise be asked hundreds of times. The next round goes on. */
const ROUND_MS = 10_000

/** One pass of a periodic piece of work over what waits on a network. At its end it leaves the rest to the next round. */
export type Round = { readonly chain: Chain; isOver(): boolean }

/** @param input.nowMs a monotonic clock, in milliseconds. */
export const startRound = (chain: Chain, { nowMs = () => performance.now() } = {}): Round => {
  const endsAtMs = nowMs() + ROUND_MS
  return { chain, isOver: () => nowMs() >= endsAtMs }
}
