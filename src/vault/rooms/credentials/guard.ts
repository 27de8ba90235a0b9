// The guess guard limits how often the PIN of an owner may be tried, over all wallets, endpoints and processes.
//
// For each owner one verification runs at a time:
//   1. the request waits for its turn in the owner's queue of this process, then for a slot of argon2, of which there
//      are two for each core: the statements before and after it need no core;
//   2. the owner's count is read and checked, and one committed UPDATE charges a guess and takes a lease of 10 s
//      (guesses.ts), unless the caller has sent too many wrong PINs (see below). The fifth charge in a row also locks
//      the owner for 24 h; after 100 wrong PINs in all the owner stays locked. A crash leaves the guess charged;
//   3. the request runs argon2id and opens the user key. It holds no database connection meanwhile;
//   4. the lease ends. A right PIN clears the charges, a wrong one leaves its own. If the lease ran out and another
//      process has taken it, the result is discarded.
//
//   charge gives    means                                        answer (no PIN is checked)
//   spent           too many wrong PINs of this caller           429 rate_limited
//   locked          5 in a row, or 100 in all                    403 TOO_MANY_FAILED_ATTEMPTS
//   forged          the count is not as the vault wrote it       as if locked, until an operator unlocks the owner
//   taken           another process verifies for this owner      tried again, for at most 10 s; then 503 busy
//   other version   the PIN was changed since it was read        409 credential_changed; the charge is taken back

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../../../db/client.ts'
import { countTries, type TryLimit } from '../../../../db/queries/throttles.ts'
import type { VaultEventKind } from '../../../../db/words.ts'
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import { AppError, notFound, type SecurityEvent, unreachable } from '../../../platform/errors.ts'
import { createQueues, type Queue } from '../../../platform/queue.ts'
import { invalidSecret, whereOf } from '../../contract/required-credentials.ts'
import { changing } from '../changing.ts'
import type { RoomCtx } from '../ctx.ts'
import type { DeploymentKey } from '../root/root-key.ts'
import type { ChargedGuess, Guesses } from './guesses.ts'

// How many wrong credentials one caller may send. The limit of each owner does not stop a caller who tries
// one PIN on many owners; these limits do. They lock no wallet.
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
// A caller at a limit gets 429 until an hour after the first wrong PIN. Users do not count against the project, because
// any person may become a user of it and send wrong PINs for own wallets, nor against the address of a project's
// servers, which several projects may share. PINs that are checked at the same time can exceed a limit, by at most
// sixteen for each process.
//
// Developer secrets: wrong ones in a minute, counted in memory, as a secret has at least 16 characters:
// n, WRONG_SECRETS_PER_MINUTE, for a caller; 5 n for all keys of a project, and 5 n for all its users, as an API that
// an attacker controls can name ever new callers.

const PIN_WINDOW_SECONDS = 3_600
const OF_ADDRESS = 2
const OF_PROJECT = 5

type Requester = { readonly projectId: string; readonly actor: string; readonly from?: string | undefined }

type PinLimits = ReturnType<typeof createPinLimits>

export const createPinLimits = (parts: {
  readonly db: Db
  readonly deploymentKey: DeploymentKey
  readonly wrongPinsPerHour: number
}) => {
  const { db, wrongPinsPerHour: max } = parts
  const keyOf = parts.deploymentKey.authenticator('wrong pins')
  return {
    of: ({ projectId, actor, from = '' }: Requester): readonly TryLimit[] => {
      const limits = [{ key: keyOf(['of', projectId, actor]), max }]
      const isUser = actor.startsWith('user:')
      if (!isUser) limits.push({ key: keyOf(['of keys', projectId]), max: max * OF_PROJECT })
      if (from !== '' && isUser) limits.push({ key: keyOf(['from', from]), max })
      if (from !== '' && !isUser) limits.push({ key: keyOf(['from', from, projectId]), max: max * OF_ADDRESS })
      return limits
    },
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
      const sentence = 'Too many wrong developer secrets came for this project: wait and try again.'
      throw new AppError('rate_limited', sentence, {
        retryable: true,
        retryAfterSeconds: Math.max(1, Math.ceil(wrongOf.remainingMs(spent.key) / 1000)),
        event: { kind: 'wrong_secrets_spent', projectId, actor, subject: projectId, details: whereOf(from) },
      })
    },
    /** In the same turn of the event loop as `requireRoom`, so that many requests at once cannot exceed the limit. */
    countWrong: (requester: Requester): void => {
      for (const { key } of limitsOf(requester)) {
        const wrong = wrongOf.get(key)
        if (wrong === undefined) wrongOf.set(key, { count: 1 })
        else wrong.count += 1
      }
    },
  }
}

/** How long a request waits at most: in its owner's queue, for a slot and for the lease together. */
export const TURN_WAIT_MS = 10_000
export const TURN_WAITING_MAX = 1_000
const TAKEN_PAUSE_MS = 10

type Guess = Requester & { readonly ownerId: string; readonly version: number }

