import { describe, expect, test } from 'bun:test'
import { holdsNonce, transition } from '../../src/transactions/transition.ts'
import { type Budget, explore, RULES, type Rules } from './explorer.ts'

const NOTHING: Budget = {
  crash: 0,
  lostJob: 0,
  doubledJob: 0,
  forget: 0,
  reorg: 0,
  stranger: 0,
  climb: 0,
  expire: 0,
  silence: 0,
}

const STATES_MAX = 3_000_000

const check = (name: string, signers: readonly number[], budget: Partial<Budget>) =>
  test(name, () => {
    const report = explore({ signers, budget: { ...NOTHING, ...budget }, statesMax: STATES_MAX })
    console.log(`      ${report.states} states: ${name}`)
    expect(report.broken).toBeNull()
  }, 120_000)

/** The rest of the walk takes minutes: `bun run test:long`. */
const isLong = process.env.STRONGROOM_LONG === '1'

describe('every interleaving keeps at most one effect an intent, one holder a nonce, a true end, and a way to one', () => {
  check('one intent: crash, silence, reorganisation, stranger, cancel', [1], {
    crash: 1,
    silence: 1,
    reorg: 1,
    stranger: 1,
    expire: 1,
  })
  check('one intent: lost and doubled jobs, a node that forgets, the ladder and the cancel', [1], {
    lostJob: 1,
    doubledJob: 1,
    forget: 1,
    climb: 1,
    expire: 1,
  })
  check('two intents: reorganisation and stranger', [2], { reorg: 1, stranger: 1 })
  check('two intents: crash, silence and cancel', [2], { crash: 1, silence: 1, expire: 1 })
  check('two signers with one intent each: crash and reorganisation', [1, 1], { crash: 1, reorg: 1 })
  if (!isLong) return
  check('two intents: crash, reorganisation, stranger', [2], { crash: 1, reorg: 1, stranger: 1 })
  check('three intents: stranger', [3], { stranger: 1 })
  check('three intents: crash and a node that forgets', [3], { crash: 1, forget: 1 })
  check('three intents: the ladder and the cancel', [3], { climb: 1, expire: 1 })
  check('two signers with two intents each', [2, 2], {})
})

describe('a broken rule is found', () => {
  const finds = (name: string, rules: Partial<Rules>, budget: Partial<Budget>, claim: RegExp) =>
    test(name, () => {
      const report = explore({
        signers: [2],
        budget: { ...NOTHING, ...budget },
        rules: { ...RULES, ...rules },
        statesMax: STATES_MAX,
      })
      expect(report.broken).toMatch(claim)
    })

  finds(
    'a nonce that is free while its intent is live',
    { holdsNonce: (state) => state.kind !== 'waiting' && holdsNonce(state) },
    {},
    /two intents hold one nonce|no way to an end|took effect twice|told nonce_taken/,
  )

  finds(
    'an answer that was not heard, taken for a failure',
    {
      transition: (input) =>
        input.event.kind === 'usurped'
          ? { state: { kind: 'done', outcome: 'nonce_taken' }, effects: [] }
          : transition(input),
      onUnknown: { kind: 'usurped' },
    },
    { silence: 1 },
    /told nonce_taken, and it is not/,
  )

  finds(
    'a cancel that is told before it is final',
    {
      transition: (input) => {
        const { state, event } = input
        const isGivenUp = state.kind === 'mined' && event.kind === 'confirmed' && state.attempt === input.ladder.rungs
        return isGivenUp ? { state: { kind: 'done', outcome: 'expired' }, effects: [] } : transition(input)
      },
    },
    { expire: 1, reorg: 1 },
    /told expired, and the cancel is not final/,
  )

  finds(
    'a reorganised transaction that is not sent again',
    {
      transition: (input) => {
        const next = transition(input)
        return input.event.kind === 'excluded' || input.event.kind === 'forgotten' ? { ...next, effects: [] } : next
      },
    },
    { reorg: 1 },
    /no way to an end/,
  )
})
