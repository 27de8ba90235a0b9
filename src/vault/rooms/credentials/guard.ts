// The guess guard limits how often the PIN of an owner may be tried, over all wallets, endpoints and processes.
//
// For each owner one verification runs at a time:
//   1. the request waits for its turn in the owner's queue of this process, then for a slot of argon2. Waiting is not charged;
//   2. the owner's count is read and checked, and one committed UPDATE charges a guess and takes a lease of 10 s
//      (guesses.ts), unless the caller has sent too many wrong PINs (limits.ts). The fifth charge in a row also locks the
//      owner for 24 h; after 100 wrong PINs in all the owner stays locked. After a crash or a lost connection the guess stays charged;
//   3. whoever holds the lease runs argon2id and opens the user key. No database connection is held meanwhile;
//   4. the lease ends. A right PIN clears the charges, a wrong one leaves its own. If the lease ran out and another process
//      has taken it, the result is discarded.
//
//   charge gives    means                                        answer
//   spent           too many wrong PINs of this caller           429 rate_limited; the PIN is not checked
//   locked          5 in a row, or 100 in all                    403 TOO_MANY_FAILED_ATTEMPTS; the PIN is not checked, so
//                                                                a right one looks like a wrong one
//   forged          the count is not as the vault wrote it       as if locked, until an operator unlocks the owner
//   taken           another process verifies for this owner      tried again, for at most 10 s; then 503 busy
//   other version   the PIN was changed since it was read        409 credential_changed; the charge is taken back

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TryLimit } from '../../../../db/queries/throttles.ts'
import type { VaultEventKind } from '../../../../db/words.ts'
import { AppError, notFound, type SecurityEvent, unreachable } from '../../../platform/errors.ts'
import { createQueues, type Queue } from '../../../platform/queue.ts'
import { invalidSecret, whereOf } from '../../contract/required-credentials.ts'
import { changing } from '../changing.ts'
import type { CustodyCtx } from '../ctx.ts'
import type { ChargedGuess, Guesses } from './guesses.ts'
import type { PinLimits } from './limits.ts'

/** How long a request waits at most: in its owner's queue, for a slot and for the lease together. */
export const TURN_WAIT_MS = 10_000
export const TURN_WAITING_MAX = 1_000
const TAKEN_PAUSE_MS = 10

type Guess = {
  readonly projectId: string
  readonly ownerId: string
  /** The actor in the audit. */
  readonly actor: string
  /** As in `Credentials`. */
  readonly from?: string | undefined
  /** The version of the user key that the PIN is to open. */
  readonly version: number
}

/**
 * The right to check one PIN of an owner. Hold it with `await using`: its end frees the owner and the argon2 slot, and the
 * guess stays charged unless `settle` was given a key.
 */
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

type Parts = { readonly guesses: Guesses; readonly pinLimits: PinLimits }

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
    case 'locked':
      throw new AppError('TOO_MANY_FAILED_ATTEMPTS', 'Too many wrong PINs: this owner is locked.', {
        retryAfterSeconds: charged.retryAfterSeconds,
        event: eventOf('locked_owner_tried', guess),
      })
    case 'forged':
      // Answer as for a locked owner, so that an attacker who forged the row learns nothing.
      throw new AppError('TOO_MANY_FAILED_ATTEMPTS', 'Too many wrong PINs: this owner is locked.', {
        retryAfterSeconds: charged.retryAfterSeconds,
        event: eventOf('guess_count_forged', guess),
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
        const ours = await (userKey === null ? guesses.keep : guesses.clear)(charged)
        if (userKey === null) await pinLimits.countWrong(guess.limits)
        if (!ours) throw busy()
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
const chargeInSlot = async (
  parts: Parts & { readonly argon2: Queue },
  attempt: Attempt & { readonly deadlineMs: number },
) => {
  using slot = new DisposableStack()
  slot.use(await parts.argon2.enter(attempt.deadlineMs))
  const charged = await charge(parts, attempt)
  return charged && { charged, slot: slot.move() }
}

/** @param parts.argon2 the queue in which every use of argon2 waits. */
export const createGuard = (parts: Parts & { readonly argon2: Queue }) => {
  const owners = createQueues({ waitingMax: TURN_WAITING_MAX })
  return {
    /** Waits for the owner's turn and charges one guess. */
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

type OwnerAct = { readonly projectId: string; readonly ownerId: string; readonly actor: string }

/** Forgets all wrong PINs of an owner, as `Vault.unlockOwner` says. */
export const unlockOwner = async (ctx: CustodyCtx, input: OwnerAct): Promise<void> => {
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
