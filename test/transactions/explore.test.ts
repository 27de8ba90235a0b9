// Explores every order in which things may happen to a few transactions, in two models. The plain model
// (small-world.ts) is exact but grows fast. The folded model (folded-world.ts) covers two intents with all faults at
// once, and three intents without a reorganisation. Speed-ups are explored in the plain model only. Two things show
// that the folded model loses nothing: each state of the plain model is found in it, and rules that are broken on
// purpose are detected.

import { describe, expect, test } from 'bun:test'
import { holdsNonce, statusOf, type TransactionState, transition } from '../../src/signing/transactions/transition.ts'
import { explore } from '../support/explore.ts'
import { isLong, longTest } from '../support/long.ts'
import { foldsOf } from './fold.ts'
import { type Bounds, foldedWorld } from './folded-world.ts'
import { LADDER, RULES, type Rules } from './rules.ts'
import { type Budget, type Depth, type SmallWorld, smallWorld } from './small-world.ts'

const STATES_MAX = 30_000_000
const TIMEOUT_MS = 3_600_000

/** The rest of the exploration takes minutes: `bun run test:long`. */

const count = (states: number, name: string) => console.log(`      ${states.toLocaleString('en')} states: ${name}`)

describe('in every order: one effect per intent, one holder per nonce, a true result, and always a way to the end', () => {
  /** Without a limit: crashes, lost and doubled jobs, lost answers, nodes that forget, rising fees and cancels. */
  const all = (name: string, bounds: Bounds) =>
    test(
      name,
      () => {
        const report = explore(foldedWorld({ ...bounds, rules: RULES }), { statesMax: STATES_MAX })
        count(report.states, name)
        expect(report.broken).toBeNull()
      },
      TIMEOUT_MS,
    )

  all('one intent, an outside transaction, a reorganisation', { intents: 1, strangers: 1, reorgs: 1 })
  all('two intents of one signer or of two', { intents: 2, strangers: 0, reorgs: 0 })
  if (!isLong) return
  all('one intent, two outside transactions, a reorganisation', { intents: 1, strangers: 2, reorgs: 1 })
  all('two intents of one signer or of two, an outside transaction', { intents: 2, strangers: 1, reorgs: 0 })
  all('two intents of one signer or of two, a reorganisation', { intents: 2, strangers: 0, reorgs: 1 })
  all('two intents of one signer or of two, an outside transaction, a reorganisation', {
    intents: 2,
    strangers: 1,
    reorgs: 1,
  })
  all('three intents', { intents: 3, strangers: 0, reorgs: 0 })
  all('three intents, a reorganisation', { intents: 3, strangers: 0, reorgs: 1 })
  all('three intents, an outside transaction, a reorganisation', { intents: 3, strangers: 1, reorgs: 1 })
  all('two intents, two outside transactions, a reorganisation', { intents: 2, strangers: 2, reorgs: 1 })
})

