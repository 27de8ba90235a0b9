// Metrics on a listener of their own, which a worker has too. It loads no web framework: it has one path.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import type { Config, HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { challengeFor, describeError } from '../../platform/http/failure.ts'
import { listen } from '../../platform/http/listen.ts'
import { addressOf, subnetOf } from '../../platform/http/peer.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasLog } from '../../platform/process/log.ts'

const BEARER = /^Bearer +(\S+)$/i

const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/** Without METRICS_TOKEN, metrics are open on their own listener, or on the main one of a devnet without that. */
export const checkMetricsAccess = (
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

type Read = () => Promise<string>

type ScrapedCtx = HasConfig & HasMetrics & HasSecurityEvents & HasLog

const PATH = '/metrics'

const scrape = (ctx: ScrapedCtx, request: Request, read: Read): Promise<string> => {
  const isScrape = new URL(request.url).pathname === PATH && /^(?:GET|HEAD)$/.test(request.method)
  if (!isScrape) throw new AppError('not_found', 'There is no such path.')
  checkMetricsAccess(ctx.config, { headers: request.headers, isOwnListener: true })
  return read()
}

const refuse = (ctx: ScrapedCtx, request: Request, error: unknown): Response => {
  const { status, body, event, unexpected } = describeError(error)
  if (event !== null) ctx.securityEvents.record({ event, from: subnetOf(addressOf(ctx.config, request)) })
  if (unexpected) ctx.log.error({ err: error }, 'a scrape failed')
  const challenge = status === 401 ? { 'www-authenticate': challengeFor(request.headers, body.code) } : {}
  return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...challenge } })
}

/** Serves `/metrics`, and nothing else, on its own port, and logs the URL. @returns null if METRICS_PORT is not set. */
export const listenForScrapes = (
  ctx: ScrapedCtx,
  { at, read }: { readonly at: Config['metricsListener']; readonly read: Read },
) => {
  if (at === null) return null
  const fetch = async (request: Request): Promise<Response> => {
    try {
      const headers = { 'cache-control': 'no-store', 'content-type': ctx.metrics.contentType }
      return new Response(await scrape(ctx, request, read), { headers })
    } catch (error) {
      return refuse(ctx, request, error)
    }
  }
  const server = listen({ fetch, hostname: at.host, port: at.port, log: ctx.log })
  ctx.log.info({ metricsUrl: `http://${server.hostname}:${server.port}${PATH}` }, 'metrics')
  return server
}
