/** Shows a person what a start is doing: a line when a step is done, and at least one every few seconds. */
export type Progress = {
  /** Runs a step, and prints a line when it is done. @param name as in "Ethereum after 1.2 s" */
  readonly step: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>
  /** Prints nothing more. */
  readonly end: () => void
}

const QUIET_MAX_MS = 4_000
const LOOK_MS = 500

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** @param print prints a line. */
export const createProgress = (print: (line: string) => void): Progress => {
  const running = new Map<symbol, { readonly name: string; readonly since: number }>()
  let printedAt = performance.now()
  const say = (line: string): void => {
    printedAt = performance.now()
    print(`${seconds(printedAt).padStart(8)}  ${line}`)
  }
  const timer = setInterval(() => {
    const now = performance.now()
    if (now - printedAt < QUIET_MAX_MS || running.size === 0) return
    const steps = [...running.values()].map(({ name, since }) => `${name} (for ${seconds(now - since)})`)
    say(`still waiting for: ${steps.join(', ')}`)
  }, LOOK_MS)

  const step: Progress['step'] = async (name, work) => {
    const key = Symbol(name)
    const since = performance.now()
    running.set(key, { name, since })
    try {
      const result = await work()
      say(`${name} after ${seconds(performance.now() - since)}`)
      return result
    } finally {
      running.delete(key)
    }
  }
  return { step, end: () => clearInterval(timer) }
}