describe('the plain model has the same properties, and the folded model contains each of its states', () => {
  const plain = (name: string, signers: readonly number[], budget: Partial<Budget>) =>
    test(
      name,
      () => {
        const folds = signers.map((intents, at) => {
          const bounds: Bounds = { intents, strangers: budget.stranger ?? 0, reorgs: budget.reorg === 1 ? 1 : 0 }
          const { has } = explore(foldedWorld({ ...bounds, rules: RULES }), { statesMax: STATES_MAX })
          return { at, ...bounds, has }
        })
        const missing: SmallWorld[] = []
        const visit = (world: SmallWorld) => {
          const isThere = folds.every((fold) => foldsOf(world, fold).every((texts) => texts.some(fold.has)))
          if (!isThere) missing.push(world)
        }
        const report = explore(smallWorld({ signers, budget, rules: RULES }), { statesMax: STATES_MAX, visit })
        count(report.states, name)
        expect(report.broken).toBeNull()
        expect(missing.slice(0, 1)).toEqual([])
      },
      TIMEOUT_MS,
    )

  plain('one intent: crash, cancel', [1], { crash: 1, expire: 1 })
  if (!isLong) return
  plain('one intent: crash, a lost answer, cancel, two workers', [1], { crash: 1, silence: 1, expire: 1, beside: 1 })
  plain('one intent: lost job, a node that forgets or does not know ours, cancel', [1], {
    ...{ lostJob: 1, forget: 1, lag: 1, expire: 1, revert: 1 },
  })
  plain('two intents', [2], {})
  plain('one intent: reorganisation and outside transaction', [1], { reorg: 1, stranger: 1 })
  plain('one intent: rising fees, cancel', [1], { fees: 2, expire: 1 })
  plain('one intent: rising fees, a node that forgets, cancel', [1], { fees: 1, forget: 1, expire: 1 })
  plain('one intent: an operator gives it up, rising fees', [1], { cancel: 1, fees: 1, expire: 1 })
  plain('one intent: crash, a lost answer, cancel, two workers, a doubled job', [1], {
    ...{ crash: 1, silence: 1, expire: 1, doubledJob: 1, beside: 1 },
  })
  plain('one intent: rising fees, passing time, cancel', [1], { fees: 2, climb: 1, expire: 1, revert: 1 })
  plain('one intent: reorganisation, cancel, a late observation', [1], {
    ...{ reorg: 1, expire: 1, stall: 1, lag: 1, revert: 1 },
  })
  plain('one intent: rising fees, crash, cancel', [1], { fees: 1, crash: 1, expire: 1, beside: 1, doubledJob: 1 })
  plain('one intent: rising fees, reorganisation, cancel', [1], { fees: 1, reorg: 1, expire: 1 })
  plain('two intents: cancel', [2], { expire: 1 })
  plain('two intents: rising fees, cancel', [2], { fees: 1, expire: 1 })
  plain('one intent: crash, reorganisation, outside transaction, cancel, a late observation', [1], {
    ...{ crash: 1, reorg: 1, stranger: 1, expire: 1, stall: 1 },
  })
  plain('two intents: reorganisation', [2], { reorg: 1 })
  plain('two intents: outside transaction', [2], { stranger: 1 })
  plain('two intents: crash, a node that forgets', [2], { crash: 1, forget: 1 })
  plain('two signers with one intent each: cancel', [1, 1], { expire: 1 })
  plain('two signers with one intent each: reorganisation', [1, 1], { reorg: 1 })
  plain('two signers with one intent each: outside transaction', [1, 1], { stranger: 1 })
  plain('two signers with one intent each: crash, a node that forgets', [1, 1], { crash: 1, forget: 1 })
})

describe('if a result is reported after two blocks, and final after three', () => {
  const DEPTH: Depth = { confirmations: 2, final: 2 }

  longTest('reorganisations of one or two blocks violate no property', () => {
    const budget = { reorg: 1, expire: 1, revert: isLong ? 1 : 0 }
    const report = explore(smallWorld({ signers: [1], budget, rules: RULES, depth: DEPTH }), { statesMax: STATES_MAX })
    count(report.states, 'one intent: reorganisation of one or two blocks, cancel')
    expect(report.broken).toBeNull()
  })
})

/** The offer of the lowest rung, that of the first ladder's cancel, and more than any speed-up offers. */
const LEVELS = [0, 2, 6]

describe('speed-ups keep the same properties, and every sent attempt stays known', () => {
  /** In the plain model only: the folded one has no speed-ups. */
  const anew = (name: string, budget: Partial<Budget>, signers = [1]) =>
    test(
      name,
      () => {
        const input = { signers, budget: { anew: 1, ...budget }, rules: RULES, levels: LEVELS }
        const report = explore(smallWorld(input), { statesMax: STATES_MAX })
        count(report.states, name)
        expect(report.broken).toBeNull()
      },
      TIMEOUT_MS,
    )

  anew('nothing besides', {})
  if (!isLong) return
  anew('reorganisation', { reorg: 1 })
  anew('rising fees', { fees: 1 })
  anew('an operator gives it up, cancel', { cancel: 1, expire: 1 })
  anew('crash, a lost answer, cancel', { crash: 1, silence: 1, expire: 1 })
  anew('rising fees, cancel', { fees: 1, expire: 1 })
  anew('an operator gives it up, a node that forgets, cancel', { cancel: 1, expire: 1, forget: 1 })
  anew('reorganisation, cancel', { reorg: 1, expire: 1 })
  anew('outside transaction, cancel', { stranger: 1, expire: 1 })
  anew('twice, a node that forgets, two workers, cancels', { anew: 2, expire: 2, forget: 1, beside: 1 })
  anew('twice, a lost job, a node that does not know ours, cancels', { anew: 2, expire: 2, lag: 1, lostJob: 1 })
  anew('twice, rising fees, passing time, cancel', { anew: 2, fees: 1, climb: 1, expire: 1 })
  anew('fees that rise twice, a node that forgets, a cancel', { fees: 2, expire: 1, forget: 1 })
  anew('reorganisation, a late observation, cancel', { reorg: 1, stall: 1, expire: 1, forget: 1 })
  anew('one of two intents, cancel', { expire: 1 }, [2])
})

