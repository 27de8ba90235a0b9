// The API process: config → context → listen; on SIGTERM: not ready → stop listening → finish → end.

import { setTimeout as sleep } from 'node:timers/promises'
import { countConnectionsMax } from '../../db/client.ts'
import { waitForAnswer } from '../../db/queries/server.ts'
import { createApp } from '../api/app.ts'
import { listenForScrapes } from '../api/metrics/listener.ts'
import { createScrape } from '../api/metrics/scrape.ts'
import { startRotatingTokenKeys } from '../identity/auth/access-token.ts'
import { startWatchingKeys } from '../identity/retired-keys.ts'
import { startWritingEvents } from '../identity/security-events.ts'
import { startFinishingSecretChanges } from '../identity/users/secret-changes.ts'
import { startRestoring } from '../operators/restore/after-failover.ts'
import { readConfig } from '../platform/config.ts'
import { logConnections } from '../platform/environment/database.ts'
import { explainFailure } from '../platform/environment/failure.ts'
import { warnOfUnknown } from '../platform/environment/variables.ts'
import { gated } from '../platform/http/gate.ts'
import { listen } from '../platform/http/listen.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../platform/process/libc.ts'
import { createApiCtx } from './contexts.ts'

/** The longest request: the runtime closes a connection on which nothing was sent for a minute. */
const DRAIN_MS = 65_000

const main = async (): Promise<void> => {
  const dumpsNothing = await forbidCoreDumps()
  const config = readConfig(undefined, 'api')
  const ctx = await createApiCtx({ config, process: 'api' })
  if (!dumpsNothing) ctx.log.warn(CORE_DUMPS_ALLOWED)
  warnOfUnknown(ctx)
  await logConnections(
    ctx,
    countConnectionsMax({ maxConnections: config.databaseMaxConnections, waitsForEvents: true }),
  )
  const stopWritingEvents = startWritingEvents(ctx.securityEvents)
  const stopRotating = startRotatingTokenKeys(ctx)
  const stopWatchingKeys = startWatchingKeys(ctx)
  const stopFinishing = startFinishingSecretChanges(ctx)
  const stopRestoring = startRestoring(ctx)
  const { log } = ctx
  const stopping = new AbortController()
  const app = createApp(ctx, { stopping: stopping.signal })
  const server = listen({
    fetch: gated(ctx.requests.watch(app.fetch), {
      ...config,
      probe: () => Promise.all([waitForAnswer(ctx.db), ctx.vault.status()]),
      onRefused: () => ctx.metrics.requestsRefused.inc(),
    }),
    hostname: config.host,
    port: config.port,
    log,
    stopping: stopping.signal,
  })

  const stop = async (signal: string): Promise<void> => {
    log.info({ signal, graceSeconds: config.shutdownGraceSeconds }, 'stopping')
    stopping.abort()
    // Load balancers go on sending requests until they have asked /readyz again.
    await sleep(config.shutdownGraceSeconds * 1000)
    const givenUp = setTimeout(() => {
      log.error('stopped before all requests had ended')
      process.exit(1)
    }, DRAIN_MS)
    await server.stop(false)
    await Promise.all([
      metrics?.stop(true),
      stopWritingEvents(),
      stopRotating(),
      stopWatchingKeys(),
      stopFinishing(),
      stopRestoring(),
    ])
    await Promise.all([ctx.tracer.close(), ctx.close({ timeoutSeconds: 2 })])
    clearTimeout(givenUp)
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
  // Log this last: a supervisor that reads it may stop the process, which must then end cleanly.
  const metrics = listenForScrapes(ctx, { at: config.metricsListener, read: createScrape(ctx) })
  const url = `http://${server.hostname}:${server.port}`
  log.info(
    { url, environment: config.environment, networks: ctx.chains.all.map(({ network }) => network) },
    'listening',
  )
}

main().catch((error: unknown) => {
  process.stderr.write(`The server cannot start: ${explainFailure(error)}\n`)
  process.exit(1)
})
