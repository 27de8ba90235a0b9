import { freePort } from '../../devnet/port.ts'
import { createConsoleCtx } from '../../src/main/console-context.ts'
import { consoleRoutes } from '../../src/operators/console/routes.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import type { Service } from './service.ts'

/** The console of a service, in this process. */
export const startConsole = async (service: Service, changes: Readonly<Record<string, string>> = {}) => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const variables = {
    ...service.variables,
    DATABASE_URL: service.database.consoleUrl,
    CONSOLE_PORT: String(port),
    ...changes,
  }
  const ctx = await createConsoleCtx({ config: readConfig(variables, 'console'), process: 'console' })
  const server = listen({
    fetch: consoleRoutes({ ...ctx, origin }).fetch,
    hostname: '127.0.0.1',
    port,
    log: ctx.log,
  })
  const close = async () => {
    await server.stop(true)
    await ctx.securityEvents.flush()
    await ctx.close({ timeoutSeconds: 5 })
  }
  return { ctx, port, origin, close }
}
