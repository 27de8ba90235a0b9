import { LRUCache } from 'lru-cache'
import type { Db } from '../../../db/client.ts'
import { countTry } from '../../../db/queries/throttles.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'

export type Limit = {
  /** What is tried, and by whom or for whom. Each combination has its own counter. */
  readonly of: readonly string[]
  readonly tries: number
  readonly windowSeconds: number
}

const COUNTERS_MAX = 100_000

/** The tries that this process has let through, by its own clock: the database's owner can set back what the database has. */
const admissions = new WeakMap<Db, LRUCache<string, { tries: number }>>()

/** Two windows of the database may overlap one of this process, so twice as many may be right. */
const admit = (db: Db, { key, limit }: { readonly key: Uint8Array; readonly limit: Limit }): boolean => {
  const counts = admissions.get(db) ?? new LRUCache({ max: COUNTERS_MAX })
  admissions.set(db, counts)
  const name = Buffer.from(key).toString('base64')
  const count = counts.get(name) ?? { tries: 0 }
  if (count.tries === 0) counts.set(name, count, { ttl: limit.windowSeconds * 1000 })
  count.tries += 1
  return count.tries <= 2 * limit.tries
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
    const key = keyOf(limit.of)
    const { tries, secondsLeft } = await countTry(ctx.db, { key, windowSeconds: limit.windowSeconds })
    if (tries <= limit.tries && admit(ctx.db, { key, limit })) continue
    throw new AppError('rate_limited', 'This was tried too often; wait and try again.', {
      retryable: true,
      retryAfterSeconds: Math.max(1, secondsLeft),
      // Only the first word: the others are addresses and names of users.
      event: { kind: 'login_throttled', projectId: null, details: { limit: limit.of[0] ?? '' } },
    })
  }
}
