import type { Db } from '../../db/client.ts'
import { countTry } from '../../db/queries/throttles.ts'
import type { Sealer } from '../custody/sealer.ts'
import { AppError } from '../errors.ts'

export type Limit = {
  /** What is tried, and by whom or for whom. Each combination has its own counter. */
  readonly of: readonly string[]
  readonly tries: number
  readonly windowSeconds: number
}

/**
 * Counts a try against each limit, for all processes together. Call it before any look-up, so that it treats known and
 * unknown names alike.
 * @throws rate_limited with the seconds to wait.
 */
export const throttle = async (
  ctx: { readonly db: Db; readonly identity: Sealer },
  limits: readonly Limit[],
): Promise<void> => {
  const keyOf = ctx.identity.authenticator('throttle')
  for (const limit of limits) {
    const { tries, secondsLeft } = await countTry(ctx.db, { key: keyOf(limit.of), windowSeconds: limit.windowSeconds })
    if (tries <= limit.tries) continue
    throw new AppError('rate_limited', 'This was tried too often; wait and try again.', {
      retryable: true,
      retryAfterSeconds: Math.max(1, secondsLeft),
      // Only the first word: the others are addresses and names of users.
      event: { kind: 'login_throttled', projectId: null, details: { limit: limit.of[0] ?? '' } },
    })
  }
}
