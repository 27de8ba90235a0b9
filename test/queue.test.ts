import { describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createBatcher,
  createOrderedQueues,
  createQueue,
  createQueues,
  createShares,
  type Queue,
} from '../src/platform/queue.ts'
import { longTest } from './support/long.ts'
import { codeOf, tally } from './vault/support.ts'

const inMs = (ms: number) => performance.now() + ms

const run = async <Result>(queue: Queue, work: () => Promise<Result>, deadlineMs?: number): Promise<Result> => {
  using _turn = await queue.enter(deadlineMs)
  return await work()
}

describe('a queue', () => {
  test('never gives more turns than its limit, and gives each request a turn', async () => {
    const queue = createQueue({ atOnce: 3 })
    let atOnce = 0
    let most = 0
    const work = async () => {
      atOnce += 1
      most = Math.max(most, atOnce)
      await sleep(2)
      atOnce -= 1
    }
    await Promise.all(Array.from({ length: 20 }, () => run(queue, work)))
    expect(most).toBe(3)
    expect(queue.load()).toEqual({ running: 0, waiting: 0 })
  })

  test('gives turns in the order of the requests', async () => {
    const queue = createQueue()
    const order: number[] = []
    const work = (index: number) => async () => {
      await sleep(1)
      order.push(index)
    }
    await Promise.all([0, 1, 2, 3, 4].map((index) => run(queue, work(index))))
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  test('takes a turn back from work that fails', async () => {
    const queue = createQueue()
    await expect(run(queue, () => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed')
    expect(await run(queue, async () => 'next')).toBe('next')
  })

  test('counts a turn that is disposed twice once', async () => {
    const queue = createQueue()
    const turn = await queue.enter()
    turn[Symbol.dispose]()
    turn[Symbol.dispose]()
    expect(queue.load()).toEqual({ running: 0, waiting: 0 })
    using _next = await queue.enter()
    expect(queue.load()).toEqual({ running: 1, waiting: 0 })
  })

  test('refuses as busy a request without a turn in time, does not run it, and loses no turn', async () => {
    const queue = createQueue({ waitMaxMs: 20 })
    const turn = await queue.enter()
    let done = 0
    const late = [1, 2].map(() => run(queue, async () => (done += 1)))
    const ends = await Promise.allSettled([...late, queue.enter(inMs(10))])
    expect(ends).toMatchObject(ends.map(() => ({ status: 'rejected', reason: { code: 'busy', retryAfterSeconds: 1 } })))
    expect([done, queue.load()]).toEqual([0, { running: 1, waiting: 0 }])
    turn[Symbol.dispose]()
    expect(await run(queue, async () => 'free', inMs(0))).toBe('free')
  })

  test('refuses a request at once if too many are waiting', async () => {
    const queue = createQueue({ waitingMax: 1000 })
    const first = run(queue, () => sleep(50))
    const others = Array.from({ length: 1010 }, () => run(queue, async () => {}))
    expect(await tally(others)).toEqual({ resolved: 1000, busy: 10 })
    await first
  })
})

describe('a queue whose turns take long', () => {
  const TURN_MS = 40
  /** Five turns have shown how long they take, and another one runs. */
  const slowQueue = async (limits: Parameters<typeof createQueue>[0]) => {
    const queue = createQueue(limits)
    for (let turn = 0; turn < 5; turn += 1) await run(queue, () => sleep(TURN_MS))
    const running = await queue.enter()
    return { queue, running }
  }

  test('refuses at once who would probably wait longer than it allows', async () => {
    const { queue, running } = await slowQueue({ expectedWaitMaxMs: 3.5 * TURN_MS })
    const others = Array.from({ length: 10 }, () => run(queue, async () => {}))
    for (const each of others) each.catch(() => {})
    expect(queue.load().waiting).toBeLessThanOrEqual(4)
    expect(queue.load().waiting).toBeGreaterThan(0)
    expect(await codeOf(others.at(-1) ?? Promise.resolve())).toBe('busy')
    running[Symbol.dispose]()
    await Promise.allSettled(others)
    expect(await run(queue, async () => 'free')).toBe('free')
  })

  longTest(
    'counts the age of a turn that does not end, refuses who has less time than that, and says when to come',
    async () => {
      const { queue, running } = await slowQueue({ expectedWaitMaxMs: 1_000 })
      const waiting = run(queue, async () => 'waited')
      await sleep(1_100)
      expect(await codeOf(queue.enter(inMs(900)))).toBe('busy')
      await expect(queue.enter()).rejects.toMatchObject({ code: 'busy', retryAfterSeconds: 2 })
      expect(queue.load().waiting).toBe(1)
      running[Symbol.dispose]()
      expect(await waiting).toBe('waited')
    },
  )

  test('refuses nobody of a burst because one of many quick turns took long', async () => {
    const queue = createQueue({ expectedWaitMaxMs: 5 * TURN_MS })
    for (let turn = 0; turn < 5; turn++) await run(queue, () => sleep(1))
    await run(queue, () => sleep(10 * TURN_MS))
    const running = await queue.enter()
    const burst = Array.from({ length: 15 }, () => run(queue, async () => {}))
    running[Symbol.dispose]()
    expect(await tally(burst)).toEqual({ resolved: 15 })
  })

  test('refuses nobody because the first turn took long', async () => {
    const queue = createQueue({ expectedWaitMaxMs: 5 * TURN_MS })
    await run(queue, () => sleep(3 * TURN_MS))
    const running = await queue.enter()
    const burst = Array.from({ length: 10 }, () => run(queue, async () => {}))
    running[Symbol.dispose]()
    expect(await tally(burst)).toEqual({ resolved: 10 })
  })

  test('counts the running turn once, not for each that waits', async () => {
    const queue = createQueue({ expectedWaitMaxMs: 20 * TURN_MS })
    const running = await queue.enter()
    const burst = Array.from({ length: 10 }, () => run(queue, async () => {}))
    await sleep(3 * TURN_MS)
    burst.push(...Array.from({ length: 10 }, () => run(queue, async () => {})))
    running[Symbol.dispose]()
    expect(await tally(burst)).toEqual({ resolved: 20 })
  })

  test('refuses nobody because some of many places stand still, while the others go on', async () => {
    const queue = createQueue({ atOnce: 4, expectedWaitMaxMs: 2 * TURN_MS })
    const still = await Promise.all([queue.enter(), queue.enter(), queue.enter()])
    await sleep(4 * TURN_MS)
    const burst = Array.from({ length: 20 }, () => run(queue, async () => {}))
    expect(await tally(burst)).toEqual({ resolved: 20 })
    for (const turn of still) turn[Symbol.dispose]()
  })

  test('refuses requests again after a few turns, once most of the turns take long', async () => {
    const queue = createQueue({ expectedWaitMaxMs: 2.5 * TURN_MS })
    for (let turn = 0; turn < 9; turn++) await run(queue, async () => {})
    for (let turn = 0; turn < 5; turn++) await run(queue, () => sleep(TURN_MS))
    const running = await queue.enter()
    const burst = Array.from({ length: 6 }, () => run(queue, async () => {}))
    running[Symbol.dispose]()
    const { resolved = 0, busy = 0 } = await tally(burst)
    expect(resolved + busy).toBe(6)
    expect(busy).toBeGreaterThanOrEqual(2)
  })

  test('refuses nobody if those who wait have no limit', async () => {
    const { queue, running } = await slowQueue({ waitMaxMs: Number.POSITIVE_INFINITY })
    const others = Array.from({ length: 500 }, () => run(queue, async () => {}))
    expect(queue.load().waiting).toBe(500)
    running[Symbol.dispose]()
    await Promise.all(others)
  })
})

describe('queues by name', () => {
  test('run one after the other under one name, and at the same time under different names', async () => {
    const queues = createQueues()
    const order: string[] = []
    const first = Promise.withResolvers<void>()
    const done = [
      queues.run('a', () => first.promise.then(() => order.push('first'))),
      queues.run('a', async () => order.push('second')),
    ]
    await queues.run('b', async () => order.push('other'))
    first.resolve()
    await Promise.all(done)
    expect(order).toEqual(['other', 'first', 'second'])
  })

  test('go on after work that fails or comes too late', async () => {
    const queues = createQueues({ waitMaxMs: 20 })
    const failed = queues.run('a', () => sleep(60).then(() => Promise.reject(new Error('no'))))
    expect(await codeOf(queues.run('a', async () => 'late'))).toBe('busy')
    await expect(failed).rejects.toThrow('no')
    expect(await queues.run('a', async () => 'next')).toBe('next')
  })
})

describe('an ordered queue', () => {
  /** Work that ends its first part when it is told to. */
  const worker = (queue: ReturnType<typeof createOrderedQueues>, order: string[]) => (name: string) => {
    const { promise: prepared, resolve, reject } = Promise.withResolvers<void>()
    const done = queue.run('a', async (turn) => {
      order.push(`${name} begins`)
      await prepared
      await turn()
      order.push(`${name} ends`)
    })
    done.catch(() => {})
    return { done, prepared: resolve, fails: () => reject(new Error(`${name} failed`)) }
  }

  test('begins with all together, and ends them in their order', async () => {
    const order: string[] = []
    const work = worker(createOrderedQueues({ atOnce: 3 }), order)
    const [first, second, third] = [work('1'), work('2'), work('3')]
    third.prepared()
    second.prepared()
    await sleep(5)
    expect(order).toEqual(['1 begins', '2 begins', '3 begins'])
    first.prepared()
    await Promise.all([first.done, second.done, third.done])
    expect(order.slice(3)).toEqual(['1 ends', '2 ends', '3 ends'])
  })

  test('lets the next one pass when one fails, but not those before it', async () => {
    const order: string[] = []
    const work = worker(createOrderedQueues({ atOnce: 3 }), order)
    const [first, second, third] = [work('1'), work('2'), work('3')]
    second.fails()
    third.prepared()
    await expect(second.done).rejects.toThrow('2 failed')
    await sleep(5)
    expect(order).toHaveLength(3)
    first.prepared()
    await Promise.all([first.done, third.done])
    expect(order.slice(3)).toEqual(['1 ends', '3 ends'])
  })

  test('begins with no more than its limit at once, each as soon as there is a place', async () => {
    const order: string[] = []
    const work = worker(createOrderedQueues({ atOnce: 2 }), order)
    const [first, second, third] = [work('1'), work('2'), work('3')]
    await sleep(5)
    expect(order).toEqual(['1 begins', '2 begins'])
    second.fails()
    await sleep(5)
    expect(order).toEqual(['1 begins', '2 begins', '3 begins'])
    first.prepared()
    third.prepared()
    await Promise.all([first.done, third.done])
    expect(order.slice(3)).toEqual(['1 ends', '3 ends'])
  })

  test('refuses as busy what does not get its turn in time, and goes on', async () => {
    const order: string[] = []
    const work = worker(createOrderedQueues({ atOnce: 2, waitMaxMs: 20 }), order)
    const [first, second] = [work('1'), work('2')]
    second.prepared()
    expect(await codeOf(second.done)).toBe('busy')
    first.prepared()
    await first.done
    const third = work('3')
    third.prepared()
    await third.done
    expect(order).toEqual(['1 begins', '2 begins', '1 ends', '3 begins', '3 ends'])
  })
})

describe('an ordered queue whose turns are shared', () => {
  /** Work that is ready when it is told to, and notes what its turn does. */
  const sharer = (queue: ReturnType<typeof createOrderedQueues>, done: string[]) => (name: string) => {
    const { promise: prepared, resolve, reject } = Promise.withResolvers<void>()
    const { promise: going, resolve: goOn } = Promise.withResolvers<void>()
    const over = queue.run('a', async (turn) => {
      await prepared
      const all = await turn.share({ work: name, belongs: (one, next) => one[0] === next[0], most: 3 })
      if (all === null) return
      await going
      done.push(all.join(' '))
    })
    over.catch(() => {})
    return { over, ready: resolve, goOn, fails: () => reject(new Error(`${name} failed`)) }
  }

  const started = (input: Parameters<typeof createOrderedQueues>[0], ...names: readonly string[]) => {
    const done: string[] = []
    const works = names.map(sharer(createOrderedQueues(input), done))
    for (const { goOn } of works) goOn()
    return { done, works, end: () => Promise.allSettled(works.map(({ over }) => over)) }
  }

  test('does what is ready right behind it, in order, up to its limit, and nothing twice', async () => {
    const { done, works, end } = started({ atOnce: 9 }, 'a1', 'a2', 'a3', 'a4', 'a5')
    for (const { ready } of works.toReversed()) ready()
    await end()
    expect(done).toEqual(['a1 a2 a3', 'a4 a5'])
  })

  test('passes over none: not what is not ready, and not what does not belong to it', async () => {
    const { done, works, end } = started({ atOnce: 9 }, 'a1', 'a2', 'b3', 'a4', 'a5', 'a6')
    const late = works.splice(4, 1)
    for (const { ready } of works.toReversed()) ready()
    await sleep(5)
    expect(done).toEqual(['a1 a2', 'b3', 'a4'])
    late[0]?.ready()
    works.push(...late)
    await end()
    expect(done).toEqual(['a1 a2', 'b3', 'a4', 'a5 a6'])
  })

  test('takes nothing of one that failed or was refused as busy, and goes on', async () => {
    const done: string[] = []
    const share = sharer(createOrderedQueues({ atOnce: 9, waitMaxMs: 20 }), done)
    const [first, second, third] = [share('a1'), share('a2'), share('a3')]
    for (const { goOn } of [first, second, third]) goOn()
    second.ready()
    third.fails()
    expect(await codeOf(second.over)).toBe('busy')
    const fourth = share('a4')
    fourth.goOn()
    fourth.ready()
    first.ready()
    await Promise.all([first.over, fourth.over])
    expect(done.join(' ')).toBe('a1 a4')
  })
})

describe('a batcher', () => {
  test('puts items that come during a run into the next one, and gives each caller its own result', async () => {
    const runs: number[][] = []
    const batch = createBatcher({
      sizeMax: 100,
      run: async (items: readonly number[]) => {
        runs.push([...items])
        await sleep(10)
        return runs.length
      },
    })
    const first = batch(1)
    await sleep(5)
    const later = [batch(2), batch(3)]
    expect(await Promise.all([first, ...later])).toEqual([1, 2, 2])
    expect(runs).toEqual([[1], [2, 3]])
    expect(await batch(4)).toBe(3)
  })

  test('limits the size of a run', async () => {
    const sizes: number[] = []
    const batch = createBatcher({
      sizeMax: 10,
      run: async (items: readonly number[]) => {
        sizes.push(items.length)
      },
    })
    await Promise.all(Array.from({ length: 25 }, (_, index) => batch(index)))
    expect(sizes).toEqual([10, 10, 5])
  })

  test('answers only when the run is done', async () => {
    let done = false
    const run = async () => {
      await sleep(20)
      done = true
    }
    const batch = createBatcher({ sizeMax: 10, run })
    await Promise.all([1, 2, 3].map((item) => batch(item).then(() => expect(done).toBe(true))))
  })

  test('fails every caller of a failed run, and none of the next', async () => {
    let runs = 0
    const run = async () => {
      runs += 1
      if (runs === 1) throw new Error('the run failed')
    }
    const batch = createBatcher({ sizeMax: 2, run })
    const results = await Promise.allSettled([1, 2, 3, 4].map((item) => batch(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  })

  test('has a bounded queue', async () => {
    const batch = createBatcher({ sizeMax: 500, run: () => sleep(1) })
    const codes = await tally(Array.from({ length: 10_003 }, (_, index) => batch(index)))
    expect(codes).toEqual({ resolved: 10_000, busy: 3 })
  })
})

describe('shares of common places', () => {
  const hanging = () => {
    const { promise, resolve } = Promise.withResolvers<'done'>()
    return { work: () => promise, end: () => resolve('done') }
  }

  test('let at most so many of one name run, and others beside them', async () => {
    const shares = createShares({ atOnce: 2, slowAfterMs: 20 })
    const first = hanging()
    const running = [shares.run('slow', first.work), shares.run('slow', first.work)]
    expect(await shares.run('slow', first.work)).toBe('crowded')
    expect(await shares.run('other', async () => 'done')).toBe('done')
    first.end()
    expect(await Promise.all(running)).toEqual(['done', 'done'])
  })

  test('let the next one wait while the name is quick, and turn it away at once while it is slow', async () => {
    const shares = createShares({ atOnce: 1, slowAfterMs: 10_000 })
    const first = hanging()
    const running = shares.run('name', first.work)
    const waiting = shares.run('name', async () => 'waited')
    first.end()
    expect(await Promise.all([running, waiting])).toEqual(['done', 'waited'])

    const quickly = createShares({ atOnce: 1, slowAfterMs: 0 })
    const second = hanging()
    const slow = quickly.run('name', second.work)
    const answers = await Promise.all(Array.from({ length: 100 }, () => quickly.run('name', async () => 'waited')))
    expect(new Set(answers)).toEqual(new Set(['crowded']))
    second.end()
    await slow
  })

  test('give the place back after a failure', async () => {
    const shares = createShares({ atOnce: 1, slowAfterMs: 10 })
    const failing = async (): Promise<never> => {
      throw new Error('failed')
    }
    for (let each = 0; each < 3; each += 1) expect(shares.run('name', failing)).rejects.toThrow('failed')
    expect(await shares.run('name', async () => 'done')).toBe('done')
  })
})
