import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

/**
 * What one step of a follower came to: `advanced` (there may be more at once), `caught_up` (wait for a block),
 * `overtaken` (somebody else moved the cursor: this follower is one too many).
 */
export type StepResult = 'advanced' | 'caught_up' | 'overtaken'

/** A follower hands its place back after this long, so that work moves between workers and a deploy waits for nobody. */
const SHIFT_MS = 30_000
/** After a failure (a node that is away) it waits longer each time, up to this. */
const MAX_BACKOFF_MS = 10_000

/**
 * Steps along a network's blocks until its shift ends or the process stops.
 * @returns whether the follower should be started again: not where another one overtook it.
 */
export const follow = async (
  ctx: Pick<WorkerCtx, 'log'>,
  input: { readonly chain: Chain; readonly signal: AbortSignal; readonly step: () => Promise<StepResult> },
): Promise<{ readonly startAgain: boolean }> => {
  const { chain, signal, step } = input
  const endsAt = Date.now() + SHIFT_MS
  let failures = 0
  while (!signal.aborted && Date.now() < endsAt) {
    try {
      const result = await step()
      failures = 0
      if (result === 'overtaken') return { startAgain: false }
      if (result === 'caught_up') await pause(chain.pollIntervalMs, signal)
    } catch (err) {
      failures += 1
      ctx.log.warn({ err, network: chain.network, failures }, 'a follower could not step')
      await pause(Math.min(chain.pollIntervalMs * 2 ** failures, MAX_BACKOFF_MS), signal)
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
