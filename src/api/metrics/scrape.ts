import { setTimeout as sleep } from 'node:timers/promises'
import type { HasDb } from '../../../db/client.ts'
import { type Numbers, readNumbers } from '../../../db/queries/numbers.ts'
import type { Network } from '../../../db/words.ts'
import type { BlockRef, Chain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasSpace } from '../../platform/space.ts'
import type { HasVault } from '../../vault/contract/vault.ts'
import { gaugesText, type Heads } from './gauges.ts'

/** Well below the 10 s after which Prometheus gives a scrape up. */
const DATABASE_TIMEOUT_MS = 2_000

type MetricsCtx = HasConfig & HasDb & HasChains & HasVault & HasMetrics & HasLog & HasSpace

/** Waits for the promise. @returns null if it takes longer than `timeoutMs`. */
const inTime = <Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value | null> =>
  Promise.race([promise, sleep(timeoutMs, null, { ref: false })])

/** A scrape waits at most this long for a node. The next scrape uses a later answer. */
const NODE_TIMEOUT_MS = 1_000
/** A node is called at most once in this time, even if scrapes are more frequent. */
const CALL_INTERVAL_MS = 1_000

type Head = { latest: BlockRef | null; isUp: boolean; calledAtMs: number; pending: Promise<void> | null }

/** Reads the newest block of each node. A node that does not answer delays a scrape by a second at most. */
const createHeads = (ctx: HasChains): { read(): Promise<Heads> } => {
  const heads = new Map<Network, Head>()

  const refresh = (chain: Pick<Chain, 'network' | 'head'>): Head => {
    const head = heads.get(chain.network) ?? { latest: null, isUp: false, calledAtMs: -Infinity, pending: null }
    heads.set(chain.network, head)
    if (head.pending !== null || performance.now() - head.calledAtMs < CALL_INTERVAL_MS) return head
    head.calledAtMs = performance.now()
    head.pending = chain
      .head()
      .then(({ latest }) => Object.assign(head, { latest, isUp: true }))
      // The failure is counted where nodes are called.
      .catch(() => Object.assign(head, { isUp: false }))
      .then(() => Object.assign(head, { pending: null }))
      .then(() => {})
    return head
  }

  return {
    read: async () => {
      await inTime(Promise.all(ctx.chains.all.map((chain) => refresh(chain).pending)), NODE_TIMEOUT_MS)
      return new Map(
        [...heads].map(([network, { latest, isUp, pending }]) => [network, { latest, isUp: isUp && pending === null }]),
      )
    },
  }
}

/** Simultaneous scrapes share one query. If the database does not answer, its gauges are left out. */
export const createScrape = (ctx: MetricsCtx): (() => Promise<string>) => {
  const heads = createHeads(ctx)
  let reading: Promise<Numbers | null> | null = null

  const read = async (): Promise<Numbers | null> => {
    try {
      return await readNumbers(ctx.db, { timeoutMs: DATABASE_TIMEOUT_MS })
    } catch (err) {
      ctx.log.warn({ err }, 'could not read the numbers for a scrape')
      return null
    } finally {
      reading = null
    }
  }

  return async () => {
    reading ??= read()
    const [numbers, latestHeads, isFull, vault] = await Promise.all([
      inTime(reading, DATABASE_TIMEOUT_MS),
      heads.read(),
      inTime(ctx.space.isFull(), DATABASE_TIMEOUT_MS),
      inTime(
        ctx.vault.status().catch(() => null),
        DATABASE_TIMEOUT_MS,
      ),
    ])
    const networks = ctx.chains.all.map(({ network }) => network)
    const nodes = ctx.chains.all.flatMap(({ network, nodeViews }) => nodeViews().map((view) => ({ ...view, network })))
    const gauges = await gaugesText({
      numbers,
      isFull,
      heads: latestHeads,
      nodes,
      networks,
      ageLimits: ctx.chains.all,
      argon2: vault?.argon2 ?? null,
    })
    return gauges + (await ctx.metrics.text())
  }
}
