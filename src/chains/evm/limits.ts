// What a node turned out to lack, so that it is not asked again and again. It is believed for a while and then tried again: a
// node may be upgraded, or another put behind the same address.

const BELIEVED_MS = 600_000

/**
 * `simulation`: eth_simulateV1; `creations`: in it; `pending`: a state of its own between blocks; `call traces`:
 * debug_traceCall with callTracer and its logs; `revm transfers`: what revm-transfers.ts sets right, so nothing is amiss.
 */
type Lack = 'simulation' | 'creations' | 'pending' | 'call traces' | 'revm transfers'

/** Of one node. */
export type SimulationLimits = {
  /** Whether it was found to lack this within the last ten minutes. */
  lacks(what: Lack): boolean
  learn(what: Lack): void
}

/** Nothing learnt yet. */
export const createLimits = ({
  nowMs = () => performance.now(),
}: {
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number
} = {}): SimulationLimits => {
  const until = new Map<Lack, number>()
  const lacks = (what: Lack): boolean => nowMs() < (until.get(what) ?? Number.NEGATIVE_INFINITY)
  return {
    lacks,
    learn: (what) => {
      // Whoever goes by what is believed has not seen it again.
      if (!lacks(what)) until.set(what, nowMs() + BELIEVED_MS)
    },
  }
}
