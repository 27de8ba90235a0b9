import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../../../db/words.ts'
import type { NodeView } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { atMostEvery } from '../../platform/queue.ts'

export type WatchedNode = NodeView & { readonly network: Network }

const LOOK_INTERVAL_MS = 2_000

/** Asks the nodes while somebody reads pages. A page waits only as long as it says, and shows what was heard last. */
export const createNodeWatch = ({ chains }: HasChains) => {
  // It does not reject for a node that does not answer.
  const look = atMostEvery(LOOK_INTERVAL_MS, () => Promise.all(chains.all.map(({ lookAtNodes }) => lookAtNodes())))

  return {
    read: async ({ waitMs }: { readonly waitMs: number }): Promise<readonly WatchedNode[]> => {
      await Promise.race([look(), sleep(waitMs, null, { ref: false })])
      return chains.all.flatMap(({ network, nodeViews }) => nodeViews().map((view) => ({ ...view, network })))
    },
  }
}
