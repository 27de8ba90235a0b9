// The set-up for tests of the console: the operator's world, the console in this process at a port of its own and with
// its own database login, and Chromium.

import type { Browser, Page } from 'playwright-core'
import { startOperatorWorld } from '../cli/operator-world.ts'
import { startChromium } from '../support/chromium.ts'
import { startConsole } from '../support/console.ts'

const WAIT_MS = 20_000

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
