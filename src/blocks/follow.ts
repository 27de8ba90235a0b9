import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../chains/chain.ts'
import type { Nodes } from '../chains/nodes.ts'
import type { HasLog } from '../platform/process/log.ts'

/** A round ends after this time, so that a hanging node is not called hundreds of times. The next round continues. */
const ROUND_MS = 10_000

/** One pass of a periodic task over the waiting items of a network. Once it is over, the next round continues. */
export type Round = { readonly chain: Chain; isOver(): boolean }

/** @param input.nowMs a monotonic clock, in milliseconds. */
export const startRound = (chain: Chain, { nowMs = () => performance.now() } = {}): Round => {
  const endsAtMs = nowMs() + ROUND_MS
  return { chain, isOver: () => nowMs() >= endsAtMs }
}

/** `advanced`: step again at once. `caught_up`: wait first. `overtaken`: another process follows too, so stop. */
export type StepResult = 'advanced' | 'caught_up' | 'overtaken'

/** A follower's job ends after this time, so that work moves between workers and a deploy need not wait. */
const SHIFT_MS = 30_000
/** After failures in a row it waits longer each time, up to this. */
const MAX_BACKOFF_MS = 10_000

/**
 * Calls `step` again and again until the shift ends or the process stops.
 * @returns whether to start the follower again: not if another process has overtaken it.
 */
export const follow = async (
  ctx: HasLog,
  input: {
    readonly what: string
    /** The longest pause before the next step, when the last one found nothing more. */
    readonly pauseMs: number
    /** Ends that pause at the next block; without it the pause is always the longest. */
    readonly nextBlock?: Nodes['nextBlock']
    readonly signal: AbortSignal
    readonly step: () => Promise<StepResult>
  },
): Promise<{ readonly startAgain: boolean }> => {
  const { what, pauseMs, signal, step } = input
  const { nextBlock = () => pause(pauseMs, signal) } = input
  // Not by the host's clock, which may jump.
  const endsAtMs = performance.now() + SHIFT_MS
  let failures = 0
  while (!signal.aborted && performance.now() < endsAtMs) {
    const sinceMs = performance.now()
    try {
      const result = await step()
      failures = 0
      if (result === 'overtaken') return { startAgain: false }
      if (result === 'caught_up') await nextBlock({ sinceMs, waitMs: pauseMs, signal })
    } catch (err) {
      failures += 1
      ctx.log.warn({ err, what, failures }, 'a step of a follower failed')
      await pause(Math.min(pauseMs * 2 ** failures, MAX_BACKOFF_MS), signal)
    }
  }
  return { startAgain: true }
}

/** Ends early when the process stops. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  sleep(milliseconds, undefined, { signal }).catch(() => {})
