import { isRunning, readProcess } from './process-info.ts'

/**
 * `npx bun run dev` is four processes: npm, its shell, `bun run`, and this one. npm passes a SIGTERM only to its shell,
 * and nobody hears of a killed npm. So this process watches the package runner that started it.
 */
const RUNNER = /(^|[/ ])(npm|npx|pnpm|yarn)\b|(^|\/)bun(\.exe)? run /
const ANCESTORS_MAX = 4
const POLL_MS = 250

/** The processes from this one (excluded) up to the package runner that started it. */
const runnerChain = (): readonly number[] => {
  const ancestors: number[] = []
  let runnerAt = -1
  let pid = process.ppid
  while (ancestors.length < ANCESTORS_MAX && pid > 1) {
    const info = readProcess(pid)
    if (info === undefined) break
    ancestors.push(pid)
    if (RUNNER.test(info.command)) runnerAt = ancestors.length - 1
    pid = info.parentPid
  }
  return ancestors.slice(0, runnerAt + 1)
}

/** Resolves when the package runner that started this process is gone; never if there is none. */
export const runnerGone = (): Promise<void> =>
  new Promise((resolve) => {
    const chain = runnerChain()
    if (chain.length === 0) return
    const timer = setInterval(() => {
      if (chain.every(isRunning)) return
      clearInterval(timer)
      resolve()
    }, POLL_MS)
    timer.unref()
  })
