import type { Network } from '../../db/words.ts'
import type { Chain } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import type { Heads } from './gauges.ts'

/** A scrape waits for a node no longer than this; what it says later is there for the next. */
const WAIT_MS = 1_000
/** However often somebody scrapes, a node is asked no more often than this. */
const ASK_AGAIN_AFTER_MS = 1_000

type Known = { latest: bigint | null; isUp: boolean; askedAtMs: number; asking: Promise<void> | null }

/** The nodes' newest blocks, for scrapes. A node that is away holds nobody up. */
export const createHeads = (ctx: Pick<Ctx, 'chains'>): { read(): Promise<Heads> } => {
  const known = new Map<Network, Known>()

  const ask = (chain: Chain): Known => {
    const found = known.get(chain.network) ?? { latest: null, isUp: false, askedAtMs: -Infinity, asking: null }
    known.set(chain.network, found)
    if (found.asking !== null || performance.now() - found.askedAtMs < ASK_AGAIN_AFTER_MS) return found
    found.askedAtMs = performance.now()
    found.asking = chain
      .head()
      .then(({ latest }) => Object.assign(found, { latest: latest.number, isUp: true }))
      // What was wrong is counted where nodes are asked.
      .catch(() => Object.assign(found, { isUp: false }))
      .then(() => Object.assign(found, { asking: null }))
      .then(() => {})
    return found
  }

  return {
    read: async () => {
      const asked = ctx.chains.all.map(ask)
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, WAIT_MS)
      })
      await Promise.race([Promise.all(asked.map(({ asking }) => asking)), late])
      clearTimeout(timer)
      return new Map(
        [...known].map(([network, { latest, isUp, asking }]) => [network, { latest, isUp: isUp && asking === null }]),
      )
    },
  }
}
