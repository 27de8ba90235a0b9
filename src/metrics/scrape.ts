import { createHash, timingSafeEqual } from 'node:crypto'
import { type Numbers, readNumbers } from '../../db/queries/counts.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { exposition } from './exposition.ts'
import { deploymentFamilies, processFamilies } from './families.ts'
import { createHeads } from './heads.ts'
import type { RequestMetrics } from './requests.ts'

/** A scrape that takes longer is given up by whoever scrapes: Prometheus waits 10 s. */
const DATABASE_TIMEOUT_MS = 2_000
const BEARER = /^Bearer +(\S+)$/i

type MetricsCtx = Pick<Ctx, 'config' | 'db' | 'chains' | 'vault' | 'tally' | 'log'>

const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/** @throws unauthorized where the configuration has a token and the request has not. */
const checkToken = ({ config }: Pick<Ctx, 'config'>, headers: Headers): void => {
  if (config.metricsToken === null) return
  const given = BEARER.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  // Digests: of one length, so that the comparison takes the same time whatever was given.
  if (timingSafeEqual(digest(given), digest(config.metricsToken.reveal()))) return
  throw new AppError('unauthorized', 'The header Authorization must be "Bearer " and the METRICS_TOKEN.')
}

/** null where the promise is later than that, or fails. */
const inTime = async <Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value | null> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), timeoutMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/**
 * All metrics as Prometheus reads them. It answers whatever is away: without the database, with what this process knows.
 * However many scrape at once, the database is asked by one.
 * @throws unauthorized.
 */
export const createScrape = (ctx: MetricsCtx, requests: RequestMetrics): ((headers: Headers) => Promise<string>) => {
  const heads = createHeads(ctx)
  let reading: Promise<Numbers | null> | null = null

  const read = async (): Promise<Numbers | null> => {
    try {
      await ctx.tally.flush()
      return await readNumbers(ctx.db, { timeoutMs: DATABASE_TIMEOUT_MS })
    } catch (err) {
      ctx.log.warn({ err }, 'could not read the numbers for a scrape')
      return null
    } finally {
      reading = null
    }
  }

  return async (headers) => {
    checkToken(ctx, headers)
    reading ??= read()
    const [numbers, known, ofProcess] = await Promise.all([
      inTime(reading, DATABASE_TIMEOUT_MS),
      heads.read(),
      requests.read(),
    ])
    const networks = ctx.chains.all.map(({ network }) => network)
    return (
      exposition([
        ...deploymentFamilies({ numbers, heads: known, networks }),
        ...processFamilies({ heads: known, argon2: ctx.vault.argon2Load() }),
      ]) + ofProcess
    )
  }
}
