import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'

/** Long enough that the largest body fits into the smallest budget, and short enough to wait for. */
const BYTES_WINDOW_SECONDS = 10

export type Rate = {
  /** @throws rate_limited with the seconds to wait. */
  spend(spender: string, points: number): Promise<void>
  /** For what was spent and turned out not to count. */
  giveBack(spender: string, points: number): Promise<void>
}

const createRate = (input: {
  readonly points: number
  readonly windowSeconds: number
  readonly unit: string
}): Rate => {
  const limiter = new RateLimiterMemory({ points: input.points, duration: input.windowSeconds })
  return {
    spend: async (spender, points) => {
      await limiter.consume(spender, points).catch((refusal: unknown) => {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        throw new AppError('rate_limited', `Too many ${input.unit} by this caller; wait and try again.`, {
          retryable: true,
          retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
        })
      })
    },
    giveBack: async (spender, points) => {
      await limiter.reward(spender, points)
    },
  }
}

export const requestRate = (config: Pick<Config, 'rateLimitPerSecond'>): Rate =>
  createRate({ points: config.rateLimitPerSecond, windowSeconds: 1, unit: 'requests' })

export const byteRate = (config: Pick<Config, 'rateLimitBytesPerSecond'>): Rate =>
  createRate({
    points: config.rateLimitBytesPerSecond * BYTES_WINDOW_SECONDS,
    windowSeconds: BYTES_WINDOW_SECONDS,
    unit: 'bytes',
  })
