import type { Db } from '../../db/client.ts'
import { countTry } from '../../db/queries/throttles.ts'
import type { Sealer } from '../custody/sealer.ts'
import { AppError } from '../errors.ts'

export type Limit = {
  /** What is tried, and by or for whom: one counter each. */
  readonly of: readonly string[]
  readonly tries: number
  readonly windowSeconds: number
}

/**
 * Counts a try against each limit, over all processes, before anything is looked up: known and unknown names are counted alike.
 * @throws rate_limited with the seconds until it may be tried again.
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
      // The first word alone: behind it are addresses, and names of users.
      event: { kind: 'login_throttled', projectId: null, details: { limit: limit.of[0] ?? '' } },
    })
  }
}
