import { Elysia } from 'elysia'
import type { ApiCtx } from '../ctx.ts'
import { checkMetricsAccess } from './listener.ts'
import { createScrape } from './scrape.ts'

/** `GET /metrics` on the main listener. It is for operators, so the OpenAPI description leaves it out. */
export const metricsRoutes = (ctx: ApiCtx) => {
  const read = createScrape(ctx)
  return new Elysia().get(
    '/metrics',
    async ({ request: { headers }, set }) => {
      set.headers['cache-control'] = 'no-store'
      checkMetricsAccess(ctx.config, { headers, isOwnListener: false })
      set.headers['content-type'] = ctx.metrics.contentType
      return read()
    },
    { detail: { hide: true } },
  )
}
