// The clock of a process. Tests replace it.

export type HasClock = { readonly now: () => Date }

/** @param input.work never rejects. @returns a function that stops this and waits for the last run. */
export const repeat = (input: {
  readonly everyMs: number
  readonly isAtOnce: boolean
  readonly work: () => Promise<void>
}): (() => Promise<void>) => {
  let last = input.isAtOnce ? input.work() : Promise.resolve()
  const timer = setInterval(() => {
    last = input.work()
  }, input.everyMs)
  return async () => {
    clearInterval(timer)
    await last
  }
}
