import { Elysia } from 'elysia'
import type { Ctx, WorkerCtx } from '../context.ts'
import { answerOf } from '../http/failure.ts'
import { addressOf, subnetOf } from '../http/peer.ts'
import { checkMetricsAccess } from './access.ts'
import { createScrape } from './scrape.ts'

type RouteCtx = Pick<WorkerCtx, 'config' | 'metrics'>
type RouteInput = { readonly read: () => Promise<string>; readonly isOwnListener: boolean }

const routes = (ctx: RouteCtx, { read, isOwnListener }: RouteInput) =>
  new Elysia().get(
    '/metrics',
    async ({ request: { headers }, set }) => {
      set.headers['cache-control'] = 'no-store'
      checkMetricsAccess(ctx.config, { headers, isOwnListener })
      set.headers['content-type'] = ctx.metrics.contentType
      return read()
    },
    { detail: { hide: true } },
  )

/** `GET /metrics` on the main listener. It is for operators, so the OpenAPI description leaves it out. */
export const metricsRoutes = (ctx: Ctx) => routes(ctx, { read: createScrape(ctx), isOwnListener: false })

/** An app with `GET /metrics` and nothing else, for the metrics' own listener. */
export const createMetricsApp = (ctx: WorkerCtx, read: () => Promise<string>) =>
  new Elysia()
    .onError(({ error, request, set }) => {
      const { status, body, event, unexpected } = answerOf(error)
      if (event !== null) ctx.securityEvents.record({ event, from: subnetOf(addressOf(ctx.config, request)) })
      if (unexpected) ctx.log.error({ err: error }, 'a scrape failed')
      set.status = status
      return body
    })
    .use(routes(ctx, { read, isOwnListener: true }))
