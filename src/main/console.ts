// The console's process: config → context → listen; on SIGTERM: stop listening → finish → end.

import { countConnectionsMax } from '../../db/client.ts'
import { startWatchingKeys } from '../identity/retired-keys.ts'
import { startWritingEvents } from '../identity/security-events.ts'
import { originOf } from '../operators/console/context.ts'
import { consoleRoutes } from '../operators/console/routes.ts'
import { readConfig } from '../platform/config.ts'
import { logConnections } from '../platform/environment/database.ts'
import { explainFailure } from '../platform/environment/failure.ts'
import { warnOfUnknown } from '../platform/environment/variables.ts'
import { listen } from '../platform/http/listen.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../platform/process/libc.ts'
import { createConsoleCtx } from './console-context.ts'

const DRAIN_MS = 10_000

const main = async (): Promise<void> => {
  const dumpsNothing = await forbidCoreDumps()
  const config = readConfig(undefined, 'console')
  const base = await createConsoleCtx({ config, process: 'console' })
  const { log } = base
  if (!dumpsNothing) log.warn(CORE_DUMPS_ALLOWED)
  warnOfUnknown(base)
  await logConnections(
    base,
    countConnectionsMax({ maxConnections: config.databaseMaxConnections, waitsForEvents: false }),
  )
  const stopWritingEvents = startWritingEvents(base.securityEvents)
  const stopWatchingKeys = startWatchingKeys(base)
  const stopping = new AbortController()
  // The app is made when the port is known, because the origin of its pages may depend on it.
  const ready = Promise.withResolvers<{ readonly fetch: (request: Request) => Response | Promise<Response> }>()
  const server = listen({
    fetch: async (request) => (await ready.promise).fetch(request),
    hostname: config.consoleHost,
    port: config.consolePort,
    log,
    stopping: stopping.signal,
  })
  const origin = originOf(config, server.port)
  ready.resolve(consoleRoutes({ ...base, origin }))

  const stop = async (signal: string): Promise<void> => {
    log.info({ signal }, 'stopping')
    stopping.abort()
    const givenUp = setTimeout(() => process.exit(1), DRAIN_MS)
    await server.stop(false)
    await Promise.all([stopWritingEvents(), stopWatchingKeys()])
    await base.close({ timeoutSeconds: 2 })
    clearTimeout(givenUp)
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
  // Log this last: a supervisor that reads it may stop the process, which must then end cleanly.
  const url = `http://${server.hostname}:${server.port}`
  log.info({ url, origin, environment: config.environment }, 'listening')
}

main().catch((error: unknown) => {
  process.stderr.write(`The console cannot start: ${explainFailure(error)}\n`)
  process.exit(1)
})