test('whether a node has accepted a transaction changes only the status that callers see', () => {
  const events = [
    'accepted',
    'included',
    'nonce_taken',
    'dropped',
    'underpriced',
    'clock',
    'cancel_requested',
    'excluded',
  ] as const
  for (const kind of events) {
    for (let chosen = 0; chosen <= LADDER.rungs; chosen += 1) {
      const after = (broadcast: boolean) => {
        const givenUp = chosen === LADDER.rungs ? 'expired' : null
        const state: TransactionState = { kind: 'waiting', chosen, givenUp, broadcast }
        const next = transition({
          ladder: LADDER,
          state,
          event: { kind, attempt: 0, blockHash: 'here', due: 'expiry', payable: 0 },
        })
        return next.state.kind === 'waiting' ? { ...next, state: { ...next.state, broadcast: true } } : next
      }
      expect(after(false)).toEqual(after(true))
    }
  }
})

test('a transaction whose contract wallet is not deployed is given up like an expired one, with another code', () => {
  for (let chosen = 0; chosen <= LADDER.rungs; chosen += 1) {
    const givenUp = chosen === LADDER.rungs ? 'expired' : null
    const state: TransactionState = { kind: 'waiting', chosen, givenUp, broadcast: false }
    const undeployed = transition({ ladder: LADDER, state, event: { kind: 'wallet_not_deployed' } })
    const expired = transition({ ladder: LADDER, state, event: { kind: 'clock', due: 'expiry', payable: 0 } })
    expect(undeployed.effects).toEqual(expired.effects)
    // The first reason for giving up stays.
    const word = givenUp ?? 'contract_wallet_not_deployed'
    expect(undeployed.state).toEqual({ ...expired.state, givenUp: word } as TransactionState)
    const mined = [
      { kind: 'included', attempt: LADDER.rungs, blockHash: 'here' },
      { kind: 'confirmed', blockHash: 'here', failure: null },
      { kind: 'finalized', blockHash: 'here' },
    ] as const
    const end = mined.reduce((at, event) => transition({ ladder: LADDER, state: at, event }).state, undeployed.state)
    expect(end).toEqual({ kind: 'done', outcome: word })
  }
})

test('a transaction that an operator gives up behaves like an expired one, but no rung of it is chosen again', () => {
  const asked: TransactionState[] = []
  for (let chosen = 0; chosen < LADDER.rungs; chosen += 1) {
    const state: TransactionState = { kind: 'waiting', chosen, givenUp: null, broadcast: true }
    const cancelled = transition({ ladder: LADDER, state, event: { kind: 'cancel_requested' } })
    const expired = transition({ ladder: LADDER, state, event: { kind: 'clock', due: 'expiry', payable: 0 } })
    expect(cancelled).toEqual({ ...expired, state: { ...expired.state, givenUp: 'cancelled' } as TransactionState })
    const revived = { kind: 'resumed', attempt: 1, cancel: LADDER.rungs } as const
    expect(transition({ ladder: LADDER, state: expired.state, event: revived }).state).toMatchObject({ chosen: 1 })
    expect(transition({ ladder: LADDER, state: cancelled.state, event: revived }).state).toBe(cancelled.state)
    asked.push(cancelled.state)
  }
  const mined = [
    { kind: 'included', attempt: LADDER.rungs, blockHash: 'here' },
    { kind: 'finalized', blockHash: 'here' },
  ] as const
  for (const state of asked) {
    const end = mined.reduce((at, event) => transition({ ladder: LADDER, state: at, event }).state, state)
    expect(end).toEqual({ kind: 'done', outcome: 'expired' })
  }
})

