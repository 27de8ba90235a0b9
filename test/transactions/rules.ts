// The common part of both models: the rules under test, and the claims about single steps. The rules are those of the
// running code; a test replaces one by a broken rule and expects the exploration to find it.

import {
  attemptsToKeep,
  holdsNonce,
  type Ladder,
  type TransactionEffect,
  type TransactionEvent,
  type TransactionState,
  transition,
} from '../../src/signing/transactions/transition.ts'
import { Broken } from '../support/explore.ts'

/** Two rungs and the cancel. */
export const LADDER: Ladder = { rungs: 2, isFixed: false }
export const CANCEL = LADDER.rungs

/** The fee that blocks need: the number of attempts of the first ladder, from the lowest on, that offer less. */
export type Fee = number
export const FEES: readonly Fee[] = [0, 1, 2, 3]

/** As a row is recorded. */
export const FIRST_STATE: TransactionState = { kind: 'waiting', chosen: 0, givenUp: null, broadcast: false }

/** How long the signer's lowest transaction has waited: not long; long enough to climb; long enough to be given up. */
export const WAITS = [null, 'climb', 'expiry'] as const
export type Waited = 0 | 1 | 2

export type Rules = {
  readonly transition: typeof transition
  readonly holdsNonce: typeof holdsNonce
  readonly attemptsToKeep: typeof attemptsToKeep
  /** The event that a worker records for a lost answer. */
  readonly onUnknown: TransactionEvent | null
  /** Whether the reconciler takes an unknown attempt as proof that its block is gone. */
  readonly believesSilence: boolean
  /** Whether the reconciler's observation of a block is recorded although the tracker has passed its height. */
  readonly takesStaleNews: boolean
  /** Whether the tracker assumes that its block is still on the chain. */
  readonly trustsItsPlace: boolean
}

export const RULES: Rules = {
  transition,
  holdsNonce,
  attemptsToKeep,
  onUnknown: null,
  believesSilence: false,
  takesStaleNews: false,
  trustsItsPlace: false,
}

export type Fed = {
  readonly state: TransactionState
  /** The effects, as far as they matter to others. */
  readonly isSent: boolean
  readonly isErased: boolean
}

/** Applies one event to one transaction. @throws Broken if a claim about single steps does not hold. */
export const feed = (rules: Rules, state: TransactionState, event: TransactionEvent, ladder = LADDER): Fed => {
  const next = rules.transition({ ladder, state, event })
  const broken = brokenStep({ ladder, before: state, event, after: next.state, effects: next.effects })
  if (broken !== null) throw new Broken(broken)
  return {
    state: next.state,
    isSent: next.effects.some((effect) => effect.kind === 'send'),
    isErased: next.effects.some((effect) => effect.kind === 'erase_raw'),
  }
}

const brokenStep = (step: {
  readonly ladder: Ladder
  readonly before: TransactionState
  readonly event: TransactionEvent
  readonly after: TransactionState
  readonly effects: readonly TransactionEffect[]
}): string | null => {
  const { ladder, before, event, after, effects } = step
  if (before.kind === 'done') {
    return after === before && effects.length === 0 ? null : 'what was told for good is told otherwise'
  }
  if (after.kind === 'done') return null
  if (after.chosen < before.chosen && !isRevival(before, event)) return 'a lower attempt is chosen after a higher one'
  if (event.kind === 'clock' && before.kind === 'waiting') {
    const broken = brokenClock(ladder, { before, event, chosen: after.chosen })
    if (broken !== null) return broken
  }
  const stray = effects.some((effect) => effect.kind === 'send' && effect.attempt !== after.chosen)
  if (stray) return 'an attempt is sent that is not the chosen one'
  const stays = after.kind === 'mined' && before.kind === 'mined' && after.blockHash === before.blockHash
  if (event.kind === 'excluded' && stays) return 'it stays in a block that is gone'
  const isTold = after.kind === 'mined' && after.result !== null && !(stays && before.result === after.result)
  if (isTold && event.kind !== 'confirmed') return 'told before its block is deep enough'
  return null
}

/** Given up because of its age, not by an operator. */
const isRevival = (before: TransactionState, event: TransactionEvent): boolean =>
  event.kind === 'resumed' && before.kind === 'waiting' && before.givenUp === 'expired'

/** What the clock and the market may change. @returns the violated claim. */
const brokenClock = (
  ladder: Ladder,
  step: {
    readonly before: Extract<TransactionState, { kind: 'waiting' }>
    readonly event: Extract<TransactionEvent, { kind: 'clock' }>
    readonly chosen: number
  },
): string | null => {
  const { before, event, chosen } = step
  const { due, payable } = event
  const cancel = ladder.rungs
  const top = cancel - 1
  if (before.chosen === cancel) return null
  // A fixed fee may always be too low, so the transaction is given up while blocks would accept its cancel.
  const isTooLow = ladder.isFixed && payable === cancel
  if (chosen === cancel && payable > top && !isTooLow)
    return 'given up while blocks ask for more than its top rung offers'
  if (chosen === cancel && payable > before.chosen && !isTooLow) return 'given up though a higher rung could be taken'
  if (chosen === cancel && due !== 'expiry') return 'given up before its time'
  const isLeftBehind = chosen < Math.min(payable, top)
  return isLeftBehind ? 'a rung is kept that the market has left behind, though there is a higher one' : null
}

/** Compares an outcome with the transaction that used the nonce in a final block. @returns the violated claim. */
export const brokenOutcome = (
  outcome: Extract<TransactionState, { kind: 'done' }>['outcome'],
  final: { readonly by: 'rung' | 'cancel' | 'stranger'; readonly reverted: boolean } | null,
): string | null => {
  const isRung = final?.by === 'rung'
  switch (outcome) {
    case 'success':
      return isRung && !final.reverted ? null : 'told success for good, and it is not final'
    case 'execution_reverted':
    case 'contract_wallet_not_deployed':
      return isRung && final.reverted ? null : 'told execution_reverted, and it is not final'
    case 'expired':
      return final?.by === 'cancel' ? null : 'told expired, and the cancel is not final'
    case 'lapsed':
      return 'told to have lapsed, and it is not mortal'
    case 'reorganised':
      return 'told to be reorganised, which only an operator says'
    case 'nonce_taken':
      return final?.by === 'stranger' ? null : 'told nonce_taken, and it is not'
  }
}

/** Checks what is reported of a transaction in a block that is not final yet. @returns the violated claim. */
export const brokenTold = (
  state: Extract<TransactionState, { kind: 'mined' }>,
  receipt: { readonly reverted: boolean },
  ladder = LADDER,
): string | null => {
  if (state.result === null) return null
  if (state.attempt >= ladder.rungs) return 'a cancel is told before it is final'
  return (state.result !== 'success') === receipt.reverted ? null : 'told otherwise than its receipt says'
}
