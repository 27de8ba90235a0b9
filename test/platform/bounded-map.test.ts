import { expect, test } from 'bun:test'
import { createBoundedMap } from '../../src/platform/bounded-map.ts'

test('removes the least recently used entry', () => {
  const map = createBoundedMap<number>({ max: 2 })
  map.set('a', 1)
  map.set('b', 2)
  expect(map.get('a')).toBe(1)
  map.set('c', 3)
  expect([map.get('a'), map.get('b'), map.get('c'), map.size()]).toEqual([1, undefined, 3, 2])
  map.set('a', 4)
  map.set('d', 5)
  expect([map.get('a'), map.get('c'), map.get('d')]).toEqual([4, undefined, 5])
  map.remove('a')
  expect([map.get('a'), map.size()]).toEqual([undefined, 1])
})

test('with a lifetime removes an entry when this time has passed since it was set', async () => {
  const map = createBoundedMap<number>({ max: 2, lifetimeMs: 100 })
  const longer = createBoundedMap<number>({ max: 2, lifetimeMs: 3_600_000 })
  map.set('a', 1)
  longer.set('a', 1)
  while (map.get('a') !== undefined) await Bun.sleep(5)
  expect(map.remainingMs('a')).toBeLessThanOrEqual(0)
  expect(longer.get('a')).toBe(1)
  expect(longer.remainingMs('a')).toBeWithin(1, 3_600_000)
  // Nobody asks for it again, and still its memory is given back.
  map.set('b', 2)
  while (map.size() > 0) await Bun.sleep(5)
})
