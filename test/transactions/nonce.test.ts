import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../src/platform/errors.ts'
import { chooseNonce, nextNonce } from '../../src/signing/transactions/nonce.ts'

/** Possible facts about a signer. No nonce below the mined count is held, because the chain has used it. */
const facts = fc
  .record({
    minedCount: fc.nat(20),
    waiting: fc.nat(5),
    held: fc.array(fc.nat(15), { maxLength: 10 }),
  })
  .map(({ minedCount, waiting, held }) => ({
    minedCount,
    pendingCount: minedCount + waiting,
    held: new Set(held.map((each) => minedCount + each)),
  }))

const choose = (wanted: number | undefined, given: Parameters<typeof chooseNonce>[1]): number | string => {
  try {
    return chooseNonce(wanted, given)
  } catch (error) {
    return error instanceof AppError ? error.code : 'unknown'
  }
}

describe('the next nonce', () => {
  test('is the lowest one, from the pending count on, that no transaction of ours holds', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const next = nextNonce(given)
        expect(next).toBeGreaterThanOrEqual(given.pendingCount)
        expect(given.held.has(next)).toBe(false)
        for (let nonce = given.pendingCount; nonce < next; nonce += 1) expect(given.held.has(nonce)).toBe(true)
        expect(chooseNonce(undefined, given)).toBe(next)
      }),
    )
  })
})

describe("a caller's nonce", () => {
  test('is accepted if it is the next one, and otherwise refused with the right reason', () => {
    fc.assert(
      fc.property(facts, fc.nat(45), (given, wanted) => {
        const next = nextNonce(given)
        const chosen = choose(wanted, given)
        if (wanted === next) expect(chosen).toBe(next)
        else if (wanted < given.minedCount) expect(chosen).toBe('nonce_too_low')
        else if (wanted < next) expect(chosen).toBe('nonce_conflict')
        else expect(chosen).toBe(given.held.has(wanted) ? 'nonce_conflict' : 'nonce_gap')
      }),
    )
  })
})
