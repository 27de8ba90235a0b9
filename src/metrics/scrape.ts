import { type Numbers, readNumbers } from '../../db/queries/numbers.ts'
import type { Ctx } from '../context.ts'
import { gaugesText } from './gauges.ts'
import { createHeads } from './heads.ts'

/** A scrape that takes longer is given up by whoever scrapes: Prometheus waits 10 s. */
const DATABASE_TIMEOUT_MS = 2_000

type MetricsCtx = Pick<Ctx, 'config' | 'db' | 'chains' | 'vault' | 'metrics' | 'log'>

/** null where the promise is later than that, or fails. */
const inTime = async <Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value | null> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/**
 * All metrics of an API process, as Prometheus reads them. It answers whatever is away: without the database, with what this process knows.
 * However many scrape at once, the database is asked by one.
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
    const [numbers, known] = await Promise.all([inTime(reading, DATABASE_TIMEOUT_MS), heads.read()])
    const networks = ctx.chains.all.map(({ network }) => network)
    const gauges = await gaugesText({ numbers, heads: known, networks, argon2: ctx.vault.argon2Load() })
    return gauges + (await ctx.metrics.text())
  }
}
