// The folded model of one signer, in which all faults at once can be explored. One of its states represents all states
// of the plain model that differ only in things which no claim and no later step can see. What is folded, and why
// nothing is lost:
//
//   effects    Jobs and workers are not modelled. Any attempt up to the chosen one (and all of them once one was chosen
//              again after the cancel) may reach a node at any time, or never. That covers every job that runs at once,
//              late, twice, in two workers or never, and every crash before or after.
//   chances    Without a limit: a pool loses a transaction, a node knows none of ours, an answer is lost, a later attempt
//              is chosen. Only reorganisations and strangers are counted.
//   time       Clocks are not modelled: each of their events may happen at any time.
//   fees       Blocks may need any fee at any time, so the fee is not stored: the next block may accept anything, and a clock
//              may see any fee.
//   operators  Giving up by an operator is like giving up by the clock, with fewer later steps (explore.test.ts checks that).
//   requests   A request that dies is a branch in which it does not continue. Of the running requests only the highest
//              pending count that one may have seen is stored; they may use any count below it.
//   neighbours Other signers matter only because they cause blocks: a block without ours may come at any time, and empty
//              blocks are not stored. So the states of several signers are products of these. Each claim is about one
//              signer and final states stay, so what holds for one signer holds for any number.
//   order      Steps that no other step can prevent or notice are taken at once: the tracker goes back if its block is gone,
//              processes final blocks, reports results that are deep enough. A transaction in a block does not climb and
//              gets no answers: these could have come just before, with the same result.
//   depth      A block is final when another one is above it. After the one reorganisation no block can disappear. If more
//              blocks were needed, the same would only be reported later.
//   one look   Each observation of the reconciler changes one intent and affects no other, so one at a time is enough.
//   the end    A transaction that is final, processed and reported cannot change, and is dropped; nonces are counted from there.
//
// explore.test.ts folds every state of the plain model and checks that this model reaches it.

import type { TransactionEvent, TransactionState } from '../../src/signing/transactions/transition.ts'
import { Broken, type Model, type Move } from '../support/explore.ts'
import {
  brokenOutcome,
  brokenTold,
  CANCEL,
  FEES,
  type Fed,
  FIRST_STATE,
  feed,
  LADDER,
  type Rules,
  WAITS,
} from './rules.ts'

/**
 * What the network has at a nonce: nothing, an attempt (plus one), a stranger's transaction, or a reverted rung (plus
 * one).
 */
type Occupant = number
export const NOBODY: Occupant = 0
export const SOMEBODY: Occupant = LADDER.rungs + 2
/** The offset of reverted rungs. */
export const REVERTED = SOMEBODY

const isOurs = (there: Occupant): boolean => there !== NOBODY && there !== SOMEBODY
const isRung = (there: Occupant): boolean => there > NOBODY && there <= LADDER.rungs
const attemptIn = (there: Occupant): number => (there > REVERTED ? there - REVERTED : there) - 1

/** The block with a nonce, and the one that had it before the reorganisation. Only the names of hashes matter. */
export const HERE = 'here'
export const GONE = 'gone'

export type Slot = {
  /** null: none of our transactions has the nonce. */
  readonly state: TransactionState | null
  readonly hasRaw: boolean
  readonly there: Occupant
  /** An attempt that the reconciler saw in the removed block, and may still record. */
  readonly stale: number | null
  /** It was given up, and a rung is chosen again: an earlier worker may still send higher attempts. */
  readonly isRevived: boolean
}

export const EMPTY: Slot = { state: null, hasRaw: false, there: NOBODY, stale: null, isRevived: false }

export type Folded = {
  /** Not yet recorded. */
  readonly requests: number
  readonly strangers: number
  readonly reorgs: number
  /** The highest pending count that a request may have seen. */
  readonly seen: number
  /** The number of slots, in nonce order, that are in a block, in a final block, and known to the tracker. */
  readonly mined: number
  readonly final: number
  readonly tracked: number
  /** A reorganised height that the tracker has not processed again. */
  readonly isOpen: boolean
  readonly slots: readonly Slot[]
}

