import { setTimeout as sleep } from 'node:timers/promises'
import type { Network } from '../../db/words.ts'
import type { NodeView } from '../chains/chain.ts'
import type { AskingCtx } from '../context.ts'

export type WatchedNode = NodeView & { readonly network: Network }

/** Nodes are asked at most once in this time, however many pages are read. */
const LOOK_INTERVAL_MS = 2_000

/** Asks the nodes while somebody reads pages. A page waits only as long as it says, and shows what was heard last. */
export const createNodeWatch = ({ chains }: Pick<AskingCtx, 'chains'>) => {
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let looking: Promise<unknown> = Promise.resolve()

  const look = (): Promise<unknown> => {
    if (performance.now() - lookedAtMs < LOOK_INTERVAL_MS) return looking
    lookedAtMs = performance.now()
    // It does not reject for a node that does not answer.
    looking = Promise.all(chains.all.map(({ lookAtNodes }) => lookAtNodes()))
    return looking
  }

  return {
    read: async ({ waitMs }: { readonly waitMs: number }): Promise<readonly WatchedNode[]> => {
      await Promise.race([look(), sleep(waitMs, null, { ref: false })])
      return chains.all.flatMap(({ network, nodeViews }) => nodeViews().map((view) => ({ ...view, network })))
    },
  }
}