test('a transaction with fixed fees is given up while blocks need higher fees, unless the cancel would have to wait too', () => {
  const ladder = { rungs: 1, isFixed: true }
  const state: TransactionState = { kind: 'waiting', chosen: 0, givenUp: null, broadcast: true }
  const after = (payable: number) =>
    transition({ ladder, state, event: { kind: 'clock', due: 'expiry', payable } }).state
  expect(after(0)).toMatchObject({ chosen: 1, givenUp: 'expired' })
  expect(after(1)).toMatchObject({ chosen: 1, givenUp: 'expired' })
  expect(after(2)).toBe(state)
})

test('a mortal extrinsic frees its nonce and is reported as expired when its era ends, unless it is in a block', () => {
  const state: TransactionState = { kind: 'waiting', chosen: 0, givenUp: null, broadcast: true }
  const lapsed = transition({ ladder: LADDER, state, event: { kind: 'lapsed' } })
  expect(lapsed).toEqual({ state: { kind: 'done', outcome: 'lapsed' }, effects: [{ kind: 'erase_raw' }] })
  expect([holdsNonce(lapsed.state), statusOf(lapsed.state)]).toEqual([false, 'failed'])
  const included = { kind: 'included', attempt: 0, blockHash: 'here' } as const
  const mined = transition({ ladder: LADDER, state, event: included }).state
  expect(transition({ ladder: LADDER, state: mined, event: { kind: 'lapsed' } })).toEqual({ state: mined, effects: [] })
})

type BrokenRule = {
  readonly name: string
  readonly rules: Partial<Rules>
  readonly claim: RegExp
  /** The budget with which the plain model finds it. */
  readonly budget: Partial<Budget>
  /** The bounds with which the folded model finds it. null: it cannot, as its tracker is always on the chain. */
  readonly bounds: Partial<Bounds> | null
}

type Step = ReturnType<typeof transition>

/** The code's own rule, except where `change` returns something else. */
const but = (change: (input: Parameters<typeof transition>[0], next: Step) => Step | null): Partial<Rules> => ({
  transition: (input) => {
    const next = transition(input)
    return change(input, next) ?? next
  },
})

