import { describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { HeldKeys } from '../../src/platform/sealing/bytes.ts'

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
