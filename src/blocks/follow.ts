import type { WorkerCtx } from '../context.ts'

/**
 * What one step of a follower came to: `advanced` (there may be more at once), `caught_up` (wait a while),
 * `overtaken` (somebody else went on from there: this follower is one too many).
 */
export type StepResult = 'advanced' | 'caught_up' | 'overtaken'

/** A follower hands its place back after this long, so that work moves between workers and a deploy waits for nobody. */
const SHIFT_MS = 30_000
/** After a failure (a node that is away) it waits longer each time, up to this. */
const MAX_BACKOFF_MS = 10_000

/**
 * Steps along something that grows (a network's blocks, the audit rows) until its shift ends or the process stops.
 * @returns whether the follower should be started again: not where another one overtook it.
 */
export const follow = async (
  ctx: Pick<WorkerCtx, 'log'>,
  input: {
    /** For the log. */
    readonly what: string
    readonly pauseMs: number
    readonly signal: AbortSignal
    readonly step: () => Promise<StepResult>
  },
): Promise<{ readonly startAgain: boolean }> => {
  const { what, pauseMs, signal, step } = input
  const endsAt = Date.now() + SHIFT_MS
  let failures = 0
  while (!signal.aborted && Date.now() < endsAt) {
    try {
      const result = await step()
      failures = 0
      if (result === 'overtaken') return { startAgain: false }
      if (result === 'caught_up') await pause(pauseMs, signal)
    } catch (err) {
      failures += 1
      ctx.log.warn({ err, what, failures }, 'a follower could not step')
      await pause(Math.min(pauseMs * 2 ** failures, MAX_BACKOFF_MS), signal)
    }
  }
  return { startAgain: true }
}

/** Ends early when the process stops. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end, { once: true })
  })
