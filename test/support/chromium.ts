// Real Chromium, for tests that need a browser.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type Browser, chromium, type Page } from 'playwright-core'

const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/**
 * Chromium without windows, tabs and a profile's services, as Debian packages it: pages take about a third of the CPU
 * time.
 */
const HEADLESS_SHELL = '/usr/lib/chromium/chromium-headless-shell'

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const NONE = `No Chromium was found: install one, or let CHROMIUM_PATH say where it is. Otherwise it is looked for at ${PATHS.join(', ')}.`

/** The path of Chromium, or null: CHROMIUM_PATH, or one of the usual places. */
const chromiumPath = (): string | null =>
  [process.env.CHROMIUM_PATH || PATHS].flat().find((path) => existsSync(path)) ?? null

/** The headless shell where it is installed, unless CHROMIUM_PATH names a browser. */
const shellPath = (): string | null =>
  !process.env.CHROMIUM_PATH && existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : null

/**
 * Whether tests in a browser can run here. Without a browser they are skipped with a printed reason. With CI=true they
 * are not skipped but fail.
 */
export const hasChromium = (): boolean => {
  if (chromiumPath() !== null) return true
  if (process.env.CI === 'true') return true
  process.stderr.write(`${NONE} The tests that need it are skipped.\n`)
  return false
}

/**
 * A browser with an empty profile in a new folder, which is deleted with it.
 * @param input.keepsPages pages that were left are kept for the way back (bfcache), which only the whole Chromium does
 */
export const startChromium = async ({ keepsPages = false } = {}): Promise<Browser> => {
  const executablePath = keepsPages ? chromiumPath() : (shellPath() ?? chromiumPath())
  if (executablePath === null) throw new Error(NONE)
  return chromium.launch({
    executablePath,
    headless: true,
    args: ARGUMENTS,
    ignoreDefaultArgs: keepsPages ? ['--disable-back-forward-cache'] : [],
  })
}

const AXE = new URL(import.meta.resolve('axe-core/axe.min.js'))

/** The accessibility problems that axe-core finds on the page as it is now. */
export const accessibilityProblemsOn = async (page: Page): Promise<readonly string[]> => {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(await readFile(AXE, 'utf8'))
  const found: unknown = await page.evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html).join(" ")))',
  )
  return found as string[]
}

// For .ci/run: prints what was found. Fails without Chromium, and with `--all` without the headless shell too.
if (import.meta.main) {
  const [chromium, shell] = [chromiumPath(), shellPath()]
  process.stdout.write(
    `${chromium ?? NONE}\n${shell ?? 'Without chromium-headless-shell the tests of pages take longer.'}\n`,
  )
  process.exitCode = chromium === null || (shell === null && process.argv.includes('--all')) ? 1 : 0
}