/** Hold it with `await using`: its end frees owner and slot. The guess stays charged unless `settle` gets a key. */
type Lease = AsyncDisposable & {
  /**
   * Ends the guess. Call it once.
   * @param userKey what the PIN opened; null if it is wrong.
   * @returns the same key, which the caller zeroes. If it throws, it has zeroed the key.
   * @throws busy if the lease was lost.
   */
  settle(userKey: Uint8Array | null): Promise<Uint8Array>
}

export type Guard = ReturnType<typeof createGuard>

const busy = (): AppError =>
  new AppError('busy', 'Another PIN of this owner is being verified: try again.', { retryAfterSeconds: 1 })

const eventOf = (kind: VaultEventKind, { projectId, ownerId, actor, from }: Guess): SecurityEvent => ({
  kind,
  projectId,
  actor,
  subject: ownerId,
  details: whereOf(from),
})

type Parts = { readonly guesses: Guesses; readonly pinLimits: PinLimits; readonly argon2: Queue }

type Attempt = Guess & { readonly limits: readonly TryLimit[] }

type Charged = Attempt & { readonly charged: ChargedGuess }

/** @returns null if another process holds the lease. */
const charge = async ({ guesses }: Parts, guess: Attempt): Promise<Charged | null> => {
  const charged = await guesses.charge({ ...guess, lease: randomUUID() })
  switch (charged.state) {
    case 'taken':
      return null
    case 'spent':
      throw new AppError('rate_limited', 'Too many wrong PINs came from this caller: wait and try again.', {
        retryable: true,
        retryAfterSeconds: charged.retryAfterSeconds,
        event: eventOf('wrong_pins_spent', guess),
      })
    // Both get the same answer, so that an attacker who forged the row learns nothing.
    case 'locked':
    case 'forged':
      throw new AppError('TOO_MANY_FAILED_ATTEMPTS', 'Too many wrong PINs: this owner is locked.', {
        retryAfterSeconds: charged.retryAfterSeconds,
        event: eventOf(charged.state === 'locked' ? 'locked_owner_tried' : 'guess_count_forged', guess),
      })
    case 'charged':
      if (charged.version === guess.version) return { ...guess, charged }
      await guesses.takeBack(charged)
      throw new AppError('credential_changed', 'The PIN was changed while this request waited: try again.')
    default:
      return unreachable(charged)
  }
}

/** @param turns the owner's turn and the argon2 slot: they end with the lease. */
const leaseOf = ({ guesses, pinLimits }: Parts, guess: Charged, turns: DisposableStack): Lease => {
  const { charged } = guess
  let settled = false
  return {
    settle: async (userKey) => {
      settled = true
      try {
        const wasHeld = await (userKey === null ? guesses.keep : guesses.clear)(charged)
        if (userKey === null) await pinLimits.countWrong(guess.limits)
        if (!wasHeld) throw busy()
        if (userKey === null) throw invalidSecret(eventOf(charged.locks ? 'owner_locked' : 'wrong_pin', guess))
        return userKey
      } catch (error) {
        userKey?.fill(0)
        throw error
      }
    },
    [Symbol.asyncDispose]: async () => {
      using _turns = turns
      if (!settled) await guesses.keep(charged)
    },
  }
}

/** @returns the charge and its argon2 slot; null if another process holds the lease. */
const chargeInSlot = async (parts: Parts, attempt: Attempt & { readonly deadlineMs: number }) => {
  using slot = new DisposableStack()
  slot.use(await parts.argon2.enter(attempt.deadlineMs))
  const charged = await charge(parts, attempt)
  return charged && { charged, slot: slot.move() }
}

/** @param parts.argon2 the queue in which every use of argon2 waits. */
export const createGuard = (parts: Parts) => {
  const owners = createQueues({ waitingMax: TURN_WAITING_MAX })
  return {
    lease: async (guess: Guess): Promise<Lease> => {
      const deadlineMs = performance.now() + TURN_WAIT_MS
      const attempt = { ...guess, limits: parts.pinLimits.of(guess), deadlineMs }
      using turns = new DisposableStack()
      turns.use(await owners.enter(`${guess.projectId} ${guess.ownerId}`, deadlineMs))
      while (performance.now() < deadlineMs) {
        const leased = await chargeInSlot(parts, attempt)
        if (leased !== null) {
          turns.use(leased.slot)
          return leaseOf(parts, leased.charged, turns.move())
        }
        await sleep(TAKEN_PAUSE_MS)
      }
      throw busy()
    },
  }
}

export const unlockOwner = async (
  ctx: RoomCtx,
  input: Readonly<Record<'projectId' | 'ownerId' | 'actor', string>>,
): Promise<void> => {
  const { audit, guesses } = ctx
  const { projectId, ownerId, actor } = input
  await guesses.fetchKeys({ projectId, ownerId })
  await changing(ctx, async (tx, wrote) => {
    const written = await guesses.unlock(tx, { projectId, ownerId })
    if (written === null) throw notFound('owner with a PIN')
    wrote(written.image)
    const details = { guesses_revision: String(written.revision) }
    await audit.record(tx, { projectId, actor, action: 'owner_unlocked', subject: ownerId, details })
  })
}