// There are few states. Each is stored once, so that it has a number and its transitions are computed once. Whether a
// node has accepted it is left out, because this only changes the reported status (explore.test.ts checks that).
const states: TransactionState[] = []
const numbers = new Map<TransactionState, number>()
const texts = new Map<string, TransactionState>()

export const kept = (full: TransactionState): TransactionState => {
  const state = full.kind === 'waiting' ? { ...full, broadcast: true } : full
  const text = JSON.stringify(state)
  const known = texts.get(text)
  if (known !== undefined) return known
  texts.set(text, state)
  numbers.set(state, states.push(state))
  return state
}

const SLOT_COUNTS = 8

const isRungChosen = (state: TransactionState | null): boolean =>
  state !== null && state.kind !== 'done' && state.chosen < CANCEL

/** Equal for equal worlds. Worlds are stored as such texts. */
const packed = (world: Folded): string =>
  String.fromCharCode(
    world.requests + SLOT_COUNTS * (world.strangers + SLOT_COUNTS * (world.reorgs + SLOT_COUNTS * world.seen)),
    world.mined + SLOT_COUNTS * (world.final + SLOT_COUNTS * (world.tracked + SLOT_COUNTS * (world.isOpen ? 1 : 0))),
    ...world.slots.map(
      ({ state, hasRaw, there, stale, isRevived }) =>
        (hasRaw ? 1 : 0) +
        2 * ((stale ?? -1) + 1) +
        8 * there +
        64 * (isRevived && isRungChosen(state) ? 1 : 0) +
        128 * (state === null ? 0 : (numbers.get(state) ?? 0)),
    ),
  )

const unpacked = (text: string): Folded => {
  const [counts = 0, positions = 0, ...slots] = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  const digit = (number: number, place: number): number => Math.floor(number / SLOT_COUNTS ** place) % SLOT_COUNTS
  return {
    requests: digit(counts, 0),
    strangers: digit(counts, 1),
    reorgs: digit(counts, 2),
    seen: digit(counts, 3),
    mined: digit(positions, 0),
    final: digit(positions, 1),
    tracked: digit(positions, 2),
    isOpen: digit(positions, 3) === 1,
    slots: slots.map((slot) => ({
      hasRaw: (slot & 1) === 1,
      stale: ((slot >> 1) & 3) === 0 ? null : ((slot >> 1) & 3) - 1,
      there: (slot >> 3) & 7,
      isRevived: ((slot >> 6) & 1) === 1,
      state: states[(slot >> 7) - 1] ?? null,
    })),
  }
}

const ATTEMPTS = Array.from({ length: LADDER.rungs + 1 }, (_, attempt) => attempt)
const included = (blockHash: string): readonly TransactionEvent[] =>
  ATTEMPTS.map((attempt) => ({ kind: 'included', attempt, blockHash }))

// One object for each event, because transitions are looked up by it.
const ACCEPTED: readonly TransactionEvent[] = ATTEMPTS.map((attempt) => ({ kind: 'accepted', attempt }))
const INCLUDED_HERE = included(HERE)
const INCLUDED_GONE = included(GONE)
const EXCLUDED: TransactionEvent = { kind: 'excluded' }
const SUCCEEDED: TransactionEvent = { kind: 'confirmed', blockHash: HERE, failure: null }
const FAILED: TransactionEvent = { kind: 'confirmed', blockHash: HERE, failure: 'execution_reverted' }
const FINALIZED: TransactionEvent = { kind: 'finalized', blockHash: HERE }
const USURPED: TransactionEvent = { kind: 'nonce_taken' }
const FORGOTTEN: TransactionEvent = { kind: 'dropped' }
const CLIMB_DUE: TransactionEvent = { kind: 'underpriced' }
const CLOCKS: readonly TransactionEvent[] = FEES.flatMap((payable) =>
  WAITS.map((due) => ({ kind: 'clock', due, payable }) as const),
)
const REVIVED: readonly TransactionEvent[] = ATTEMPTS.map((attempt) => ({ kind: 'resumed', attempt, cancel: CANCEL }))

export const isIn = (slot: Slot, blockHash: string): boolean =>
  slot.state?.kind === 'mined' && slot.state.blockHash === blockHash

