import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSecondsOf } from './process-info.ts'
import type { TetheredProcess } from './tether.ts'

/** A process that starts, and its log. */
type StartingPart = { readonly process: TetheredProcess; readonly logPath: string }

/** How long a part may do nothing while it starts. How long it works does not matter, because machines differ. */
const STILL_MAX_MS = 60_000
/** A process that only waits uses some CPU time as well, but less than this within `STILL_MAX_MS`. */
const WORK_SECONDS = 0.1
const POLL_MS = 20
const WORK_POLL_MS = 1_000
const LINES_SHOWN = 8

/** Shows the last lines of a log after a failure. */
export const endOf = async (logPath: string): Promise<string> => {
  const text = (await readFile(logPath, 'utf8').catch(() => '')).trim()
  return text === '' ? `${logPath} is empty.` : `${logPath} ends:\n${text.split('\n').slice(-LINES_SHOWN).join('\n')}`
}

/**
 * Watches whether a process works: whether its CPU time or its log grows. @returns for how long it has done nothing.
 */
const watchWork = ({ process, logPath }: StartingPart): (() => Promise<number>) => {
  let [cpuSeconds, logBytes, workedAt, lookedAt] = [0, 0, Date.now(), 0]
  return async () => {
    const now = Date.now()
    if (now - lookedAt < WORK_POLL_MS) return now - workedAt
    lookedAt = now
    const used = cpuSecondsOf(process.pid)
    const written = (await stat(logPath).catch(() => undefined))?.size ?? 0
    if (used < cpuSeconds + WORK_SECONDS && written === logBytes) return now - workedAt
    ;[cpuSeconds, logBytes, workedAt] = [used, written, now]
    return 0
  }
}

/**
 * Looks until a starting part shows something, for as long as the part works.
 * @param look returns undefined while there is nothing. It must not wait for long.
 * @returns what was found; or in words why it will not come, without the part's name: "ended (exit code 1)"
 */
export const awaitPart = async <Found>(
  part: StartingPart,
  look: () => Promise<Found | undefined>,
): Promise<{ readonly found: Found } | { readonly failure: string }> => {
  const idleMs = watchWork(part)
  for (;;) {
    // Asked first: what the part has written before its end counts.
    const wasRunning = part.process.isRunning()
    const found = await look()
    if (found !== undefined) return { found }
    if (!wasRunning) return { failure: `ended (${await part.process.exited})` }
    if ((await idleMs()) > STILL_MAX_MS) return { failure: `has done nothing for ${STILL_MAX_MS / 1000} s` }
    await sleep(POLL_MS)
  }
}
