// Real Chromium, for what only a browser can show.

import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

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

/** Where Chromium is, or null: CHROMIUM_PATH, and else where it is usually installed. */
const chromiumPath = (): string | null =>
  [process.env.CHROMIUM_PATH || PATHS].flat().find((path) => existsSync(path)) ?? null

/**
 * Whether tests in a browser can run here. On a machine without one they are skipped, and it is printed why; where CI=true
 * says that a run is to prove something, they are not, and fail.
 */
export const hasChromium = (): boolean => {
  if (chromiumPath() !== null) return true
  if (process.env.CI === 'true') return true
  process.stderr.write(`${NONE} The tests that need it are skipped.\n`)
  return false
}

/** A browser with nothing in it: its profile is a new folder, which goes with it. */
export const startChromium = async (): Promise<Browser> => {
  const executablePath = chromiumPath()
  if (executablePath === null) throw new Error(NONE)
  return chromium.launch({ executablePath, headless: true, args: ARGUMENTS })
}

// For .ci/run: prints where Chromium is, or one sentence and fails.
if (import.meta.main) {
  const path = chromiumPath()
  process.stdout.write(`${path ?? NONE}\n`)
  process.exitCode = path === null ? 1 : 0
}
