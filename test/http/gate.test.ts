import { describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gated, noteWaiting } from '../../src/platform/http/gate.ts'
import { createQueue } from '../../src/platform/queue.ts'
import { longTest } from '../support/long.ts'
import { until } from '../support/until.ts'

const ask = (path = '/wallets', method = 'GET') => new Request(`http://localhost${path}`, { method })
const answer = () => Response.json({ done: true })

/** Requests that wait until they are let go, and a probe that takes so long. */
const crowded = (input: {
  readonly probeMs: number
  readonly waiting: number
  readonly path?: string
  readonly expectedWaitMaxMs?: number
}) => {
  const { promise: open, resolve: letGo } = Promise.withResolvers<void>()
  let [begun, refused] = [0, 0]
  const fetch = gated(
    async (request) => {
      begun += 1
      const { pathname } = new URL(request.url)
      if (pathname === '/events') noteWaiting(request)
      if (pathname === '/waits' || pathname === '/events') await open
      return answer()
    },
    {
      expectedWaitMaxMs: input.expectedWaitMaxMs ?? 1_000,
      probe: () => sleep(input.probeMs),
      onRefused: () => (refused += 1),
    },
  )
  const waiting = Array.from({ length: input.waiting }, () => fetch(ask(input.path ?? '/waits')))
  return { fetch, waiting, letGo, begun: () => begun, refused: () => refused }
}

describe('a process that is late', () => {
  /** Each takes its turn of 30 ms. */
  const busy = () => {
    const turns = createQueue({ waitMaxMs: Number.POSITIVE_INFINITY })
    let begun = 0
    const fetch = gated(
      async () => {
        begun += 1
        using _turn = await turns.enter()
        await sleep(30)
        return answer()
      },
      { expectedWaitMaxMs: 300, probe: () => sleep(100), onRefused: () => {} },
    )
    return { fetch, begun: () => begun }
  }

  test('refuses a request before anything is done for it, when those under way would keep it waiting for too long', async () => {
    const { fetch, begun } = busy()
    const early = Array.from({ length: 30 }, () => fetch(ask()))
    const refusal = await until(
      async () => {
        const before = begun()
        const told = await Promise.race([fetch(ask()), sleep(20, null)])
        return told === null ? null : { told, done: begun() - before }
      },
      (seen) => seen?.told.status === 503,
    )
    if (refusal === null) throw new Error('nothing was refused')
    const { told, done } = refusal
    expect(done).toBe(0)
    expect(await told.json()).toEqual({ error: expect.any(String), code: 'busy' })
    expect(Number(told.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(told.headers.get('x-request-id')).toMatch(/./)
    expect(told.headers.get('cache-control')).toBe('no-store')
    // Those that were let in are answered.
    for (const each of early) expect((await each).status).toBe(200)
    expect((await fetch(ask())).status).toBe(200)
  })

  test('lets in few at a time, however long they take', async () => {
    const { fetch, waiting, letGo } = crowded({ probeMs: 200, waiting: 7 })
    await sleep(300)
    expect((await fetch(ask())).status).toBe(200)
    letGo()
    await Promise.all(waiting)
  })

  test.each([
    ['refuses all where nothing is answered any more', '/waits', 503],
    ['does not count those that wait for events', '/events', 200],
  ])('%s', async (_name, path, status) => {
    const { fetch, waiting, letGo } = crowded({ probeMs: 2_000, waiting: 10, path, expectedWaitMaxMs: 200 })
    await sleep(300)
    expect((await fetch(ask())).status).toBe(status)
    letGo()
    await Promise.all(waiting)
  })

  longTest(
    'refuses nobody while it is idle, however many wait for others, and for how long nobody was answered',
    async () => {
      const { fetch, waiting, letGo, refused } = crowded({ probeMs: 60, waiting: 10 })
      const asked = async () => (await fetch(ask())).status
      for (let count = 0; count < 4; count += 1) {
        await sleep(300)
        expect(await asked()).toBe(200)
      }
      await sleep(1_200)
      expect([await asked(), refused()]).toEqual([200, 0])
      letGo()
      await Promise.all(waiting)
    },
  )
})

test('a process that is not late lets in many that wait for others, and no more than it can hold', async () => {
  const { fetch, waiting, letGo, begun, refused } = crowded({ probeMs: 0, waiting: 5_000 })
  await sleep(50)
  expect([begun(), refused()]).toEqual([5_000, 0])
  expect((await fetch(ask())).status).toBe(503)
  expect([begun(), refused()]).toEqual([5_000, 1])
  for (const path of ['/healthz', '/readyz', '/metrics']) expect((await fetch(ask(path))).status).toBe(200)
  expect((await fetch(ask('/wallets', 'OPTIONS'))).status).toBe(200)
  letGo()
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true)
  expect((await fetch(ask())).status).toBe(200)
})