/** The transitions of a transaction under one set of rules, computed once. */
export const createSteps = (rules: Rules) => {
  const memory = new Map<TransactionState, Map<TransactionEvent, Fed>>()
  const urgings = new Map<TransactionState, readonly TransactionEvent[]>()

  const fed = (state: TransactionState, event: TransactionEvent): Fed => {
    const known = memory.get(state) ?? new Map<TransactionEvent, Fed>()
    const before = known.get(event)
    if (before !== undefined) return before
    const fresh = feed(rules, state, event)
    const result = { ...fresh, state: kept(fresh.state) }
    memory.set(state, known.set(event, result))
    return result
  }

  const told = (slot: Slot, event: TransactionEvent | undefined): Slot => {
    if (slot.state === null || event === undefined) return slot
    const { state, isErased } = fed(slot.state, event)
    return state === slot.state && !isErased ? slot : { ...slot, state, hasRaw: slot.hasRaw && !isErased }
  }

  const isSent = (slot: Slot, event: TransactionEvent): boolean =>
    slot.state !== null && slot.hasRaw && fed(slot.state, event).isSent

  /** The possible events of a waiting transaction; of several with the same effect only one. */
  const urging = (state: TransactionState): readonly TransactionEvent[] => {
    const known = urgings.get(state)
    if (known !== undefined) return known
    const distinct = new Map<string, TransactionEvent>()
    for (const event of [CLIMB_DUE, FORGOTTEN, ...CLOCKS]) {
      const { state: next, isSent: sent } = fed(state, event)
      const end = `${numbers.get(next)}, ${sent}`
      if (!distinct.has(end)) distinct.set(end, event)
    }
    const events = [...distinct.values()]
    urgings.set(state, events)
    return events
  }

  return { rules, told, isSent, urging }
}

export type Steps = ReturnType<typeof createSteps>

const withSlot = (world: Folded, at: number, slot: Slot): Folded => ({
  ...world,
  slots: world.slots.map((each, nonce) => (nonce === at ? slot : each)),
})

const pendingIn = ({ mined, slots }: Folded): number => {
  let count = mined
  while (slots[count] !== undefined && slots[count]?.there !== NOBODY) count += 1
  return count
}

/** Claims about every state. */
const brokenIn = (world: Folded): string | null => {
  for (const [nonce, slot] of world.slots.entries()) {
    const broken = brokenSlot(world, slot, nonce)
    if (broken !== null) return broken
  }
  return null
}

const brokenSlot = (world: Folded, { state, there }: Slot, nonce: number): string | null => {
  if (state === null || state.kind === 'waiting') return null
  if (state.kind === 'done') {
    if (nonce >= world.final) return brokenOutcome(state.outcome, null)
    const by = isOurs(there) ? (attemptIn(there) === CANCEL ? 'cancel' : 'rung') : 'stranger'
    return brokenOutcome(state.outcome, { by, reverted: there > REVERTED })
  }
  if (state.blockHash === GONE) return world.isOpen ? null : 'it stays in a block that is gone'
  if (nonce >= world.mined || attemptIn(there) !== state.attempt) return 'taken to be mined, and it is not'
  return brokenTold(state, { reverted: there > REVERTED })
}

const firstGone = ({ slots }: Folded): number => {
  const at = slots.findIndex((slot) => slot.stale !== null || isIn(slot, GONE))
  return at === -1 ? slots.length : at
}

/** The tracker has passed the reorganised height: transactions that were recorded there wait again. */
const passed = (world: Folded, steps: Steps): Folded => ({
  ...world,
  isOpen: false,
  slots: world.slots.map((slot) => {
    const apart = isIn(slot, GONE) ? steps.told(slot, EXCLUDED) : slot
    return slot.stale === null || steps.rules.takesStaleNews ? apart : { ...apart, stale: null }
  }),
})

const tracked = (world: Folded, steps: Steps): Folded => {
  const nonce = world.tracked
  const open = world.isOpen && nonce >= firstGone(world) ? passed(world, steps) : world
  const slot = open.slots[nonce] ?? EMPTY
  const next = { ...open, tracked: nonce + 1 }
  return isOurs(slot.there) ? withSlot(next, nonce, steps.told(slot, INCLUDED_HERE[attemptIn(slot.there)])) : next
}

