import { LRUCache } from 'lru-cache'
import type { Db } from '../../../db/client.ts'
import { countTry } from '../../../db/queries/throttles.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { subnetOf } from '../../platform/http/peer.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'
import type { Visitor } from './plugin.ts'

// How often a login may be begun and tried. Limits by caller's address (for IPv6, its subnet) stop one caller who tries
// many targets. Limits by target stop many callers who try one target. The devnet allows a hundred times as many.

type From = Pick<Visitor, 'client'>
type Beginning = From & Pick<Visitor, 'projectId'>

const MINUTE = 60
const WINDOW = 15 * MINUTE
const DAY = 86_400

const limit = (
  { config }: HasConfig,
  { counted, tries, windowSeconds = WINDOW }: Pick<Limit, 'counted' | 'tries'> & Partial<Limit>,
): Limit => ({ counted, tries: config.devnet ? tries * 100 : tries, windowSeconds })

export const beginLimit = (ctx: HasConfig, { projectId, client }: Beginning, way: string): Limit =>
  limit(ctx, { counted: ['begin from', way, projectId, subnetOf(client.address)], tries: 30 })

/** Session challenges from one address. The login page creates one for each user whom it sends back. */
export const challengeLimit = (ctx: HasConfig, { projectId, client }: Beginning): Limit =>
  limit(ctx, { counted: ['challenge from', projectId, subnetOf(client.address)], tries: 300 })

/** Limits load only, as a challenge cannot be guessed. A strict limit would let a stranger lock out a known wallet. */
export const targetLimit = (ctx: HasConfig, { projectId }: Beginning, way: string, target: string): Limit =>
  limit(ctx, { counted: ['begin for', way, projectId, target], tries: 60 })

/** Mails to one e-mail address. Each gives five tries at a code of six digits, so a day gives at most a hundred. */
export const mailLimits = (ctx: HasConfig, { projectId }: Beginning, way: string, target: string): readonly Limit[] => [
  limit(ctx, { counted: ['mail to', way, projectId, target], tries: 5 }),
  limit(ctx, { counted: ['mail to, a day', way, projectId, target], tries: 20, windowSeconds: DAY }),
]

export const tryLimit = (ctx: HasConfig, { client }: From, what: string): Limit =>
  limit(ctx, { counted: ['try from', what, subnetOf(client.address)], tries: 100, windowSeconds: MINUTE })

/** Reads of session challenges from one address: enough for ten devices that poll once a second. */
export const readLimit = (ctx: HasConfig, { client }: From): Limit =>
  limit(ctx, { counted: ['look from', subnetOf(client.address)], tries: 600, windowSeconds: MINUTE })

export type Limit = {
  /** What is tried, and by whom or for whom. Each combination has its own counter. */
  readonly counted: readonly string[]
  readonly tries: number
  readonly windowSeconds: number
}

const COUNTERS_MAX = 100_000

/** The tries that this process admitted, by its own clock: the owner of the database can reset the other count. */
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
 * Counts a try for all processes. Call it before any look-up, so that known and unknown names are treated alike.
 * @throws rate_limited with the seconds to wait.
 */
export const throttle = async (
  ctx: { readonly db: Db; readonly identity: Sealer },
  limits: readonly Limit[],
): Promise<void> => {
  const keyOf = ctx.identity.authenticator('throttle')
  for (const limit of limits) {
    const key = keyOf(limit.counted)
    const { tries, secondsLeft } = await countTry(ctx.db, { key, windowSeconds: limit.windowSeconds })
    if (tries <= limit.tries && admit(ctx.db, { key, limit })) continue
    throw new AppError('rate_limited', 'This was tried too often; wait and try again.', {
      retryable: true,
      retryAfterSeconds: Math.max(1, secondsLeft),
      // Only the first word: later words are addresses and names of users.
      event: { kind: 'login_throttled', projectId: null, details: { limit: limit.counted[0] ?? '' } },
    })
  }
}
