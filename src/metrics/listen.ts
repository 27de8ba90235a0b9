import type { Config } from '../config.ts'
import type { WorkerCtx } from '../context.ts'
import { listen } from '../http/listen.ts'
import { createMetricsApp } from './routes.ts'

/** Serves `/metrics`, and nothing else, on its own port, and logs the URL. @returns null if METRICS_PORT is not set. */
export const listenForScrapes = (
  ctx: WorkerCtx,
  { at, read }: { readonly at: Config['metricsListener']; readonly read: () => Promise<string> },
) => {
  if (at === null) return null
  const { fetch } = createMetricsApp(ctx, read)
  const server = listen({ fetch, hostname: at.host, port: at.port, log: ctx.log })
  ctx.log.info({ metricsUrl: `http://${server.hostname}:${server.port}/metrics` }, 'metrics')
  return server
}
