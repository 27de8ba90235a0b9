import { type Numbers, readNumbers } from '../../db/queries/numbers.ts'
import type { Ctx } from '../context.ts'
import { gaugesText } from './gauges.ts'
import { createHeads } from './heads.ts'

/** Well below the 10 s after which Prometheus gives a scrape up. */
const DATABASE_TIMEOUT_MS = 2_000

type MetricsCtx = Pick<Ctx, 'config' | 'db' | 'chains' | 'vault' | 'metrics' | 'log'>

/** Waits for the promise. @returns null if it takes longer than `timeoutMs`. */
const inTime = async <Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value | null> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/**
 * Creates the function that returns all metrics of an API process in Prometheus' text format. If the database does not answer,
 * it leaves out the database's gauges. Simultaneous scrapes share one query.
 */
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
    const [numbers, latestHeads] = await Promise.all([inTime(reading, DATABASE_TIMEOUT_MS), heads.read()])
    const networks = ctx.chains.all.map(({ network }) => network)
    const gauges = await gaugesText({ numbers, heads: latestHeads, networks, argon2: ctx.vault.argon2Load() })
    return gauges + (await ctx.metrics.text())
  }
}