/** The events that are due for a nonce, by what the tracker knows. */
const duesOf = (world: Folded, { state, there }: Slot, nonce: number): readonly TransactionEvent[] => {
  if (nonce >= world.tracked || state === null || state.kind === 'done') return []
  if (state.kind === 'waiting') return nonce < world.final ? [USURPED] : []
  if (state.blockHash !== HERE) return []
  const receipt = there > REVERTED ? FAILED : SUCCEEDED
  return nonce < world.final ? [receipt, FINALIZED] : [receipt]
}

/** Takes the steps that no other step can prevent or notice. @throws Broken if a claim does not hold on the way. */
const settled = (world: Folded, steps: Steps): Folded => {
  let now = world
  for (let hasChanged = true; hasChanged; ) {
    const broken = brokenIn(now)
    if (broken !== null) throw new Broken(broken)
    hasChanged = false
    if (now.isOpen && firstGone(now) === now.slots.length) now = { ...now, isOpen: false }
    if (now.tracked < now.final && (!now.isOpen || now.tracked < firstGone(now))) {
      now = tracked(now, steps)
      hasChanged = true
      continue
    }
    for (const [nonce, slot] of now.slots.entries()) {
      const next = duesOf(now, slot, nonce).reduce(steps.told, slot)
      if (next === slot) continue
      now = withSlot(now, nonce, next)
      hasChanged = true
      break
    }
  }
  return now
}

/** Drops slots that cannot change any more. */
const shortened = (world: Folded): Folded => {
  const pending = Math.max(world.seen, pendingIn(world))
  let over = 0
  while (over < Math.min(world.final, world.tracked)) {
    const { state, there } = world.slots[over] ?? EMPTY
    if (state === null ? there !== SOMEBODY : state.kind !== 'done') break
    over += 1
  }
  return {
    ...world,
    seen: world.requests === 0 ? 0 : Math.max(0, pending - over),
    mined: world.mined - over,
    final: world.final - over,
    tracked: world.tracked - over,
    slots: [...world.slots.slice(over), ...Array<Slot>(over).fill(EMPTY)],
  }
}

/** The state of the exploration that represents a world. */
export const canonical = (world: Folded, steps: Steps): string => packed(shortened(settled(world, steps)))

type Emit = (name: string, world: Folded, how: 'promised' | 'chance') => void

const record = (world: Folded, { rules }: Steps, emit: Emit): void => {
  if (world.requests === 0) return
  const taken = new Set<number>()
  for (let seen = 0; seen <= world.seen; seen += 1) {
    let nonce = seen
    const holds = (slot: Slot | undefined) => slot !== undefined && slot.state !== null && rules.holdsNonce(slot.state)
    while (holds(world.slots[nonce])) nonce += 1
    const slot = world.slots[nonce]
    if (slot === undefined || taken.has(nonce)) continue
    taken.add(nonce)
    if (slot.state !== null && slot.state.kind !== 'done') throw new Broken('two intents hold one nonce')
    // The nonce is finally used: the transaction would at once be reported as failed.
    if (slot.state !== null) continue
    const first = { ...slot, state: kept(FIRST_STATE), hasRaw: true }
    emit(`record at ${nonce}`, { ...withSlot(world, nonce, first), requests: world.requests - 1 }, 'chance')
  }
}

/** Whether a node accepts an attempt as a replacement; it may also keep a stranger's transaction. */
const takes = (there: Occupant, attempt: number): boolean =>
  there === NOBODY || there === SOMEBODY || attemptIn(there) < attempt

const offer = (world: Folded, nonce: number, emit: Emit): void => {
  const slot = world.slots[nonce] ?? EMPTY
  if (slot.state === null || slot.state.kind === 'done' || nonce < world.mined) return
  const { chosen } = slot.state
  for (const attempt of ATTEMPTS) {
    if (attempt > chosen && !slot.isRevived) continue
    if (takes(slot.there, attempt)) {
      emit(`send ${nonce}.${attempt}`, withSlot(world, nonce, { ...slot, there: attempt + 1 }), 'chance')
    }
  }
}

