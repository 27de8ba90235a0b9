import { describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher } from '../../src/batcher.ts'
import { createSlots } from '../../src/custody/credentials/slots.ts'
import { HeldKeys } from '../../src/custody/sealing/bytes.ts'
import { codeOf, tally } from './support.ts'

const inMs = (ms: number) => performance.now() + ms

describe('slots', () => {
  test('are never more than the limit, and everyone gets one', async () => {
    const slots = createSlots({ limit: 3 })
    let running = 0
    let most = 0
    const work = async () => {
      running += 1
      most = Math.max(most, running)
      await sleep(1)
      running -= 1
    }
    const all = Array.from({ length: 50 }, () => slots.run({ deadlineMs: inMs(5000), work }))
    expect(slots.load()).toEqual({ running: 3, waiting: 47 })
    await Promise.all(all)
    expect([most, running, slots.idle()]).toEqual([3, 0, true])
    expect(slots.load()).toEqual({ running: 0, waiting: 0 })
  })

  test('are given in the order of asking', async () => {
    const slots = createSlots({ limit: 1 })
    const order: number[] = []
    const run = (index: number) =>
      slots.run({
        deadlineMs: inMs(5000),
        work: async () => {
          await sleep(1)
          order.push(index)
        },
      })
    await Promise.all([0, 1, 2, 3, 4].map(run))
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  test('are given back by work that fails', async () => {
    const slots = createSlots({ limit: 1 })
    const work = () => Promise.reject(new Error('it failed'))
    await expect(slots.run({ deadlineMs: inMs(1000), work })).rejects.toThrow('it failed')
    expect(await slots.run({ deadlineMs: inMs(1000), work: async () => 'next' })).toBe('next')
  })

  test('that do not come in time are refused as busy, and lost to nobody', async () => {
    const slots = createSlots({ limit: 1 })
    const first = slots.run({ deadlineMs: inMs(1000), work: () => sleep(400) })
    const started = performance.now()
    expect(await codeOf(slots.run({ deadlineMs: inMs(20), work: async () => {} }))).toBe('busy')
    expect(performance.now() - started).toBeLessThan(350)
    await first
    expect(slots.idle()).toBe(true)
    expect(await slots.run({ deadlineMs: inMs(0), work: async () => 'free' })).toBe('free')
  })

  test('have a queue with a bound: who comes after a thousand others is refused at once', async () => {
    const slots = createSlots({ limit: 1 })
    const first = slots.run({ deadlineMs: inMs(1000), work: () => sleep(50) })
    const others = Array.from({ length: 1010 }, () => slots.run({ deadlineMs: inMs(5000), work: async () => {} }))
    expect(await tally(others)).toEqual({ resolved: 1000, busy: 10 })
    await first
  })
})

describe('a batcher', () => {
  test('carries what comes while a run is under way in the next one, and each caller gets its own run’s result', async () => {
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

  test('has runs of a bounded size', async () => {
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

  test('answers nobody before the run is done', async () => {
    let done = false
    const run = async () => {
      await sleep(20)
      done = true
    }
    const batch = createBatcher({ sizeMax: 10, run })
    await Promise.all([1, 2, 3].map((item) => batch(item).then(() => expect(done).toBe(true))))
  })

  test('fails every caller of a run that fails, and none of the next', async () => {
    let runs = 0
    const run = async () => {
      runs += 1
      if (runs === 1) throw new Error('the run failed')
    }
    const batch = createBatcher({ sizeMax: 2, run })
    const results = await Promise.allSettled([1, 2, 3, 4].map((item) => batch(item)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled'])
  })

  test('has a queue with a bound', async () => {
    const batch = createBatcher({ sizeMax: 500, run: () => sleep(1) })
    const codes = await tally(Array.from({ length: 10_003 }, (_, index) => batch(index)))
    expect(codes).toEqual({ resolved: 10_000, busy: 3 })
  })
})

describe('held keys', () => {
  const zeroed = (key: Uint8Array) => key.every((byte) => byte === 0)

  test('are zeroed when the block is left, and not before', async () => {
    const key = new Uint8Array(32).fill(1)
    const use = async () => {
      using keys = new HeldKeys()
      keys.hold(key)
      await sleep(1)
      return zeroed(key)
    }
    expect(await use()).toBe(false)
    expect(zeroed(key)).toBe(true)
  })

  test('are zeroed when the block is left by a throw', () => {
    const key = new Uint8Array(32).fill(1)
    expect(() => {
      using keys = new HeldKeys()
      keys.hold(key)
      throw new Error('it failed')
    }).toThrow('it failed')
    expect(zeroed(key)).toBe(true)
  })
})
