import { expect, test } from 'bun:test'
import { atMostEvery } from '../../src/platform/queue.ts'

const HOUR_MS = 3_600_000

const counted = (intervalMs: number) => {
  let count = 0
  return atMostEvery(intervalMs, async () => ++count)
}

test('within the interval all who ask get the same result', async () => {
  const ask = counted(HOUR_MS)
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1])
  expect(await ask()).toBe(1)
})

test('after the interval it is done again', async () => {
  const ask = counted(0)
  expect(await ask()).toBe(1)
  expect(await ask()).toBe(2)
})