/** Applies an event to a transaction. If it is sent then, the node may get it at once. */
const tell = (
  world: Folded,
  input: {
    readonly nonce: number
    readonly event: TransactionEvent | undefined
    readonly how: 'promised' | 'chance'
    readonly steps: Steps
    readonly emit: Emit
  },
): void => {
  const { nonce, event, how, steps, emit } = input
  const slot = world.slots[nonce] ?? EMPTY
  if (event === undefined) return
  const next = steps.told(slot, event)
  const name = `${event.kind} ${nonce}`
  if (next !== slot) emit(name, withSlot(world, nonce, next), how)
  if (!steps.isSent(slot, event) || next.state?.kind !== 'waiting' || nonce < world.mined) return
  const { chosen } = next.state
  if (takes(slot.there, chosen)) {
    emit(`${name}, send ${chosen}`, withSlot(world, nonce, { ...next, there: chosen + 1 }), how)
  }
}

/** A node accepts a rung while the cancel is chosen: a rung is chosen again. */
const revive = (
  world: Folded,
  { nonce, steps, emit }: { readonly nonce: number; readonly steps: Steps; readonly emit: Emit },
): void => {
  const slot = world.slots[nonce] ?? EMPTY
  for (let rung = 0; rung < CANCEL; rung += 1) {
    const isThere = attemptIn(slot.there) === rung
    const event = REVIVED[rung]
    if (event === undefined || (!isThere && !takes(slot.there, rung))) continue
    const next = steps.told(slot, event)
    if (next === slot) continue
    emit(`revived ${nonce} by ${rung}`, withSlot(world, nonce, { ...next, there: rung + 1, isRevived: true }), 'chance')
  }
}

/** Whether the reconciler's observation is of another intent. */
const looksElsewhere = ({ slots, tracked: known }: Folded, nonce: number): boolean =>
  slots.some(
    (slot, at) =>
      at !== nonce && (slot.stale !== null || isIn(slot, GONE) || (at >= known && slot.state?.kind === 'mined')),
  )

const learn = (world: Folded, steps: Steps, emit: Emit): void => {
  for (const [nonce, slot] of world.slots.entries()) {
    const { state, there, stale } = slot
    if (state === null || state.kind === 'done') continue
    const hear = (event: TransactionEvent | undefined, how: 'promised' | 'chance' = 'promised') =>
      tell(world, { nonce, event, how, steps, emit })
    if (state.kind === 'waiting' && nonce >= world.mined) {
      if (isOurs(there)) hear(ACCEPTED[attemptIn(there)])
      for (const event of steps.urging(state)) hear(event)
      revive(world, { nonce, steps, emit })
      if (steps.rules.onUnknown !== null) hear(steps.rules.onUnknown, 'chance')
    }
    if (state.kind === 'mined' && state.result === null) {
      if (state.blockHash === GONE) hear(EXCLUDED)
      else if (steps.rules.believesSilence) hear(EXCLUDED, 'chance')
    }
    const isQuiet = state.kind === 'waiting' || state.result === null
    if (isQuiet && nonce < world.mined && isOurs(there) && !looksElsewhere(world, nonce)) {
      hear(INCLUDED_HERE[attemptIn(there)])
    }
    if (stale !== null) {
      const written = { ...steps.told(slot, INCLUDED_GONE[stale]), stale: null }
      emit(`included ${nonce}, stale`, withSlot(world, nonce, written), 'chance')
    }
  }
}

const mine = (world: Folded, emit: Emit): void => {
  const top = { ...world, final: world.mined }
  if (world.mined > world.final) emit('a block without ours', top, 'promised')
  const more = (block: Folded): void => {
    const slot = block.slots[block.mined]
    if (slot === undefined || slot.there === NOBODY) return
    const ways = isRung(slot.there) ? [slot.there, slot.there + REVERTED] : [slot.there]
    for (const there of ways) {
      const longer = { ...withSlot(block, block.mined, { ...slot, there }), mined: block.mined + 1 }
      emit(`mine up to ${block.mined}${there > REVERTED ? ', reverted' : ''}`, longer, 'promised')
      more(longer)
    }
  }
  more(top)
}

/**
 * Removes the newest block; its transactions return to the pool, which may lose them. The tracker goes back at once.
 */
