import { describe, expect, test } from 'bun:test'
import {
  FIRST_WIDTH,
  MAX_WIDTH,
  MOVEMENTS_AIMED_AT,
  widthAfterRefusal,
  widthAfterSuccess,
} from '../../src/assets/activity/read-range.ts'

describe('the width of a range', () => {
  test('doubles while ranges are small, up to its limit', () => {
    let width = FIRST_WIDTH
    for (let range = 0; range < 20; range += 1) {
      width = widthAfterSuccess({ width, blocksRead: width, movementsRead: 10 })
    }
    expect(width).toBe(MAX_WIDTH)
  })

  test('does not change at the end of the chain, where the range was shorter', () => {
    expect(widthAfterSuccess({ width: 64, blocksRead: 1, movementsRead: 5 })).toBe(64)
  })

  test('shrinks in proportion if a range has too many movements', () => {
    expect(widthAfterSuccess({ width: 100, blocksRead: 100, movementsRead: MOVEMENTS_AIMED_AT * 4 })).toBe(25)
    expect(widthAfterSuccess({ width: 100, blocksRead: 2, movementsRead: MOVEMENTS_AIMED_AT * 4 })).toBe(1)
  })

  test('never falls below one block', () => {
    expect(widthAfterSuccess({ width: 1, blocksRead: 1, movementsRead: MOVEMENTS_AIMED_AT * 100 })).toBe(1)
    expect([2, 1].map(widthAfterRefusal)).toEqual([1, 1])
  })

  test('halves after a refusal', () => {
    expect(widthAfterRefusal(9)).toBe(4)
  })
})