const BROKEN: readonly BrokenRule[] = [
  {
    name: 'a nonce counts as free while its intent is live',
    rules: { holdsNonce: (state) => state.kind !== 'waiting' && holdsNonce(state) },
    claim: /two intents hold one nonce/,
    budget: {},
    bounds: { intents: 2 },
  },
  {
    name: 'a lost answer counts as a failure',
    rules: { onUnknown: { kind: 'nonce_taken' } },
    claim: /told nonce_taken, and it is not/,
    budget: { silence: 1 },
    bounds: {},
  },
  {
    name: 'a success is reported as soon as it is in a block',
    rules: but((_, { state, effects }) =>
      state.kind === 'mined' && state.result === null ? { state: { ...state, result: 'success' }, effects } : null,
    ),
    claim: /told before its block is deep enough/,
    budget: {},
    bounds: {},
  },
  {
    name: 'a success stays although its block is gone',
    rules: but(({ state, event }) =>
      event.kind === 'excluded' && state.kind === 'mined' && state.result === 'success' ? { state, effects: [] } : null,
    ),
    claim: /it stays in a block that is gone/,
    budget: { reorg: 1 },
    bounds: { reorgs: 1 },
  },
  {
    name: 'a result is reported as final before its block is',
    rules: but(({ event }, { state, effects }) =>
      event.kind === 'confirmed' && state.kind === 'mined' && state.result === 'success'
        ? { state: { kind: 'done', outcome: 'success' }, effects }
        : null,
    ),
    claim: /told success for good, and it is not final/,
    budget: {},
    bounds: {},
  },
  {
    name: 'a cancel is reported before it is final',
    rules: but(({ ladder, state, event }) =>
      event.kind === 'confirmed' && state.kind === 'mined' && state.attempt === ladder.rungs
        ? { state: { ...state, result: 'execution_reverted' }, effects: [] }
        : null,
    ),
    claim: /a cancel is told before it is final|no way to an end/,
    budget: { expire: 1 },
    bounds: {},
  },
  {
    name: 'a cancel is reported as a success of its transaction',
    rules: but(({ ladder, state, event }) =>
      event.kind === 'finalized' && state.kind === 'mined' && state.attempt === ladder.rungs
        ? { state: { kind: 'done', outcome: 'success' }, effects: [] }
        : null,
    ),
    claim: /told success for good, and it is not final/,
    budget: { expire: 1 },
    bounds: {},
  },
  {
    name: 'a rung is sent after the cancel was chosen',
    rules: but(({ ladder, state, event }) =>
      event.kind === 'clock' && event.due !== null && state.kind === 'waiting' && state.chosen === ladder.rungs
        ? { state: { ...state, chosen: ladder.rungs - 1 }, effects: [{ kind: 'send', attempt: ladder.rungs - 1 }] }
        : null,
    ),
    claim: /a lower attempt is chosen after a higher one/,
    budget: { climb: 1, expire: 1 },
    bounds: {},
  },
  {
    name: 'a cancel is chosen while blocks need more than the top rung offers',
    rules: but(({ ladder, state, event }) =>
      event.kind === 'clock' && event.due === 'expiry' && state.kind === 'waiting' && state.chosen < ladder.rungs
        ? {
            state: { ...state, chosen: ladder.rungs, givenUp: 'expired' },
            effects: [{ kind: 'send', attempt: ladder.rungs }],
          }
        : null,
    ),
    claim: /given up (?:while blocks ask for more than its top rung offers|though a higher rung could be taken)/,
    budget: { expire: 1, fees: 1 },
    bounds: {},
  },
  {
    name: 'a rung stays chosen although the market is above it',
    rules: but(({ state, event }) =>
      event.kind === 'clock' && event.due === null && state.kind === 'waiting' ? { state, effects: [] } : null,
    ),
    claim: /a rung is kept that the market has left behind/,
    budget: { fees: 1 },
    bounds: {},
  },
  {
    name: 'a transaction that an operator gave up is sent again',
    rules: but(({ state, event }) =>
      event.kind === 'clock' && state.kind === 'waiting' && state.givenUp === 'cancelled'
        ? { state: { ...state, chosen: 0, givenUp: null }, effects: [{ kind: 'send', attempt: 0 }] }
        : null,
    ),
    claim: /a lower attempt is chosen after a higher one/,
    budget: { cancel: 1 },
    bounds: null,
  },
  {
    name: 'a cancel is forgotten in a reorganisation',
    rules: but(({ event }, { state, effects }) =>
      event.kind === 'excluded' && state.kind === 'waiting' ? { state: { ...state, chosen: 0 }, effects } : null,
    ),
    claim: /a lower attempt is chosen after a higher one/,
    budget: { expire: 1, reorg: 1 },
    bounds: { reorgs: 1 },
  },
  {
    name: 'an attempt is sent although another one was chosen',
    rules: but(({ event }, { state }) =>
      event.kind === 'dropped' ? { state, effects: [{ kind: 'send', attempt: 0 }] } : null,
    ),
    claim: /an attempt is sent that is not the chosen one/,
    budget: { climb: 1, forget: 1 },
    bounds: {},
  },
  {
    name: 'signed bytes are erased as soon as they are in a block',
    rules: but(({ event }, { state }) =>
      event.kind === 'included' ? { state, effects: [{ kind: 'erase_raw' }] } : null,
    ),
    claim: /no way to an end/,
    budget: { reorg: 1, forget: 1 },
    bounds: { reorgs: 1 },
  },
  {
    name: 'a lost sending is not repeated',
    rules: but(({ event }, { state }) => (event.kind === 'dropped' ? { state, effects: [] } : null)),
    claim: /no way to an end/,
    budget: { lostJob: 1 },
    bounds: {},
  },
  {
    name: 'an unknown transaction counts as proof that its block is gone',
    rules: { believesSilence: true },
    claim: /told nonce_taken, and it is not/,
    budget: { lag: 2 },
    bounds: {},
  },
  {
    name: 'a late observation of a block that the tracker has left is recorded',
    rules: { takesStaleNews: true },
    claim: /it stays in a block that is gone|told expired, and the cancel is not final/,
    budget: { reorg: 1, expire: 1, stall: 1 },
    bounds: { reorgs: 1 },
  },
  {
    name: 'the tracker does not check whether its block is still on the chain',
    rules: { trustsItsPlace: true },
    claim: /told success for good, and it is not final/,
    budget: { reorg: 1 },
    bounds: null,
  },
]

