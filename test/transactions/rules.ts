// What the explored worlds share: the rules under test, and what no single step may do. The rules are the running code's
// own; a test replaces one by a broken rule and sees it found.

import { attemptsToKeep } from '../../src/transactions/attempts-to-keep.ts'
import {
  holdsNonce,
  type Ladder,
  type TransactionEffect,
  type TransactionEvent,
  type TransactionState,
  transition,
} from '../../src/transactions/transition.ts'
import { Broken } from '../support/explore.ts'

/** Two rungs and the cancel. */
export const LADDER: Ladder = { rungs: 2, isFixed: false }
export const CANCEL = LADDER.rungs

/** What blocks ask for: so many attempts of the first ladder, from the lowest on, offer less. */
export type Fee = number
export const FEES: readonly Fee[] = [0, 1, 2, 3]

/** How long its signer's lowest has waited: not for long, until it must offer more, until it is given up. */
export const WAITS = [null, 'climb', 'expiry'] as const
export type Waited = 0 | 1 | 2

export type Rules = {
  readonly transition: typeof transition
  readonly holdsNonce: typeof holdsNonce
  readonly attemptsToKeep: typeof attemptsToKeep
  /** What a worker makes of an answer that it did not hear. */
  readonly onUnknown: TransactionEvent | null
  /** Whether a node that has not heard of a mined attempt proves to the reconciler that its block is gone. */
  readonly believesSilence: boolean
  /** Whether the reconciler's news of a block are taken in though the tracker has come by its height. */
  readonly takesStaleNews: boolean
  /** Whether it is taken for granted that the chain has the block where the tracker stands. */
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

/** Feeds one event to one transaction. @throws Broken where a claim about single steps does not hold. */
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

/** Given up for time, and by nobody. */
const isRevival = (before: TransactionState, event: TransactionEvent): boolean =>
  event.kind === 'resumed' && before.kind === 'waiting' && before.givenUp === 'expired'

/** What the clock and the market may change. @returns the sentence that is not true. */
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
  // What its caller fixed may be too low for ever, so it is given up while blocks would take its cancel.
  const isTooLow = ladder.isFixed && payable === cancel
  if (chosen === cancel && payable > top && !isTooLow)
    return 'given up while blocks ask for more than its top rung offers'
  if (chosen === cancel && payable > before.chosen && !isTooLow) return 'given up though a higher rung could be taken'
  if (chosen === cancel && due !== 'expiry') return 'given up before its time'
  const isLeftBehind = chosen < Math.min(payable, top)
  return isLeftBehind ? 'a rung is kept that the market has left behind, though there is a higher one' : null
}

/** What a final outcome says of the transaction that used the nonce in a final block. @returns the sentence that is not true. */
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

/** What is told of a transaction in a block of the chain, before that is final. @returns the sentence that is not true. */
export const brokenTold = (
  state: Extract<TransactionState, { kind: 'mined' }>,
  receipt: { readonly reverted: boolean },
  ladder = LADDER,
): string | null => {
  if (state.result === null) return null
  if (state.attempt >= ladder.rungs) return 'a cancel is told before it is final'
  return (state.result !== 'success') === receipt.reverted ? null : 'told otherwise than its receipt says'
}
