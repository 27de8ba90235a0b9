import { Elysia } from 'elysia'
import type { Ctx, WorkerCtx } from '../context.ts'
import { answerOf } from '../http/failure.ts'
import { addressOf, subnetOf } from '../http/peer.ts'
import { checkMetricsAccess } from './access.ts'
import { createScrape } from './scrape.ts'

type Scraped = Pick<WorkerCtx, 'config' | 'metrics'>

const routes = (ctx: Scraped, { read, isApart }: { readonly read: () => Promise<string>; readonly isApart: boolean }) =>
  new Elysia().get(
    '/metrics',
    async ({ request: { headers }, set }) => {
      set.headers['cache-control'] = 'no-store'
      checkMetricsAccess(ctx.config, { headers, isApart })
      set.headers['content-type'] = ctx.metrics.contentType
      return read()
    },
    { detail: { hide: true } },
  )

/** For operators, and not part of the interface: the description leaves it out. */
export const metricsRoutes = (ctx: Ctx) => routes(ctx, { read: createScrape(ctx), isApart: false })

/** The same at a listener of its own, with nothing else. */
export const createMetricsApp = (ctx: WorkerCtx, read: () => Promise<string>) =>
  new Elysia()
    .onError(({ error, request, set }) => {
      const { status, body, event, unexpected } = answerOf(error)
      if (event !== null) ctx.securityEvents.record({ event, from: subnetOf(addressOf(ctx.config, request)) })
      if (unexpected) ctx.log.error({ err: error }, 'a scrape failed')
      set.status = status
      return body
    })
    .use(routes(ctx, { read, isApart: true }))
