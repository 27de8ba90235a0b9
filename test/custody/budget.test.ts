import { describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Budget, createBudget } from '../../src/custody/credentials/budget.ts'
import { invalidSecret } from '../../src/custody/credentials/credentials.ts'
import { AppError } from '../../src/errors.ts'
import { codeOf, tally } from './support.ts'

const HOUR_MS = 3_600_000
const right = async () => 'opened'
const wrong = () => Promise.reject(invalidSecret())
const ask = (budget: Budget, check: () => Promise<string>, actor = 'api_key:1') =>
  budget.run({ projectId: 'p', actor, check })

describe('a budget of wrong credentials', () => {
  test('lets so many through, and then looks at none, right or wrong', async () => {
    const budget = createBudget({ wrongMax: 3, windowMs: HOUR_MS })
    let looked = 0
    const check = (of: () => Promise<string>) => () => {
      looked += 1
      return of()
    }
    for (let count = 0; count < 3; count += 1) expect(await codeOf(ask(budget, check(wrong)))).toBe('INVALID_SECRET')
    expect(await codeOf(ask(budget, check(wrong)))).toBe('rate_limited')
    expect(await codeOf(ask(budget, check(right)))).toBe('rate_limited')
    expect(looked).toBe(3)
  })

  test('is spent by wrong ones only: right ones and failures of ours cost nothing', async () => {
    const budget = createBudget({ wrongMax: 1, windowMs: HOUR_MS })
    for (let count = 0; count < 5; count += 1) {
      expect(await ask(budget, right)).toBe('opened')
      await expect(ask(budget, () => Promise.reject(new Error('the service is away')))).rejects.toThrow('away')
      for (const code of ['TOO_MANY_FAILED_ATTEMPTS', 'credential_changed', 'busy'] as const) {
        expect(await codeOf(ask(budget, () => Promise.reject(new AppError(code, 'Refused.'))))).toBe(code)
      }
    }
    expect(await codeOf(ask(budget, wrong))).toBe('INVALID_SECRET')
    expect(await codeOf(ask(budget, right))).toBe('rate_limited')
  })

  test('is not given back by a right one', async () => {
    const budget = createBudget({ wrongMax: 2, windowMs: HOUR_MS })
    await codeOf(ask(budget, wrong))
    await ask(budget, right)
    await codeOf(ask(budget, wrong))
    expect(await codeOf(ask(budget, right))).toBe('rate_limited')
  })

  test('cannot be overspent by many at once', async () => {
    const budget = createBudget({ wrongMax: 10, windowMs: HOUR_MS })
    const slowly = async () => {
      await sleep(5)
      return wrong()
    }
    const asked = Array.from({ length: 200 }, () => ask(budget, slowly))
    expect(await tally(asked)).toEqual({ INVALID_SECRET: 10, rate_limited: 190 })
  })

  test('is one a caller', async () => {
    const budget = createBudget({ wrongMax: 1, windowMs: HOUR_MS })
    await codeOf(ask(budget, wrong))
    expect(await codeOf(ask(budget, right))).toBe('rate_limited')
    expect(await codeOf(ask(budget, right, 'api_key:2'))).toBe('resolved')
  })

  test('says when to come back, and is whole again then: a window does not move', async () => {
    const budget = createBudget({ wrongMax: 2, windowMs: 300 })
    await codeOf(ask(budget, wrong))
    await sleep(200)
    await codeOf(ask(budget, wrong))
    const refused = ask(budget, right)
    await expect(refused).rejects.toMatchObject({ code: 'rate_limited', status: 429, retryAfterSeconds: 1 })
    await sleep(130)
    expect(await codeOf(ask(budget, right))).toBe('resolved')
    expect(await codeOf(ask(budget, wrong))).toBe('INVALID_SECRET')
  })

  test('tells the whole time that is left', async () => {
    const budget = createBudget({ wrongMax: 1, windowMs: HOUR_MS })
    await codeOf(ask(budget, wrong))
    await ask(budget, right).catch((error: AppError) => {
      expect(error.retryAfterSeconds).toBeGreaterThan(3590)
      expect(error.retryAfterSeconds).toBeLessThanOrEqual(3600)
    })
  })
})
