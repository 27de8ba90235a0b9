import { Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { answerOf } from '../http/failure.ts'
import { addressOf, subnetOf } from '../http/peer.ts'
import { checkMetricsAccess } from './access.ts'
import { CONTENT_TYPE } from './exposition.ts'
import type { RequestMetrics } from './requests.ts'
import { createScrape } from './scrape.ts'

const routes = (ctx: Ctx, { requests, isApart }: { readonly requests: RequestMetrics; readonly isApart: boolean }) => {
  const scrape = createScrape(ctx, requests)
  return new Elysia().get(
    '/metrics',
    async ({ request: { headers }, set }) => {
      set.headers['cache-control'] = 'no-store'
      checkMetricsAccess(ctx.config, { headers, isApart })
      set.headers['content-type'] = CONTENT_TYPE
      return scrape()
    },
    { detail: { hide: true } },
  )
}

/** For operators, and not part of the interface: the description leaves it out. */
export const metricsRoutes = (ctx: Ctx, requests: RequestMetrics) => routes(ctx, { requests, isApart: false })

/** The same at a listener of its own, with nothing else. */
export const createMetricsApp = (ctx: Ctx, requests: RequestMetrics) =>
  new Elysia()
    .onError(({ error, request, set }) => {
      const { status, body, event, unexpected } = answerOf(error)
      if (event !== null) ctx.securityEvents.tell({ event, from: subnetOf(addressOf(ctx.config, request)) })
      if (unexpected) ctx.log.error({ err: error }, 'a scrape failed')
      set.status = status
      return body
    })
    .use(routes(ctx, { requests, isApart: true }))
