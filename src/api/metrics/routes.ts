import { createHash, timingSafeEqual } from 'node:crypto'
import { Elysia } from 'elysia'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { challengeFor, describeError } from '../../platform/http/failure.ts'
import { listen } from '../../platform/http/listen.ts'
import { addressOf, subnetOf } from '../../platform/http/peer.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { ApiCtx } from '../ctx.ts'
import { createScrape } from './scrape.ts'

const BEARER = /^Bearer +(\S+)$/i

const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/** Without METRICS_TOKEN, metrics are open on their own listener, or on the main one of a devnet without that. */
const checkMetricsAccess = (
  config: Pick<Config, 'metricsToken' | 'metricsListener' | 'devnet'>,
  input: { readonly headers: Headers; readonly isOwnListener: boolean },
): void => {
  if (config.metricsToken === null) {
    if (input.isOwnListener || (config.devnet && config.metricsListener === null)) return
    throw new AppError(
      'unauthorized',
      'Metrics are closed here: set METRICS_TOKEN, or METRICS_PORT for a listener of their own.',
    )
  }
  const given = BEARER.exec(input.headers.get('authorization') ?? '')?.[1] ?? ''
  // Compare digests: they have the same length, so the comparison always takes the same time.
  if (timingSafeEqual(digest(given), digest(config.metricsToken.reveal()))) return
  throw new AppError('unauthorized', 'The header Authorization must be "Bearer " and the METRICS_TOKEN.', {
    event: given === '' ? undefined : { kind: 'metrics_token_wrong', projectId: null },
  })
}

type RouteInput = { readonly read: () => Promise<string>; readonly isOwnListener: boolean }

type ScrapedCtx = HasConfig & HasMetrics & HasSecurityEvents & HasLog

const routes = (ctx: ScrapedCtx, { read, isOwnListener }: RouteInput) =>
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
export const metricsRoutes = (ctx: ApiCtx) => routes(ctx, { read: createScrape(ctx), isOwnListener: false })

/** Serves `/metrics`, and nothing else, on its own port, and logs the URL. @returns null if METRICS_PORT is not set. */
export const listenForScrapes = (
  ctx: ScrapedCtx,
  { at, read }: { readonly at: Config['metricsListener']; readonly read: () => Promise<string> },
) => {
  if (at === null) return null
  const { fetch } = new Elysia()
    .onError(({ error, request, set }) => {
      const { status, body, event, unexpected } = describeError(error)
      if (event !== null) ctx.securityEvents.record({ event, from: subnetOf(addressOf(ctx.config, request)) })
      if (unexpected) ctx.log.error({ err: error }, 'a scrape failed')
      if (status === 401) set.headers['www-authenticate'] = challengeFor(request.headers, body.code)
      set.status = status
      return body
    })
    .use(routes(ctx, { read, isOwnListener: true }))
  const server = listen({ fetch, hostname: at.host, port: at.port, log: ctx.log })
  ctx.log.info({ metricsUrl: `http://${server.hostname}:${server.port}/metrics` }, 'metrics')
  return server
}
