// What the tests of one file share: `const service = await shared(startService())` at the top of the file.

import { afterAll } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `bun test` waits without end for what stands outside of its tests. */
const START_TIMEOUT_MS = 180_000
const STOP_TIMEOUT_MS = 60_000

const stops: (() => unknown)[] = []

/** Does it after the last test of the file; what was asked last is done first. */
export const afterTests = (stop: () => unknown): void => {
  stops.push(stop)
  // The file's hooks run in the order of their making, each for the newest that is left.
  afterAll(async () => {
    await stops.pop()?.()
  }, STOP_TIMEOUT_MS)
}

/** What was started, and is stopped after the last test of the file. */
export const shared = async <Started extends { close(): unknown } | { stop(): unknown }>(
  starting: Promise<Started>,
): Promise<Started> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('It did not start in three minutes.')), START_TIMEOUT_MS)
  const started = await Promise.race([starting, late.promise]).finally(() => clearTimeout(timer))
  afterTests(() => ('close' in started ? started.close() : started.stop()))
  return started
}

/** A folder of this file's tests, which is deleted after the last of them. */
export const sharedFolder = async (name: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), `strongroom-${name}-`))
  afterTests(() => rm(folder, { recursive: true, force: true }))
  return folder
}
