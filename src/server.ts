// The API process: config → context → listen → drain on SIGTERM.

import { createApp } from './app.ts'
import { MAX_READ_BYTES } from './body.ts'
import { readConfig } from './config.ts'
import { createCtx } from './context.ts'

/** Requests that are running when the process is told to stop get this long. */
const DRAIN_MS = 10_000
const IDLE_TIMEOUT_SECONDS = 60

const main = async (): Promise<void> => {
  const config = readConfig()
  const ctx = await createCtx({ config, process: 'api' })
  const app = createApp(ctx)
  // Reads a little further than the app allows, so that the answer to a large body is the app's own.
  const server = Bun.serve({
    hostname: config.host,
    port: config.port,
    maxRequestBodySize: MAX_READ_BYTES + 1024,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    fetch: app.fetch,
  })
  ctx.log.info({ url: `http://${server.hostname}:${server.port}`, environment: config.environment }, 'listening')

  const stop = async (signal: string): Promise<void> => {
    ctx.log.info({ signal }, 'stopping')
    const givenUp = setTimeout(() => process.exit(1), DRAIN_MS)
    await server.stop(false)
    await ctx.db.close({ timeoutSeconds: 2 })
    clearTimeout(givenUp)
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
}

main().catch((error: unknown) => {
  process.stderr.write(`The server cannot start: ${error instanceof Error ? error.message : 'unknown failure'}\n`)
  process.exit(1)
})
