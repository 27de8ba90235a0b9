import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { CONTENT_TYPE } from './exposition.ts'
import type { RequestMetrics } from './requests.ts'
import { createScrape } from './scrape.ts'

/** For operators, and not part of the interface: the description leaves it out. */
export const metricsRoutes = (ctx: Ctx, requests: RequestMetrics) => {
  const scrape = createScrape(ctx, requests)
  return new Elysia().get(
    '/metrics',
    async ({ request, set }) => {
      set.headers['content-type'] = CONTENT_TYPE
      set.headers['cache-control'] = 'no-store'
      return scrape(request.headers)
    },
    { detail: { hide: true } },
  )
}
