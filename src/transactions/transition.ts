// What may happen to a transaction: state × event → state and effects. Pure; the code that runs only feeds it what it has
// learnt from a node or a clock, writes the state down and carries the effects out. test/transactions/explore.test.ts
// walks through every interleaving within small bounds.
//
//   waiting   recorded and signed; its chosen attempt is sent as often as it takes. `broadcast` once a node took one.
//   mined     one of its attempts is in a block that could still go away. `told` once it is deep enough to say how it ended.
//   done      its nonce is used in a block that cannot go away. Nothing changes any more.
//
// The ladder: attempts are the rungs, lowest fee first, and then the cancel, which does nothing but use the nonce. `chosen`
// rises with time, and at once where blocks ask for more than it offers. While they ask for more than the top rung offers it
// is not given up: fees fall again, and a cancel would be paid at their height. Once the cancel is chosen nothing else is
// sent, but for one case: where no pool has it, and a node takes a rung. A rung that is mined all the same counts.
// What a contract wallet is to execute is held back until there is code at its address, and given up where it gets none.
// What a node says when it refuses, or does not say, changes nothing: only blocks do.

import type { GiveUp, TransactionStatus } from '../../db/words.ts'
import { unreachable } from '../errors.ts'

/** How a mined execution failed: it reverted, or went to a contract wallet that had no code, and so did nothing. */
export type ExecutionFailure = 'execution_reverted' | 'contract_wallet_not_deployed'

/** `reorganised`: it was final, and is on no chain any more; only an operator says so (repair.ts). */
export type FailureCode = ExecutionFailure | 'expired' | 'nonce_taken' | 'reorganised'

/** `lapsed` is told as `expired`, but used no nonce. */
export type Outcome = 'success' | FailureCode | 'lapsed'

export type TransactionState =
  | {
      readonly kind: 'waiting'
      readonly chosen: number
      /** Why the cancel is chosen; null while it is not. */
      readonly givenUp: GiveUp | null
      readonly broadcast: boolean
    }
  | {
      readonly kind: 'mined'
      readonly chosen: number
      readonly givenUp: GiveUp | null
      readonly attempt: number
      readonly blockHash: string
      readonly told: 'success' | ExecutionFailure | null
    }
  | { readonly kind: 'done'; readonly outcome: Outcome }

export type TransactionEvent =
  /** A node has the bytes of an attempt. */
  | { readonly kind: 'accepted'; readonly attempt: number }
  /** An attempt is in a block of the chain. */
  | { readonly kind: 'included'; readonly attempt: number; readonly blockHash: string }
  /** The block it was in is no longer the chain's. */
  | { readonly kind: 'excluded' }
  /** Its block is as deep as the network asks for; how its execution ended. */
  | { readonly kind: 'confirmed'; readonly blockHash: string; readonly failure: ExecutionFailure | null }
  /** Its block can no longer go away. */
  | { readonly kind: 'finalized'; readonly blockHash: string }
  /** The nonce is used in a final block, and not by one of its attempts. */
  | { readonly kind: 'usurped' }
  /** No node in reach has the attempt that was chosen, nor has it used the nonce. */
  | { readonly kind: 'forgotten' }
  /** A node asks for more. */
  | { readonly kind: 'climb_due' }
  /** Of its signer's lowest live nonce: how long it has waited, and what blocks ask for. */
  | {
      readonly kind: 'clock'
      /** It was offered so long ago that the fee must rise, or that it is given up. */
      readonly due: 'climb' | 'expiry' | null
      /** The lowest attempt that the next block could take; beyond the cancel where it could take none. */
      readonly payable: number
    }
  /** An operator gives it up. */
  | { readonly kind: 'cancel_asked' }
  /** This cancel waits in no pool that was asked, and a node took this rung. */
  | { readonly kind: 'revived'; readonly attempt: number; readonly cancel: number }
  /** It was signed anew, above all that may have been sent: the ladder goes on, or begins again, with this rung. */
  | { readonly kind: 'signed_anew'; readonly first: number }
  /** The contract wallet that is to execute it has no code, and nothing is under way that would put it there. */
  | { readonly kind: 'undeployed' }
  /** It is mortal, and none of the blocks that could take it did; all of them are final. */
  | { readonly kind: 'lapsed' }

/** Effects are idempotent: they may be carried out twice, and are asked for again where they were lost. */
export type TransactionEffect =
  | { readonly kind: 'send'; readonly attempt: number }
  /** Final: the raw bytes would be bearer instruments. */
  | { readonly kind: 'erase_raw' }

/**
 * The attempts of a transaction: `rungs` of them, then the cancel, and cancels from before it was signed anew. `isFixed`: its
 * caller fixed what it offers.
 */
export type Ladder = { readonly rungs: number; readonly isFixed: boolean }

type Step = { readonly state: TransactionState; readonly effects: readonly TransactionEffect[] }

export const FIRST_STATE: TransactionState = { kind: 'waiting', chosen: 0, givenUp: null, broadcast: false }

const isCancel = (ladder: Ladder, attempt: number): boolean => attempt >= ladder.rungs

