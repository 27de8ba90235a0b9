import type { Network } from '../../db/words.ts'
import type { Chain } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import type { Heads } from './gauges.ts'

/** A scrape waits at most this long for a node. The next scrape uses a later answer. */
const WAIT_MS = 1_000
/** A node is called at most once in this time, even if scrapes are more frequent. */
const CALL_INTERVAL_MS = 1_000

type Head = { latest: bigint | null; isUp: boolean; calledAtMs: number; pending: Promise<void> | null }

/** Reads the newest block of each node, for scrapes. A node that does not answer delays a scrape by a second at most. */
export const createHeads = (ctx: Pick<Ctx, 'chains'>): { read(): Promise<Heads> } => {
  const heads = new Map<Network, Head>()

  const refresh = (chain: Chain): Head => {
    const head = heads.get(chain.network) ?? { latest: null, isUp: false, calledAtMs: -Infinity, pending: null }
    heads.set(chain.network, head)
    if (head.pending !== null || performance.now() - head.calledAtMs < CALL_INTERVAL_MS) return head
    head.calledAtMs = performance.now()
    head.pending = chain
      .head()
      .then(({ latest }) => Object.assign(head, { latest: latest.number, isUp: true }))
      // The failure is counted where nodes are called.
      .catch(() => Object.assign(head, { isUp: false }))
      .then(() => Object.assign(head, { pending: null }))
      .then(() => {})
    return head
  }

  return {
    read: async () => {
      const refreshed = ctx.chains.all.map(refresh)
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, WAIT_MS)
      })
      await Promise.race([Promise.all(refreshed.map(({ pending }) => pending)), late])
      clearTimeout(timer)
      return new Map(
        [...heads].map(([network, { latest, isUp, pending }]) => [network, { latest, isUp: isUp && pending === null }]),
      )
    },
  }
}
