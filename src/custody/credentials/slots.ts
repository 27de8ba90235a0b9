import { AppError } from '../../errors.ts'

const WAITING_MAX = 1000

const busy = (): AppError =>
  new AppError('busy', 'Too many PINs are being verified at the moment: try again.', { retryAfterSeconds: 1 })

export type SlotsLoad = { readonly running: number; readonly waiting: number }

export type Slots = {
  /**
   * Runs `work` as soon as one of the slots is free, first come, first served.
   * @param input.deadlineMs on the clock of `performance.now()`: how long to wait for the slot, not for the work.
   * @throws busy when no slot was free in time.
   */
  run<Result>(input: { readonly deadlineMs: number; readonly work: () => Promise<Result> }): Promise<Result>
  /** Nothing runs and nothing waits. */
  idle(): boolean
  /** How many run and how many wait. */
  load(): SlotsLoad
}

/** At most `limit` works at a time; further ones wait in a queue that is bounded in length and in time. */
export const createSlots = ({ limit }: { readonly limit: number }): Slots => {
  let free = limit
  const waiting = new Set<() => void>()

  const acquire = (deadlineMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      if (free > 0) {
        free -= 1
        resolve()
        return
      }
      if (waiting.size >= WAITING_MAX) {
        reject(busy())
        return
      }
      const admit = () => {
        clearTimeout(timer)
        resolve()
      }
      const giveUp = () => {
        waiting.delete(admit)
        reject(busy())
      }
      const timer = setTimeout(giveUp, Math.max(0, deadlineMs - performance.now()))
      waiting.add(admit)
    })

  const release = (): void => {
    const [next] = waiting
    if (next === undefined) {
      free += 1
    } else {
      waiting.delete(next)
      next()
    }
  }

  return {
    run: async ({ deadlineMs, work }) => {
      await acquire(deadlineMs)
      try {
        return await work()
      } finally {
        release()
      }
    },
    idle: () => free === limit,
    load: () => ({ running: limit - free, waiting: waiting.size }),
  }
}
