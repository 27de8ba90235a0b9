// The set-up for tests of the console: the operator's world, the console in this process at a port of its own and with its own
// database login, and Chromium.

import type { Browser, Page } from 'playwright-core'
import { freePort } from '../../devnet/port.ts'
import { readConfig } from '../../src/config.ts'
import { createConsoleCtx } from '../../src/console/context.ts'
import { consoleRoutes } from '../../src/console/routes.ts'
import { listen } from '../../src/http/listen.ts'
import { startOperatorWorld } from '../cli/operator-world.ts'
import { startChromium } from '../support/chromium.ts'
import type { Service } from '../support/service.ts'

const WAIT_MS = 20_000

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

export const startConsoleWorld = async () => {
  const world = await startOperatorWorld()
  const ours = await startConsole(world.service)
  const browser: Browser = await startChromium()
  const { origin, port } = ours

  const newPage = async (options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(WAIT_MS)
    return context.newPage()
  }

  /** What the command prints: a link. */
  const linkFor = async (name: string, role: 'viewer' | 'operator'): Promise<string> => {
    const { exitCode, output, errors } = await world.cli('console', 'link', '--name', name, '--role', role)
    if (exitCode !== 0) throw new Error(errors)
    return output.trim().replace('http://localhost:3900', origin)
  }

  /** A page of somebody who has logged in by a link. */
  const logIn = async (
    name: string,
    role: 'viewer' | 'operator',
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<Page> => {
    const page = await newPage(options)
    await page.goto(await linkFor(name, role))
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    return page
  }

  return {
    ...world,
    origin,
    port,
    ours,
    newPage,
    linkFor,
    logIn,
    close: async () => {
      await browser.close()
      await ours.close()
      await world.close()
    },
  }
}

export type ConsoleWorld = Awaited<ReturnType<typeof startConsoleWorld>>
