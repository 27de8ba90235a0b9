// How many wrong credentials one caller may send. The limit of each owner (guard.ts) does not stop a caller who tries one
// PIN on many owners; these limits do. They lock nobody's wallet.
//
// PINs: wrong ones in an hour, counted in the database, so that more processes or a restart give no new tries.
//
//   caller            counted for                            limit
//   an API key        the key                                n, WRONG_PINS_PER_HOUR
//                     the project and the address            2 n
//                     all keys of the project                5 n
//   a user's session  the user                               n
//                     the address, in whatever project       n
//
// A caller at a limit gets 429 until an hour after the first wrong PIN; no PIN is checked until then. Users do not count
// against the project, because anybody may become a user of it and send wrong PINs for own wallets. They do not count against
// the address of a project's servers either, as several projects may share it.
//
// The statement that reads an owner's count also reads the limits, and only wrong PINs are counted, before the answer. So PINs that
// are checked at the same time can exceed a limit, by at most eight for each process.
//
// Developer secrets: wrong ones in a minute, counted in memory: n, WRONG_SECRETS_PER_MINUTE, for a caller; 5 n for all keys of a
// project, and 5 n for all its users, as an API that somebody controls can name ever new callers. Several vaults allow as many
// times this, and a restart begins again. This is enough, as a secret has at least 16 characters.

import type { Db } from '../../../../db/client.ts'
import { countTries, type TryLimit } from '../../../../db/queries/throttles.ts'
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import { AppError } from '../../../platform/errors.ts'
import { whereOf } from '../../contract/required-credentials.ts'
import type { DeploymentKey } from '../root/deployment-key.ts'

const PIN_WINDOW_SECONDS = 3_600
const OF_ADDRESS = 2
const OF_PROJECT = 5

type Requester = { readonly projectId: string; readonly actor: string; readonly from?: string | undefined }

export type PinLimits = ReturnType<typeof createPinLimits>

export const createPinLimits = (parts: {
  readonly db: Db
  readonly deploymentKey: DeploymentKey
  readonly wrongPinsPerHour: number
}) => {
  const { db, wrongPinsPerHour: max } = parts
  const keyOf = parts.deploymentKey.authenticator('wrong pins')
  return {
    /** The limits that count for a requester. */
    of: ({ projectId, actor, from = '' }: Requester): readonly TryLimit[] => {
      const limits = [{ key: keyOf(['of', projectId, actor]), max }]
      const isUser = actor.startsWith('user:')
      if (!isUser) limits.push({ key: keyOf(['of keys', projectId]), max: max * OF_PROJECT })
      if (from !== '' && isUser) limits.push({ key: keyOf(['from', from]), max })
      if (from !== '' && !isUser) limits.push({ key: keyOf(['from', from, projectId]), max: max * OF_ADDRESS })
      return limits
    },
    /** Counts one wrong PIN against each. */
    countWrong: (limits: readonly TryLimit[]) =>
      countTries(db, { keys: limits.map(({ key }) => key), windowSeconds: PIN_WINDOW_SECONDS }),
  }
}

const SECRET_WINDOW_MS = 60_000
const ACTORS_MAX = 10_000

export type SecretLimit = ReturnType<typeof createSecretLimit>

/** @param limit.windowMs begins with the first wrong secret. */
export const createSecretLimit = (limit: { readonly wrongMax: number; readonly windowMs?: number }) => {
  const { wrongMax, windowMs = SECRET_WINDOW_MS } = limit
  const wrongOf = createBoundedMap<{ count: number }>({ max: ACTORS_MAX, lifetimeMs: windowMs })
  const limitsOf = ({ projectId, actor }: Requester) => [
    { key: `of ${projectId} ${actor}`, max: wrongMax },
    { key: `all ${actor.startsWith('user:') ? 'users' : 'keys'} ${projectId}`, max: wrongMax * OF_PROJECT },
  ]
  return {
    /** Call it before a secret is checked. @throws rate_limited if the requester has sent too many wrong ones. */
    requireRoom: (requester: Requester): void => {
      const { projectId, actor, from } = requester
      const spent = limitsOf(requester).find(({ key, max }) => (wrongOf.get(key)?.count ?? 0) >= max)
      if (spent === undefined) return
      throw new AppError(
        'rate_limited',
        'Too many wrong developer secrets came for this project: wait and try again.',
        {
          retryable: true,
          retryAfterSeconds: Math.max(1, Math.ceil(wrongOf.remainingMs(spent.key) / 1000)),
          event: { kind: 'wrong_secrets_spent', projectId, actor, subject: projectId, details: whereOf(from) },
        },
      )
    },
    /** Call it in the same turn of the event loop as `requireRoom`, so that many requests at once cannot exceed the limit. */
    countWrong: (requester: Requester): void => {
      for (const { key } of limitsOf(requester)) {
        const wrong = wrongOf.get(key)
        if (wrong === undefined) wrongOf.set(key, { count: 1 })
        else wrong.count += 1
      }
    },
  }
}
