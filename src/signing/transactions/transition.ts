// The state machine of a transaction: state × event → new state and effects. Pure. record-observation.ts turns what a
// node or a clock said into events, stores the state and carries out the effects. test/transactions/explore.test.ts
// checks every order of events within small bounds.
//
//   waiting   recorded and signed; its chosen attempt is sent until a block has it. `broadcast`: a node accepted one.
//   mined     one of its attempts is in a block that a reorganisation could remove. `result` comes with confirmations.
//   done      its nonce is used in a final block, or its era is over. Nothing changes any more.
//
// The ladder: attempts are the rungs, lowest fee first, then the cancel, which only uses up the nonce. `chosen` rises
// with time, and at once when blocks ask for more than it offers. While blocks ask for more than the top rung offers,
// the transaction is not given up: fees fall, and the cancel would cost the peak price. Once the cancel is chosen,
// nothing else is sent, unless no pool has the cancel and a node accepts a rung (`resumed`). A rung that is
// mined counts. A contract wallet's execution waits until there is code at its address, and is given up if the
// deployment fails. A node's refusal or silence decides nothing: only blocks do.

import type { FailureCode, GiveUp, TransactionStatus } from '../../../db/words.ts'
import { unreachable } from '../../platform/errors.ts'

/** Why a mined transaction failed. */
export type ExecutionFailure = Extract<FailureCode, 'execution_reverted' | 'contract_wallet_not_deployed'>

/** `lapsed`: its era ended before a block took it. Callers see `expired`; unlike that, it used no nonce. */
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
      readonly result: 'success' | ExecutionFailure | null
    }
  | { readonly kind: 'done'; readonly outcome: Outcome }

export type TransactionEvent =
  /** A node has accepted an attempt. */
  | { readonly kind: 'accepted'; readonly attempt: number }
  /** An attempt is in a block of the chain. */
  | { readonly kind: 'included'; readonly attempt: number; readonly blockHash: string }
  /** A reorganisation removed its block. */
  | { readonly kind: 'excluded' }
  /** Its block has the network's number of confirmations; `failure` is null for a success. */
  | { readonly kind: 'confirmed'; readonly blockHash: string; readonly failure: ExecutionFailure | null }
  /** Its block is final. */
  | { readonly kind: 'finalized'; readonly blockHash: string }
  /** Another transaction used the nonce in a final block. */
  | { readonly kind: 'nonce_taken' }
  /** The node does not have the chosen attempt, and the nonce is not used. */
  | { readonly kind: 'dropped' }
  /** A node refused the fee as too low. */
  | { readonly kind: 'underpriced' }
  /** Only for its signer's lowest live nonce. */
  | {
      readonly kind: 'clock'
      /** It has waited long enough for a higher fee, or to be given up. */
      readonly due: 'climb' | 'expiry' | null
      /** The lowest attempt that the next block could take; beyond the cancel if it could take none. */
      readonly payable: number
    }
  /** An operator gave it up. */
  | { readonly kind: 'cancel_requested' }
  /** No pool has this cancel, and a node accepted this rung. */
  | { readonly kind: 'resumed'; readonly attempt: number; readonly cancel: number }
  /** It was signed again at higher fees; the new rungs start with `first`. */
  | { readonly kind: 'sped_up'; readonly first: number }
  /** Its contract wallet has no code, and no deployment is pending. */
  | { readonly kind: 'wallet_not_deployed' }
  /** It is mortal, and all blocks that could have taken it are final. */
  | { readonly kind: 'lapsed' }

/** Effects are idempotent, and are requested again if they were lost. */
export type TransactionEffect =
  | { readonly kind: 'send'; readonly attempt: number }
  /** Erase the raw bytes: the service needs them no more, and any reader of them can send them. */
  | { readonly kind: 'erase_raw' }

/** `rungs` rungs, then the cancel, then cancels from before a speed-up. `isFixed`: the caller fixed the fee. */
export type Ladder = { readonly rungs: number; readonly isFixed: boolean }

type Transition = { readonly state: TransactionState; readonly effects: readonly TransactionEffect[] }

const isCancel = (ladder: Ladder, attempt: number): boolean => attempt >= ladder.rungs

/** The outcome once the cancel is final. A cancel by an operator counts as `expired` too. */
const outcomeOf = (givenUp: GiveUp | null): Outcome =>
  givenUp === 'contract_wallet_not_deployed' ? givenUp : 'expired'