/** The word for what was given up; an operator's doing is told as what its clock would have done later. */
const outcomeOf = (givenUp: GiveUp | null): Outcome =>
  givenUp === 'contract_wallet_not_deployed' ? givenUp : 'expired'

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
  const choose = (chosen: number, givenUp: GiveUp | null): Step =>
    chosen > state.chosen
      ? { state: { ...state, chosen, givenUp }, effects: [{ kind: 'send', attempt: chosen }] }
      : stays
  switch (event.kind) {
    case 'accepted':
      return { state: { ...state, broadcast: true }, effects: [] }
    case 'included':
      return { state: minedBy(state, event), effects: [] }
    case 'usurped':
      return { state: { kind: 'done', outcome: 'nonce_taken' }, effects: [{ kind: 'erase_raw' }] }
    case 'lapsed':
      return { state: { kind: 'done', outcome: 'lapsed' }, effects: [{ kind: 'erase_raw' }] }
    case 'forgotten':
      return { state, effects: [{ kind: 'send', attempt: state.chosen }] }
    case 'climb_due':
      // Never onto the cancel: giving up is a decision of its own.
      return state.chosen + 1 < ladder.rungs ? choose(state.chosen + 1, null) : stays
    case 'clock': {
      const next = onClock(ladder, state, event)
      return choose(next, next === ladder.rungs ? 'expired' : null)
    }
    case 'cancel_asked':
      return choose(ladder.rungs, 'cancelled')
    case 'revived':
      // Of a former cancel it says nothing about the one that is chosen now, which another worker may be sending.
      return state.givenUp === 'expired' && event.cancel === ladder.rungs && event.attempt < ladder.rungs
        ? { state: { ...state, chosen: event.attempt, givenUp: null, broadcast: true }, effects: [] }
        : stays
    case 'signed_anew':
      return {
        state: { ...state, chosen: event.first, givenUp: null },
        effects: [{ kind: 'send', attempt: event.first }],
      }
    case 'undeployed':
      return choose(ladder.rungs, 'contract_wallet_not_deployed')
    case 'excluded':
    case 'confirmed':
    case 'finalized':
      return stays
    default:
      return unreachable(event)
  }
}

/** The attempt that time and the market want; the one that is chosen where they want no other. */
const onClock = (
  ladder: Ladder,
  { chosen }: Waiting,
  { due, payable }: Extract<TransactionEvent, { kind: 'clock' }>,
): number => {
  const top = ladder.rungs - 1
  if (chosen > top) return chosen
  // Rungs that the market has left behind are skipped.
  if (payable > chosen && chosen < top) return Math.min(payable, top)
  // Waiting for lower fees. Only what its caller fixed is given up meanwhile, as it may be too low for ever; and not while
  // even the cancel would have to wait.
  if (payable > top && !(ladder.isFixed && payable === ladder.rungs)) return chosen
  if (due === 'expiry') return ladder.rungs
  return due === 'climb' ? Math.min(chosen + 1, top) : chosen
}

const minedBy = (
  { chosen, givenUp }: Waiting | Mined,
  event: Extract<TransactionEvent, { kind: 'included' }>,
): Mined => ({
  kind: 'mined',
  chosen,
  givenUp,
  attempt: event.attempt,
  blockHash: event.blockHash,
  told: null,
})

const whileMined = (ladder: Ladder, state: Mined, event: TransactionEvent): Step => {
  const stays: Step = { state, effects: [] }
  switch (event.kind) {
    case 'included': {
      const same = event.blockHash === state.blockHash && event.attempt === state.attempt
      return same ? stays : { state: minedBy(state, event), effects: [] }
    }
    case 'excluded':
      return {
        state: { kind: 'waiting', chosen: state.chosen, givenUp: state.givenUp, broadcast: true },
        effects: [{ kind: 'send', attempt: state.chosen }],
      }
    case 'confirmed': {
      // What failed because it was given up is told when that is final: a rung could still be mined instead.
      if (event.blockHash !== state.blockHash || isCancel(ladder, state.attempt)) return stays
      return { state: { ...state, told: event.failure ?? 'success' }, effects: [] }
    }
    case 'finalized':
      return event.blockHash === state.blockHash ? finalized(ladder, state) : stays
    case 'accepted':
    case 'usurped':
    case 'forgotten':
    case 'climb_due':
    case 'clock':
    case 'cancel_asked':
    case 'revived':
    case 'signed_anew':
    case 'undeployed':
    case 'lapsed':
      return stays
    default:
      return unreachable(event)
  }
}

const finalized = (ladder: Ladder, state: Mined): Step => {
  const effects = [{ kind: 'erase_raw' }] as const
  if (isCancel(ladder, state.attempt)) return { state: { kind: 'done', outcome: outcomeOf(state.givenUp) }, effects }
  // Final without having been told: the receipt comes first.
  if (state.told === null) return { state, effects: [] }
  return { state: { kind: 'done', outcome: state.told }, effects }
}

/** The word on the wire. */
export const statusOf = (state: TransactionState): TransactionStatus => {
  switch (state.kind) {
    case 'waiting':
      return state.broadcast ? 'pending' : 'submitted'
    case 'mined':
      return state.told === null ? 'pending' : state.told === 'success' ? 'success' : 'failed'
    case 'done':
      return state.outcome === 'success' ? 'success' : 'failed'
    default:
      return unreachable(state)
  }
}

const FREES_NONCE: ReadonlySet<Outcome> = new Set(['nonce_taken', 'lapsed', 'reorganised'])

/** Whether no other intent may have this nonce: while live, and for ever where one of its attempts used it. */
export const holdsNonce = (state: TransactionState): boolean =>
  !(state.kind === 'done' && FREES_NONCE.has(state.outcome))
