// Remembers which features a node lacks, so that they are not tried each time. After a while they are tried again,
// because the node may have been upgraded or replaced.

import type { Network } from '../../../db/words.ts'
import type { ChainMemory } from '../chain.ts'
import type { Rpc } from '../node/rpc.ts'

const BELIEVED_MS = 600_000

/**
 * `simulation`: eth_simulateV1; `creations`: contract creations in it; `pending`: a pending state; `call traces`:
 * debug_traceCall with callTracer and logs; `revm transfers`: the defect that revm-transfers.ts corrects.
 */
type Lack = 'simulation' | 'creations' | 'pending' | 'call traces' | 'revm transfers'

export type SimulationLimits = {
  /** Whether it was found to lack this within the last ten minutes. */
  lacks(what: Lack): boolean
  learn(what: Lack): void
}

export const createLimits = ({
  nowMs = () => performance.now(),
}: {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number
} = {}): SimulationLimits => {
  const until = new Map<Lack, number>()
  const lacks = (what: Lack): boolean => nowMs() < (until.get(what) ?? Number.NEGATIVE_INFINITY)
  return {
    lacks,
    learn: (what) => {
      // Do not extend a lack that is already known: it was not observed again.
      if (!lacks(what)) until.set(what, nowMs() + BELIEVED_MS)
    },
  }
}

/** The node of a network, what was found out about it, and the operator's declarations. */
export type NodeContext = {
  readonly rpc: Rpc
  readonly limits: SimulationLimits
  readonly memory: Pick<ChainMemory, 'readAbiItems'>
  readonly network: Network
}
