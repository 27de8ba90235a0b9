// What may happen to a transaction: state × event → state and effects. Pure; the code that runs only feeds it what it has
// learnt from a node or a clock, writes the state down and carries the effects out. test/transactions/explore.test.ts
// walks through every interleaving within small bounds.
//
//   waiting   recorded and signed; its chosen attempt is sent as often as it takes. `broadcast` once a node took one.
//   mined     one of its attempts is in a block that could still go away. `told` once it is deep enough to say how it ended.
//   done      its nonce is used in a block that cannot go away. Nothing changes any more.
//
// The ladder: attempts are the rungs, lowest fee first, and last the cancel, which does nothing but use the nonce. `chosen`
// only ever rises. Once it is the cancel nothing else is sent; a rung that is mined all the same counts.
// What a node says when it refuses, or does not say, changes nothing: only blocks do.

import type { TransactionStatus } from '../../db/words.ts'
import { unreachable } from '../errors.ts'

export type FailureCode = 'execution_reverted' | 'expired' | 'nonce_taken'

export type TransactionState =
  | { readonly kind: 'waiting'; readonly chosen: number; readonly broadcast: boolean }
  | {
      readonly kind: 'mined'
      readonly chosen: number
      readonly attempt: number
      readonly blockHash: string
      readonly told: 'success' | 'failed' | null
    }
  | { readonly kind: 'done'; readonly outcome: 'success' | FailureCode }

export type TransactionEvent =
  /** A node has the bytes of an attempt. */
  | { readonly kind: 'accepted'; readonly attempt: number }
  /** An attempt is in a block of the chain. */
  | { readonly kind: 'included'; readonly attempt: number; readonly blockHash: string }
  /** The block it was in is no longer the chain's. */
  | { readonly kind: 'excluded' }
  /** Its block is as deep as the network asks for; how its execution ended. */
  | { readonly kind: 'confirmed'; readonly blockHash: string; readonly success: boolean }
  /** Its block can no longer go away. */
  | { readonly kind: 'finalized'; readonly blockHash: string }
  /** The nonce is used in a final block, and not by one of its attempts. */
  | { readonly kind: 'usurped' }
  /** No node in reach has the attempt that was chosen, nor has it used the nonce. */
  | { readonly kind: 'forgotten' }
  /** It is its signer's lowest live nonce, and has not been mined for so long that the fee must rise; or a node asks for more. */
  | { readonly kind: 'climb_due' }
  /** It is its signer's lowest live nonce, and was offered so long ago, taken or not, that it is given up; or an operator says so. */
  | { readonly kind: 'expiry_due' }

/** Effects are idempotent: they may be carried out twice, and are asked for again where they were lost. */
export type TransactionEffect =
  | { readonly kind: 'send'; readonly attempt: number }
  /** Final: the raw bytes would be bearer instruments. */
  | { readonly kind: 'erase_raw' }

/** The attempts of a transaction: `rungs` of them, then the cancel. */
export type Ladder = { readonly rungs: number }

type Step = { readonly state: TransactionState; readonly effects: readonly TransactionEffect[] }

export const FIRST_STATE: TransactionState = { kind: 'waiting', chosen: 0, broadcast: false }

const isCancel = (ladder: Ladder, attempt: number): boolean => attempt === ladder.rungs

/** The one place where a transaction's fate is decided. */
export const transition = (input: {
  readonly ladder: Ladder
  readonly state: TransactionState
  readonly event: TransactionEvent
}): Step => {
  const { ladder, state, event } = input
  switch (state.kind) {
    case 'waiting':
      return whileWaiting(ladder, state, event)
    case 'mined':
      return whileMined(ladder, state, event)
    case 'done':
      return { state, effects: [] }
    default:
      return unreachable(state)
  }
}

type Waiting = Extract<TransactionState, { kind: 'waiting' }>
type Mined = Extract<TransactionState, { kind: 'mined' }>

const whileWaiting = (ladder: Ladder, state: Waiting, event: TransactionEvent): Step => {
  const stays: Step = { state, effects: [] }
  const choose = (chosen: number): Step =>
    chosen > state.chosen ? { state: { ...state, chosen }, effects: [{ kind: 'send', attempt: chosen }] } : stays
  switch (event.kind) {
    case 'accepted':
      return { state: { ...state, broadcast: true }, effects: [] }
    case 'included':
      return { state: minedBy(state.chosen, event), effects: [] }
    case 'usurped':
      return { state: { kind: 'done', outcome: 'nonce_taken' }, effects: [{ kind: 'erase_raw' }] }
    case 'forgotten':
      return { state, effects: [{ kind: 'send', attempt: state.chosen }] }
    case 'climb_due':
      // Never onto the cancel: giving up is a decision of its own.
      return state.chosen + 1 < ladder.rungs ? choose(state.chosen + 1) : stays
    case 'expiry_due':
      return choose(ladder.rungs)
    case 'excluded':
    case 'confirmed':
    case 'finalized':
      return stays
    default:
      return unreachable(event)
  }
}

const minedBy = (chosen: number, event: Extract<TransactionEvent, { kind: 'included' }>): Mined => ({
  kind: 'mined',
  chosen,
  attempt: event.attempt,
  blockHash: event.blockHash,
  told: null,
})

const whileMined = (ladder: Ladder, state: Mined, event: TransactionEvent): Step => {
  const stays: Step = { state, effects: [] }
  switch (event.kind) {
    case 'included': {
      const same = event.blockHash === state.blockHash && event.attempt === state.attempt
      return same ? stays : { state: minedBy(state.chosen, event), effects: [] }
    }
    case 'excluded':
      return {
        state: { kind: 'waiting', chosen: state.chosen, broadcast: true },
        effects: [{ kind: 'send', attempt: state.chosen }],
      }
    case 'confirmed': {
      // What failed because it was given up is told when that is final: a rung could still be mined instead.
      if (event.blockHash !== state.blockHash || isCancel(ladder, state.attempt)) return stays
      return { state: { ...state, told: event.success ? 'success' : 'failed' }, effects: [] }
    }
    case 'finalized':
      return event.blockHash === state.blockHash ? finalized(ladder, state) : stays
    case 'accepted':
    case 'usurped':
    case 'forgotten':
    case 'climb_due':
    case 'expiry_due':
      return stays
    default:
      return unreachable(event)
  }
}

const finalized = (ladder: Ladder, state: Mined): Step => {
  const effects = [{ kind: 'erase_raw' }] as const
  if (isCancel(ladder, state.attempt)) return { state: { kind: 'done', outcome: 'expired' }, effects }
  // Final without having been told: the receipt comes first.
  if (state.told === null) return { state, effects: [] }
  return { state: { kind: 'done', outcome: state.told === 'success' ? 'success' : 'execution_reverted' }, effects }
}

/** The word on the wire. */
export const statusOf = (state: TransactionState): TransactionStatus => {
  switch (state.kind) {
    case 'waiting':
      return state.broadcast ? 'pending' : 'submitted'
    case 'mined':
      return state.told ?? 'pending'
    case 'done':
      return state.outcome === 'success' ? 'success' : 'failed'
    default:
      return unreachable(state)
  }
}

/** Whether no other intent may have this nonce: while live, and for ever where one of its attempts used it. */
export const holdsNonce = (state: TransactionState): boolean =>
  !(state.kind === 'done' && state.outcome === 'nonce_taken')
