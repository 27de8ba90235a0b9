import { describe, expect, test } from 'bun:test'
import {
  FIRST_WIDTH,
  MAX_WIDTH,
  MOVEMENTS_AIMED_AT,
  widthAfterRefusal,
  widthAfterSuccess,
} from '../../src/activity/read-range.ts'

describe('the width of a range', () => {
  test('doubles while ranges are small, up to its bound', () => {
    let width = FIRST_WIDTH
    for (let range = 0; range < 20; range += 1) {
      width = widthAfterSuccess({ width, blocksRead: width, movementsRead: 10 })
    }
    expect(width).toBe(MAX_WIDTH)
  })

  test('stays as it is at the end of the chain, where it was not tried', () => {
    expect(widthAfterSuccess({ width: 64, blocksRead: 1, movementsRead: 5 })).toBe(64)
  })

  test('shrinks in proportion where a range has too much in it', () => {
    expect(widthAfterSuccess({ width: 100, blocksRead: 100, movementsRead: MOVEMENTS_AIMED_AT * 4 })).toBe(25)
    expect(widthAfterSuccess({ width: 100, blocksRead: 2, movementsRead: MOVEMENTS_AIMED_AT * 4 })).toBe(1)
  })

  test('never falls below one block', () => {
    expect(widthAfterSuccess({ width: 1, blocksRead: 1, movementsRead: MOVEMENTS_AIMED_AT * 100 })).toBe(1)
    expect([2, 1].map(widthAfterRefusal)).toEqual([1, 1])
  })

  test('halves where it was refused', () => {
    expect(widthAfterRefusal(9)).toBe(4)
  })
})
