// The API process: config → context → listen → drain on SIGTERM.

import { createApp } from './app.ts'
import { startRotatingTokenKeys } from './auth/access-token.ts'
import { readConfig } from './config.ts'
import { createCtx } from './context.ts'
import { sentenceOf } from './environment/failure.ts'
import { warnOfUnknown } from './environment/unknown-variables.ts'
import { listen } from './http/listen.ts'
import { listenForScrapes } from './metrics/routes.ts'
import { createScrape } from './metrics/scrape.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from './security/core-dumps.ts'
import { startWritingEvents } from './security/events.ts'

/** How long running requests may take after a stop signal. */
const DRAIN_MS = 10_000

const main = async (): Promise<void> => {
  const dumpsNothing = await forbidCoreDumps()
  const config = readConfig()
  const ctx = await createCtx({ config, process: 'api' })
  if (!dumpsNothing) ctx.log.warn(CORE_DUMPS_ALLOWED)
  warnOfUnknown(ctx)
  const stopWritingEvents = startWritingEvents(ctx.securityEvents)
  const stopRotating = startRotatingTokenKeys(ctx)
  const { log } = ctx
  const server = listen({ fetch: createApp(ctx).fetch, hostname: config.host, port: config.port, log })

  const stop = async (signal: string): Promise<void> => {
    ctx.log.info({ signal }, 'stopping')
    const givenUp = setTimeout(() => process.exit(1), DRAIN_MS)
    await Promise.all([server.stop(false), metrics?.stop(true)])
    await Promise.all([stopWritingEvents(), stopRotating()])
    await ctx.db.close({ timeoutSeconds: 2 })
    clearTimeout(givenUp)
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
  // Log this last: whoever reads it may stop the process, which must then end cleanly.
  const metrics = listenForScrapes(ctx, { at: config.metricsListener, read: createScrape(ctx) })
  const url = `http://${server.hostname}:${server.port}`
  log.info(
    { url, environment: config.environment, networks: ctx.chains.all.map(({ network }) => network) },
    'listening',
  )
}

main().catch((error: unknown) => {
  process.stderr.write(`The server cannot start: ${sentenceOf(error)}\n`)
  process.exit(1)
})
