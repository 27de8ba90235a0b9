import { describe, expect, spyOn, test } from 'bun:test'
import { AppError } from '../../src/platform/errors.ts'
import { createSecretLimit, type SecretLimit } from '../../src/vault/rooms/credentials/guard.ts'
import { withKey } from '../support/keys.ts'
import { isLong } from '../support/long.ts'
import { ACTOR, codeOf, openWorld, SECRET, tally } from './support.ts'

const HOUR_MS = 3_600_000
const of = (actor = 'api_key:1') => ({ projectId: 'p', actor })
const wrong = (limit: SecretLimit, actor?: string) => {
  limit.requireRoom(of(actor))
  limit.countWrong(of(actor))
}
const refusal = (limit: SecretLimit, actor?: string): AppError | null => {
  try {
    limit.requireRoom(of(actor))
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

describe('the limit of wrong developer secrets', () => {
  test('allows a fixed number of wrong secrets, and counts nothing else', () => {
    const limit = createSecretLimit({ wrongMax: 3, windowMs: HOUR_MS })
    for (let count = 0; count < 3; count += 1) {
      expect(refusal(limit)).toBeNull()
      wrong(limit)
    }
    expect(refusal(limit)).toMatchObject({ code: 'rate_limited', status: 429 })
  })

  test('is separate for each caller', () => {
    const limit = createSecretLimit({ wrongMax: 1, windowMs: HOUR_MS })
    wrong(limit)
    expect(refusal(limit)?.code).toBe('rate_limited')
    expect(refusal(limit, 'api_key:2')).toBeNull()
  })

  test('is five times as high for all keys of a project, and for all its users, whatever they are called', () => {
    const limit = createSecretLimit({ wrongMax: 3, windowMs: HOUR_MS })
    const spend = (kind: string) => {
      let count = 0
      while (count < 100 && refusal(limit, `${kind}:${count}`) === null) {
        wrong(limit, `${kind}:${count}`)
        count += 1
      }
      return count
    }
    expect([spend('user'), spend('api_key'), spend('anything')]).toEqual([15, 15, 0])
    expect(refusal(limit, 'api_key:new')?.code).toBe('rate_limited')
    // Another project has its own.
    limit.requireRoom({ projectId: 'q', actor: 'api_key:0' })
  })

  test('says when to try again, and its window does not move', () => {
    const started = performance.now()
    let aheadMs = 0
    const clock = spyOn(performance, 'now').mockImplementation(() => started + aheadMs)
    try {
      const limit = createSecretLimit({ wrongMax: 2, windowMs: HOUR_MS })
      wrong(limit)
      aheadMs = HOUR_MS - 500
      wrong(limit)
      expect(refusal(limit)?.retryAfterSeconds).toBe(1)
      aheadMs = HOUR_MS
      expect(refusal(limit)).toBeNull()
      wrong(limit)
      expect(refusal(limit)).toBeNull()
    } finally {
      clock.mockRestore()
    }
  })

  test('reports the whole remaining time', () => {
    const limit = createSecretLimit({ wrongMax: 1, windowMs: HOUR_MS })
    wrong(limit)
    const { retryAfterSeconds = 0 } = refusal(limit) ?? {}
    expect(retryAfterSeconds).toBeGreaterThan(3590)
    expect(retryAfterSeconds).toBeLessThanOrEqual(3600)
  })

  test('works for many simultaneous requests, and counts only wrong secrets', async () => {
    const world = await openWorld('testnet', undefined, { wrongSecretsPerMinute: 10 })
    try {
      const projectId = await world.project()
      const wallet = await world.wallet({
        projectId,
        ownerId: 'o',
        controlMode: 'developer',
        credentials: { developerSecret: SECRET },
      })
      const sign = (developerSecret: string, actor = ACTOR) =>
        codeOf(withKey(world.vault, { wallet, credentials: { developerSecret }, actor }, async () => {}))
      const all = await Promise.all(Array.from({ length: isLong ? 15 : 11 }, () => sign(SECRET)))
      expect(new Set(all)).toEqual(new Set(['resolved']))
      const wrongs = Array.from({ length: isLong ? 200 : 15 }, () =>
        withKey(world.vault, { wallet, credentials: { developerSecret: 'wrong' }, actor: ACTOR }, async () => {}),
      )
      expect(await tally(wrongs)).toEqual({ INVALID_SECRET: 10, rate_limited: wrongs.length - 10 })
      expect(await sign(SECRET)).toBe('rate_limited')
      expect(await sign(SECRET, 'api_key:another')).toBe('resolved')
    } finally {
      await world.close()
    }
  })
})