const reorganise = (world: Folded, steps: Steps, emit: Emit): void => {
  if (world.reorgs === 0 || world.mined === world.final) return
  const isKnown = world.tracked > world.final
  const slots = world.slots.map((slot, nonce) => {
    if (nonce < world.final || nonce >= world.mined) return slot
    const there = slot.there > REVERTED ? slot.there - REVERTED : slot.there
    const { state } = slot
    const apart = state?.kind === 'mined' ? { ...slot, state: kept({ ...state, blockHash: GONE }) } : slot
    return { ...(isKnown ? steps.told(apart, EXCLUDED) : apart), there }
  })
  const next: Folded = {
    ...world,
    reorgs: world.reorgs - 1,
    mined: world.final,
    tracked: Math.min(world.tracked, world.final),
    isOpen: true,
    slots,
  }
  emit('reorg', next, 'chance')
  for (let nonce = world.final; nonce < world.mined; nonce += 1) {
    const slot = slots[nonce] ?? EMPTY
    if (slot.state === null || !isOurs(slot.there) || looksElsewhere(next, nonce)) continue
    const held = withSlot(next, nonce, { ...slot, stale: attemptIn(slot.there) })
    emit(`reorg, the reconciler has seen ${nonce}`, held, 'chance')
  }
}

const lose = (world: Folded, emit: Emit): void => {
  for (let nonce = world.mined; nonce < world.slots.length; nonce += 1) {
    const slot = world.slots[nonce] ?? EMPTY
    if (slot.there !== NOBODY) emit(`drop ${nonce}`, withSlot(world, nonce, { ...slot, there: NOBODY }), 'chance')
  }
}

/** Somebody else uses the key. If this leaves a gap, the signer's next intent fills it. */
const intrude = (world: Folded, { rules }: Steps, emit: Emit): void => {
  const { slots, mined } = world
  const put = (nonce: number) => withSlot(world, nonce, { ...(slots[nonce] ?? EMPTY), there: SOMEBODY })
  const highest = Math.max(mined, slots.findLastIndex(({ state }) => state !== null) + 1)
  for (let nonce = mined; world.strangers > 0 && nonce <= highest && nonce < slots.length; nonce += 1) {
    emit(`stranger at ${nonce}`, { ...put(nonce), strangers: world.strangers - 1 }, 'chance')
  }
  const gap = pendingIn(world)
  const held = slots[gap]?.state ?? null
  if (held !== null && rules.holdsNonce(held)) return
  if (slots.some(({ state }, nonce) => nonce > gap && state?.kind === 'waiting')) {
    emit(`next intent fills ${gap}`, put(gap), 'promised')
  }
}

const movesFrom = (world: Folded, steps: Steps): readonly Move<string>[] => {
  const moves: Move<string>[] = []
  const emit: Emit = (name, next, how) => {
    moves.push({ name, world: canonical(next, steps), isPromised: how === 'promised' })
  }
  record(world, steps, emit)
  for (const nonce of world.slots.keys()) offer(world, nonce, emit)
  learn(world, steps, emit)
  mine(world, emit)
  reorganise(world, steps, emit)
  if (world.isOpen) emit('the tracker passes the reorganised height', passed(world, steps), 'promised')
  if (world.tracked < world.mined) emit(`track ${world.tracked}`, tracked(world, steps), 'promised')
  lose(world, emit)
  intrude(world, steps, emit)
  return moves
}

export type Bounds = {
  readonly intents: number
  readonly strangers: number
  /** The model only stores for one height whether the tracker has passed it. */
  readonly reorgs: 0 | 1
}

/** The folded model; each of its worlds is a text. */
export const foldedWorld = ({ rules, ...bounds }: Bounds & { readonly rules: Rules }): Model<string> => {
  const steps = createSteps(rules)
  const start: Folded = {
    ...{ requests: bounds.intents, strangers: bounds.strangers, reorgs: bounds.reorgs },
    ...{ seen: 0, mined: 0, final: 0, tracked: 0, isOpen: false },
    slots: Array(bounds.intents + bounds.strangers).fill(EMPTY),
  }
  return {
    start: canonical(start, steps),
    key: (world) => world,
    movesFrom: (world) => movesFrom(unpacked(world), steps),
    brokenIn: (world) => brokenIn(unpacked(world)),
    isEnd: (world) => unpacked(world).slots.every(({ state }) => state === null || state.kind === 'done'),
  }
}
