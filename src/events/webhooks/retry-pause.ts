// When a delivery that was not taken is tried again: after pauses that grow, for three days. Pure.

const [MINUTE, HOUR] = [60, 3_600]
/** In seconds. The last one is repeated. */
const PAUSES = [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR] as const
const LAST_PAUSE = 8 * HOUR
/** The part of a pause that is random, so that many deliveries do not come back together. */
const JITTER = 0.2

/** A receiver that asks for a longer pause (`Retry-After`) gets this one. */
export const RETRY_AFTER_MAX_SECONDS = LAST_PAUSE

/** How long a delivery is tried. */
export const TRIED_SECONDS = 72 * HOUR

/** @param input.attempts how often it has failed, at least once. @param input.random from 0 to 1. */
export const pauseSeconds = ({ attempts, random }: { readonly attempts: number; readonly random: number }): number => {
  const pause = PAUSES[attempts - 1] ?? LAST_PAUSE
  return pause * (1 - JITTER / 2 + JITTER * random)
}
