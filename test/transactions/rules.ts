// What the explored worlds share: the rules under test, and what no single step may do. The rules are the running code's
// own; a test replaces one by a broken rule and sees it found.

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
const TOP = LADDER.rungs - 1

/** What blocks ask for: so many attempts, from the lowest on, offer less. */
export type Fee = number
export const FEES: readonly Fee[] = [0, 1, 2, 3]

/** How long its signer's lowest has waited: not for long, until it must offer more, until it is given up. */
export const WAITS = [null, 'climb', 'expiry'] as const
export type Waited = 0 | 1 | 2

/** Whether the next block could take an attempt. */
export const isPaying = (attempt: number, fee: Fee): boolean => attempt >= fee

export type Rules = {
  readonly transition: typeof transition
  readonly holdsNonce: typeof holdsNonce
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
export const feed = (rules: Rules, state: TransactionState, event: TransactionEvent): Fed => {
  const next = rules.transition({ ladder: LADDER, state, event })
  const broken = brokenStep({ before: state, event, after: next.state, effects: next.effects })
  if (broken !== null) throw new Broken(broken)
  return {
    state: next.state,
    isSent: next.effects.some((effect) => effect.kind === 'send'),
    isErased: next.effects.some((effect) => effect.kind === 'erase_raw'),
  }
}

const brokenStep = (step: {
  readonly before: TransactionState
  readonly event: TransactionEvent
  readonly after: TransactionState
  readonly effects: readonly TransactionEffect[]
}): string | null => {
  const { before, event, after, effects } = step
  if (before.kind === 'done') {
    return after === before && effects.length === 0 ? null : 'what was told for good is told otherwise'
  }
  if (after.kind === 'done') return null
  if (after.chosen < before.chosen && !isRevival(before, event)) return 'a lower attempt is chosen after a higher one'
  if (event.kind === 'clock' && before.kind === 'waiting') {
    const broken = brokenClock(before, event, after.chosen)
    if (broken !== null) return broken
  }
  const stray = effects.some((effect) => effect.kind === 'send' && effect.attempt !== after.chosen)
  if (stray) return 'an attempt is sent that is not the chosen one'
  const stays = after.kind === 'mined' && before.kind === 'mined' && after.blockHash === before.blockHash
  if (event.kind === 'excluded' && stays) return 'it stays in a block that is gone'
  const isTold = after.kind === 'mined' && after.told !== null && !(stays && before.told === after.told)
  if (isTold && event.kind !== 'confirmed') return 'told before its block is deep enough'
  return null
}

/** Given up for time, and by nobody. */
const isRevival = (before: TransactionState, event: TransactionEvent): boolean =>
  event.kind === 'revived' && before.kind === 'waiting' && before.givenUp === 'expired'

/** What the clock and the market may change. @returns the sentence that is not true. */
const brokenClock = (
  before: Extract<TransactionState, { kind: 'waiting' }>,
  { due, payable }: Extract<TransactionEvent, { kind: 'clock' }>,
  chosen: number,
): string | null => {
  if (before.chosen === CANCEL) return null
  if (chosen === CANCEL && payable > TOP) return 'given up while blocks ask for more than its top rung offers'
  if (chosen === CANCEL && payable > before.chosen) return 'given up though a higher rung could be taken'
  if (chosen === CANCEL && due !== 'expiry') return 'given up before its time'
  const isLeftBehind = chosen < Math.min(payable, TOP)
  return isLeftBehind ? 'a rung is kept that the market has left behind, though there is a higher one' : null
}

/** What a final outcome says of the transaction that used the nonce in a final block. @returns the sentence that is not true. */
export const brokenOutcome = (
  outcome: Extract<TransactionState, { kind: 'done' }>['outcome'],
  final: { readonly attempt: number | 'stranger'; readonly reverted: boolean } | null,
): string | null => {
  const isRung = final !== null && final.attempt !== 'stranger' && final.attempt !== CANCEL
  switch (outcome) {
    case 'success':
      return isRung && !final.reverted ? null : 'told success for good, and it is not final'
    case 'execution_reverted':
    case 'contract_wallet_not_deployed':
      return isRung && final.reverted ? null : 'told execution_reverted, and it is not final'
    case 'expired':
      return final?.attempt === CANCEL ? null : 'told expired, and the cancel is not final'
    case 'lapsed':
      return 'told to have lapsed, and it is not mortal'
    case 'reorganised':
      return 'told to be reorganised, which only an operator says'
    case 'nonce_taken':
      return final?.attempt === 'stranger' ? null : 'told nonce_taken, and it is not'
  }
}

/** What is told of a transaction in a block of the chain, before that is final. @returns the sentence that is not true. */
export const brokenTold = (
  state: Extract<TransactionState, { kind: 'mined' }>,
  receipt: { readonly reverted: boolean },
): string | null => {
  if (state.told === null) return null
  if (state.attempt === CANCEL) return 'a cancel is told before it is final'
  return (state.told !== 'success') === receipt.reverted ? null : 'told otherwise than its receipt says'
}