const BROKEN_ANEW: readonly Pick<BrokenRule, 'name' | 'rules' | 'claim' | 'budget'>[] = [
  {
    name: 'the attempt that was sent last is erased by a speed-up',
    rules: { attemptsToKeep: ({ chosen }) => ({ firstRung: chosen, isCancelKept: true }) },
    claim: /what was sent is not known any more/,
    budget: { anew: 1 },
  },
  {
    name: 'a sent cancel is erased by a speed-up',
    rules: { attemptsToKeep: ({ rungs }) => ({ firstRung: rungs, isCancelKept: false }) },
    claim: /what was sent is not known any more/,
    budget: { anew: 1, expire: 1 },
  },
  {
    name: 'a new ladder is given up while blocks need more than it offers',
    rules: but(({ ladder, state, event }) =>
      event.kind === 'clock' && event.due === 'expiry' && state.kind === 'waiting' && ladder.rungs > LADDER.rungs
        ? {
            state: { ...state, chosen: ladder.rungs, givenUp: 'expired' },
            effects: [{ kind: 'send', attempt: ladder.rungs }],
          }
        : null,
    ),
    claim: /given up (?:while blocks ask for more than its top rung offers|though a higher rung could be taken)/,
    budget: { anew: 1, expire: 1, fees: 1 },
  },
]

/** These take up to a few hundred thousand states to find; speed-up.test.ts shows the last with a real database. */
const BROKEN_LATE: typeof BROKEN_ANEW = [
  {
    name: 'a refused cancel is erased by a speed-up after a rung was chosen again',
    rules: {
      attemptsToKeep: ({ chosen, rungs, givenUp }) => ({
        firstRung: givenUp === null ? chosen + 1 : rungs,
        isCancelKept: givenUp !== null,
      }),
    },
    claim: /what was sent is not known any more/,
    budget: { anew: 1, expire: 1, forget: 1, beside: 1 },
  },
  {
    name: 'a rung that replaced a former cancel is chosen instead of the current attempt',
    rules: but(({ ladder, state, event }) =>
      event.kind === 'resumed' && event.cancel !== ladder.rungs && state.kind === 'waiting'
        ? transition({ ladder, state, event: { ...event, cancel: ladder.rungs } })
        : null,
    ),
    claim: /what was sent is not known any more/,
    budget: { anew: 2, expire: 2, forget: 1, beside: 1 },
  },
]

describe('a broken rule about speed-ups is found', () => {
  const rules = [...BROKEN_ANEW, ...(isLong ? BROKEN_LATE : [])]
  test.each(rules.map((each) => [each.name, each] as const))('%s', (_, { rules, claim, budget }) => {
    const input = {
      signers: [1],
      budget,
      rules: { ...RULES, ...rules },
      levels: LEVELS,
      ways: ['market'],
    } as const
    expect(explore(smallWorld(input), { statesMax: STATES_MAX }).broken).toMatch(claim)
  })
})

describe('a broken rule is found', () => {
  for (const { name, rules, claim, budget, bounds } of BROKEN) {
    const broken = { ...RULES, ...rules }
    // In the suite the folded model finds each that it can find.
    if (isLong || bounds === null)
      test(`${name}: found in the plain model`, () => {
        const signers = [bounds?.intents ?? 1]
        const report = explore(smallWorld({ signers, budget, rules: broken }), { statesMax: STATES_MAX })
        expect(report.broken).toMatch(claim)
      })

    if (bounds === null) continue
    test(`${name}: found in the folded model`, () => {
      const input = { intents: 1, strangers: 0, reorgs: 0, ...bounds, rules: broken } as const
      const report = explore(foldedWorld(input), { statesMax: STATES_MAX })
      expect(report.broken).toMatch(claim)
    })
  }
})
