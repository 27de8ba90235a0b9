// The guess guard: how often the PIN of an owner may be tried, over all wallets, endpoints and processes.
//
// One verification at a time for an owner, in this order:
//   1. the owner's queue in this process, then a slot of the argon2 pool: nothing is charged while waiting;
//   2. a committed UPDATE charges one guess and takes a lease of 10 s, unless too many wrong PINs came from the caller
//      (pin-limits.ts). The fifth charge in a row also locks the owner for 24 h, and 100 wrong PINs ever block it. So a
//      crash, or a cut connection, leaves the guess charged;
//   3. argon2id and the opening of the user key, with no database connection held;
//   4. with the lease still ours: a right PIN clears the charges, a wrong one leaves its own. A result whose lease
//      another process has taken meanwhile is thrown away.
//
//   charge gives    means                                        answer
//   spent           too many wrong PINs of this caller           429 rate_limited; the PIN is not looked at
//   locked          5 in a row, or 100 ever                      403 TOO_MANY_FAILED_ATTEMPTS; the PIN is not looked at,
//                                                                so a right one is told from a wrong one by nothing
//   taken           another process verifies for this owner      again a little later, for at most 10 s; then 503 busy
//   other version   the PIN was changed since this request read  409 credential_changed; the charge is taken back

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../../db/client.ts'
import {
  chargeGuess,
  clearGuesses,
  keepGuess,
  takeBackGuess,
  unlockGuesses,
} from '../../../db/queries/custody/guesses.ts'
import type { TryLimit } from '../../../db/queries/throttles.ts'
import type { SecurityEventKind } from '../../../db/words.ts'
import { AppError, notFound, type SecurityEvent, unreachable } from '../../errors.ts'
import type { Audit } from '../audit.ts'
import { invalidSecret } from './credentials.ts'
import type { PinLimits } from './pin-limits.ts'
import { createSlots, type Slots } from './slots.ts'

/** How long a request waits for its turn: its owner's queue, a slot and the lease together. */
export const TURN_WAIT_MS = 10_000
const TAKEN_PAUSE_MS = 10

type Guess = {
  readonly projectId: string
  readonly ownerId: string
  /** Who asks, as the audit names it. */
  readonly actor: string
  /** As in `Credentials`. */
  readonly from?: string | undefined
  /** Of the user key that `evaluate` tries to open. */
  readonly version: number
  /** Stretches the PIN and opens the user key; null: the PIN is wrong. It runs at most once, inside an argon2 slot. */
  readonly evaluate: () => Promise<Uint8Array | null>
}

export type Guard = {
  /**
   * @returns the user key, zeroed by the caller.
   * @throws INVALID_SECRET, TOO_MANY_FAILED_ATTEMPTS, credential_changed, rate_limited, busy.
   */
  verify(guess: Guess): Promise<Uint8Array>
}

const busy = (): AppError =>
  new AppError('busy', 'Another PIN of this owner is being verified: try again.', { retryAfterSeconds: 1 })

const eventOf = (kind: SecurityEventKind, { projectId, ownerId, actor }: Guess): SecurityEvent => ({
  kind,
  projectId,
  actor,
  subject: ownerId,
})

type Parts = { readonly db: Db; readonly pinLimits: PinLimits }
type Attempt = Guess & { readonly limits: readonly TryLimit[] }

/** @param guess.locks whether the owner is locked where this one is wrong. */
const settle = async (
  { db, pinLimits }: Parts,
  guess: Attempt & { readonly lease: string; readonly locks: boolean },
): Promise<Uint8Array> => {
  const userKey = await guess.evaluate().catch(async (error: unknown) => {
    await keepGuess(db, guess)
    throw error
  })
  try {
    const ours = await (userKey === null ? keepGuess : clearGuesses)(db, guess)
    if (userKey === null) await pinLimits.countWrong(guess.limits)
    if (!ours) throw busy()
    if (userKey === null) throw invalidSecret(eventOf(guess.locks ? 'owner_locked' : 'wrong_pin', guess))
    return userKey
  } catch (error) {
    userKey?.fill(0)
    throw error
  }
}

/** @returns the user key, or null where another process holds the lease. */
const attempt = async (parts: Parts, guess: Attempt): Promise<Uint8Array | null> => {
  const leased = { ...guess, lease: randomUUID() }
  const charge = await chargeGuess(parts.db, leased)
  switch (charge.state) {
    case 'taken':
      return null
    case 'spent':
      throw new AppError('rate_limited', 'Too many wrong PINs came from this caller: wait and try again.', {
        retryable: true,
        retryAfterSeconds: charge.retryAfterSeconds,
        event: eventOf('wrong_pins_spent', guess),
      })
    case 'locked':
      throw new AppError('TOO_MANY_FAILED_ATTEMPTS', 'Too many wrong PINs: this owner is locked.', {
        retryAfterSeconds: charge.retryAfterSeconds,
        event: eventOf('locked_owner_tried', guess),
      })
    case 'charged':
      if (charge.version === guess.version) return settle(parts, { ...leased, locks: charge.locks })
      await takeBackGuess(parts.db, leased)
      throw new AppError('credential_changed', 'The PIN was changed while this request waited: try again.')
    default:
      return unreachable(charge)
  }
}

export const createGuard = (parts: Parts & { readonly argon2Slots: Slots }): Guard => {
  const { argon2Slots, pinLimits } = parts
  const queues = new Map<string, Slots>()

  const inTurn = async <Result>(
    guess: Guess,
    turn: { readonly deadlineMs: number; readonly work: () => Promise<Result> },
  ): Promise<Result> => {
    const owner = `${guess.projectId} ${guess.ownerId}`
    const queue = queues.get(owner) ?? createSlots({ limit: 1 })
    queues.set(owner, queue)
    try {
      return await queue.run(turn)
    } finally {
      if (queue.idle()) queues.delete(owner)
    }
  }

  return {
    verify: (guess) => {
      const deadlineMs = performance.now() + TURN_WAIT_MS
      const limits = pinLimits.of(guess)
      const check = () => attempt(parts, { ...guess, limits })
      const work = async () => {
        while (performance.now() < deadlineMs) {
          const userKey = await argon2Slots.run({ deadlineMs, work: check })
          if (userKey !== null) return userKey
          await sleep(TAKEN_PAUSE_MS)
        }
        throw busy()
      }
      return inTurn(guess, { deadlineMs, work })
    },
  }
}

/** Forgets all wrong PINs of an owner, as `Vault.unlockOwner` says. */
export const unlockOwner = (
  { db, audit }: { readonly db: Db; readonly audit: Audit },
  input: { readonly projectId: string; readonly ownerId: string; readonly actor: string },
): Promise<void> =>
  db.transaction(async (tx) => {
    const { projectId, ownerId, actor } = input
    if (!(await unlockGuesses(tx, { projectId, ownerId }))) throw notFound('owner with a PIN')
    await audit.record(tx, { projectId, actor, action: 'owner_unlocked', subject: ownerId, details: {} })
  })