/** The next state of a transaction, and what must be done. The only place that decides this. */
export const transition = (input: {
  readonly ladder: Ladder
  readonly state: TransactionState
  readonly event: TransactionEvent
}): Transition => {
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

const whileWaiting = (ladder: Ladder, state: Waiting, event: TransactionEvent): Transition => {
  const stays: Transition = { state, effects: [] }
  const choose = (chosen: number, givenUp: GiveUp | null): Transition =>
    chosen > state.chosen
      ? { state: { ...state, chosen, givenUp }, effects: [{ kind: 'send', attempt: chosen }] }
      : stays
  switch (event.kind) {
    case 'accepted':
      return { state: { ...state, broadcast: true }, effects: [] }
    case 'included':
      return { state: enterBlock(state, event), effects: [] }
    case 'nonce_taken':
      return { state: { kind: 'done', outcome: 'nonce_taken' }, effects: [{ kind: 'erase_raw' }] }
    case 'lapsed':
      return { state: { kind: 'done', outcome: 'lapsed' }, effects: [{ kind: 'erase_raw' }] }
    case 'dropped':
      return { state, effects: [{ kind: 'send', attempt: state.chosen }] }
    case 'underpriced':
      // Never onto the cancel: only a clock or an operator gives up.
      return state.chosen + 1 < ladder.rungs ? choose(state.chosen + 1, null) : stays
    case 'clock': {
      const next = onClock(ladder, state, event)
      return choose(next, next === ladder.rungs ? 'expired' : null)
    }
    case 'cancel_requested':
      return choose(ladder.rungs, 'cancelled')
    case 'resumed':
      // An earlier cancel says nothing about the one that is chosen now, which another worker may be sending.
      return state.givenUp === 'expired' && event.cancel === ladder.rungs && event.attempt < ladder.rungs
        ? { state: { ...state, chosen: event.attempt, givenUp: null, broadcast: true }, effects: [] }
        : stays
    case 'sped_up':
      return {
        state: { ...state, chosen: event.first, givenUp: null },
        effects: [{ kind: 'send', attempt: event.first }],
      }
    case 'wallet_not_deployed':
      return choose(ladder.rungs, 'contract_wallet_not_deployed')
    case 'excluded':
    case 'confirmed':
    case 'finalized':
      return stays
    default:
      return unreachable(event)
  }
}

const onClock = (
  ladder: Ladder,
  { chosen }: Waiting,
  { due, payable }: Extract<TransactionEvent, { kind: 'clock' }>,
): number => {
  const top = ladder.rungs - 1
  if (chosen > top) return chosen
  // Skip rungs that the next block would not take.
  if (payable > chosen && chosen < top) return Math.min(payable, top)
  // Wait for lower fees. Only a fee that the caller fixed may be too low for ever, so that is given up meanwhile, but
  // not while even the cancel would have to wait.
  if (payable > top && !(ladder.isFixed && payable === ladder.rungs)) return chosen
  if (due === 'expiry') return ladder.rungs
  return due === 'climb' ? Math.min(chosen + 1, top) : chosen
}

const enterBlock = (
  { chosen, givenUp }: Waiting | Mined,
  event: Extract<TransactionEvent, { kind: 'included' }>,
): Mined => ({
  kind: 'mined',
  chosen,
  givenUp,
  attempt: event.attempt,
  blockHash: event.blockHash,
  result: null,
})

const whileMined = (ladder: Ladder, state: Mined, event: TransactionEvent): Transition => {
  const stays: Transition = { state, effects: [] }
  switch (event.kind) {
    case 'included': {
      const same = event.blockHash === state.blockHash && event.attempt === state.attempt
      return same ? stays : { state: enterBlock(state, event), effects: [] }
    }
    case 'excluded':
      return {
        state: { kind: 'waiting', chosen: state.chosen, givenUp: state.givenUp, broadcast: true },
        effects: [{ kind: 'send', attempt: state.chosen }],
      }
    case 'confirmed': {
      // A cancel gets its result only when it is final: after a reorganisation a rung could be mined instead.
      if (event.blockHash !== state.blockHash || isCancel(ladder, state.attempt)) return stays
      return { state: { ...state, result: event.failure ?? 'success' }, effects: [] }
    }
    case 'finalized':
      return event.blockHash === state.blockHash ? finalized(ladder, state) : stays
    case 'accepted':
    case 'nonce_taken':
    case 'dropped':
    case 'underpriced':
    case 'clock':
    case 'cancel_requested':
    case 'resumed':
    case 'sped_up':
    case 'wallet_not_deployed':
    case 'lapsed':
      return stays
    default:
      return unreachable(event)
  }
}

const finalized = (ladder: Ladder, state: Mined): Transition => {
  const effects = [{ kind: 'erase_raw' }] as const
  if (isCancel(ladder, state.attempt)) return { state: { kind: 'done', outcome: outcomeOf(state.givenUp) }, effects }
  // The block is final, but its receipt was not read yet: that comes first.
  if (state.result === null) return { state, effects: [] }
  return { state: { kind: 'done', outcome: state.result }, effects }
}

export const statusOf = (state: TransactionState): TransactionStatus => {
  switch (state.kind) {
    case 'waiting':
      return state.broadcast ? 'pending' : 'submitted'
    case 'mined':
      return state.result === null ? 'pending' : state.result === 'success' ? 'success' : 'failed'
    case 'done':
      return state.outcome === 'success' ? 'success' : 'failed'
    default:
      return unreachable(state)
  }
}

const FREES_NONCE: ReadonlySet<Outcome> = new Set(['nonce_taken', 'lapsed', 'reorganised'])

/** Whether its nonce is taken: while it is live, and for ever if one of its attempts used the nonce. */
export const holdsNonce = (state: TransactionState): boolean =>
  !(state.kind === 'done' && FREES_NONCE.has(state.outcome))

type LadderSent = {
  readonly chosen: number
  readonly rungs: number
  readonly givenUp: GiveUp | null
  /** Whether a node has ever answered to the cancel. */
  readonly isCancelOffered: boolean
}

/**
 * A rung above the chosen one was never sent and may be replaced. Once the transaction was given up, any attempt may
 * have been sent, so all stay. @returns firstRung the index of the first new rung.
 */
export const attemptsToKeep = (sent: LadderSent): { readonly firstRung: number; readonly isCancelKept: boolean } => {
  const { chosen, rungs, givenUp, isCancelOffered } = sent
  const isCancelKept = givenUp !== null || isCancelOffered
  return { firstRung: isCancelKept ? rungs : chosen + 1, isCancelKept }
}
