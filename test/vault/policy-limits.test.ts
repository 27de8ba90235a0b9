// Limits on tokens, and limits that hold in any time of some length: what the vault counts, held against counts that
// keep every use with its time.

import { describe, expect, test } from 'bun:test'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { PolicyTerms } from '../../db/queries/vault/policies.ts'
import { areRolling, countedNow, countUse } from '../../src/vault/language/policy-limits.ts'
import { tokensTaken } from '../../src/vault/language/token-calls.ts'
import { randomOf } from '../policies/oracle/random.ts'
import { bytesOf } from './support.ts'

const TOKEN = 'ab'.repeat(20)
const OTHER = 'cd'.repeat(20)
const THEM: Hex = `0x${'12'.repeat(20)}`
const UINT256_MAX = (1n << 256n) - 1n
const ABI = parseAbi([
  'function transfer(address to, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function increaseAllowance(address spender, uint256 addedValue)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function decreaseAllowance(address spender, uint256 subtractedValue)',
  'function burn(uint256 value)',
])
const R: Hex = `0x${'ff'.repeat(32)}`

const calls: Readonly<Record<string, (value: bigint) => Hex>> = {
  transfer: (value) => encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [THEM, value] }),
  transferFrom: (value) => encodeFunctionData({ abi: ABI, functionName: 'transferFrom', args: [THEM, THEM, value] }),
  approve: (value) => encodeFunctionData({ abi: ABI, functionName: 'approve', args: [THEM, value] }),
  increaseAllowance: (value) =>
    encodeFunctionData({ abi: ABI, functionName: 'increaseAllowance', args: [THEM, value] }),
  permit: (value) =>
    encodeFunctionData({ abi: ABI, functionName: 'permit', args: [THEM, THEM, value, UINT256_MAX, 28, R, R] }),
}

const dataOf = (hex: string) => bytesOf(hex.slice(2))
const taken = (hex: string, to = TOKEN) => tokensTaken([TOKEN], [{ to, data: dataOf(hex) }])

describe('of a limited token', () => {
  test.each(Object.entries(calls))('%s takes the amount that it names', (_, call) => {
    for (const value of [0n, 1n, 10n ** 18n, UINT256_MAX]) {
      expect(taken(call(value))).toEqual(new Map([[TOKEN, value]]))
    }
  })

  test.each(Object.entries(calls))('%s in any other form cannot be counted', (_, call) => {
    const hex = call(7n)
    const words = (hex.length - 10) / 64
    const dirtyAt = (at: number) => `${hex.slice(0, 10 + at * 64)}01${hex.slice(12 + at * 64)}`
    const amountAt = Array.from({ length: words }, (_word, at) => at).find(
      (at) => BigInt(`0x${hex.slice(10 + at * 64, 74 + at * 64)}`) === 7n,
    )
    // Only the amount, a deadline and the halves of a signature use all bits of their word.
    const clean = words === 7 ? [0, 1, 4] : Array.from({ length: amountAt ?? 0 }, (_word, at) => at)
    for (const at of clean) expect(taken(dirtyAt(at))).toBeNull()
    for (const other of [
      hex.slice(0, -2),
      hex.slice(0, -64),
      `${hex}00`,
      `${hex}${'00'.repeat(32)}`,
      hex.slice(0, 10),
    ]) {
      expect(taken(other)).toBeNull()
    }
  })

  test('other functions, and coins that are sent to the contract, cannot be counted', () => {
    const others = [
      encodeFunctionData({ abi: ABI, functionName: 'decreaseAllowance', args: [THEM, 1n] }),
      encodeFunctionData({ abi: ABI, functionName: 'burn', args: [1n] }),
    ]
    for (const hex of ['0x', '0x00', '0xa9059c', '0xffffffff', ...others]) expect(taken(hex)).toBeNull()
  })

  test('several calls take the sum, and calls of other contracts nothing', () => {
    const call = (to: string, hex: string) => ({ to, data: dataOf(hex) })
    const all = [call(TOKEN, calls.transfer?.(3n) ?? ''), call(OTHER, '0x00'), call(TOKEN, calls.approve?.(4n) ?? '')]
    expect(tokensTaken([TOKEN], all)).toEqual(new Map([[TOKEN, 7n]]))
    expect(tokensTaken([TOKEN, OTHER], all)).toBeNull()
    expect(tokensTaken([], all)).toEqual(new Map())
    expect(taken('0x', OTHER)).toEqual(new Map())
  })
})

type Limits = Pick<PolicyTerms, 'tokenLimits' | 'rollingLimits'>
type Counts = Parameters<typeof countUse>[1]['counts']

const token = (maxTotal: bigint, perSeconds: number | null): Limits => ({
  tokenLimits: [{ contractAddress: `0x${TOKEN.toUpperCase()}`, maxTotal: String(maxTotal), perSeconds }],
  rollingLimits: [],
})
const useOf = (amount: bigint) => ({ value: amount, uses: 1, tokens: new Map([[TOKEN, amount]]) })
const atMs = (ms: number) => new Date(1_800_000_000_000 + ms)

/** Uses one after the other. @returns what is counted after those that are allowed, and which are. */
const walk = (limits: Limits, uses: readonly (readonly [ms: number, amount: bigint])[]) => {
  let counts: Counts = []
  const allowed = uses.map(([ms, amount]) => {
    const next = countUse(limits, { counts, at: atMs(ms), use: useOf(amount) })
    if (typeof next === 'string') return false
    counts = next
    return true
  })
  return { counts, allowed }
}

describe('a limit', () => {
  test('on a token without a period never frees anything, to the last unit', () => {
    const years = 10 * 366 * 86_400_000
    const { allowed, counts } = walk(token(10n, null), [
      [0, 6n],
      [years, 5n],
      [years, 4n],
      [2 * years, 0n],
      [2 * years, 1n],
    ])
    expect(allowed).toEqual([true, true, true, true, true].map((_, at) => at !== 1 && at !== 4))
    expect(counts).toEqual([[[0, '10']]])
    expect(areRolling(token(10n, null))).toBe(false)
  })

  test('of a minute frees an amount after one minute, or at most a sixteenth of a minute later', () => {
    const limits = token(10n, 60)
    expect(
      walk(limits, [
        [0, 10n],
        [60_000, 1n],
      ]).allowed,
    ).toEqual([true, false])
    expect(
      walk(limits, [
        [0, 10n],
        [63_751, 1n],
      ]).allowed,
    ).toEqual([true, true])
    expect(areRolling(limits)).toBe(true)
  })

  test('of a second frees nothing before the second is over, whenever it begins', () => {
    for (let ms = 0; ms < 63; ms += 1) {
      expect([
        ms,
        ...walk(token(10n, 1), [
          [ms, 10n],
          [ms + 1_000, 1n],
        ]).allowed,
      ]).toEqual([ms, true, false])
    }
  })

  test('keeps at most 17 amounts, even if the clock goes back again and again', () => {
    const back = Array.from({ length: 60 }, (_, index) => [-4_000 * index, 1n] as const)
    const { counts, allowed } = walk(token(100n, 60), back)
    expect(allowed).not.toContain(false)
    expect(counts[0]?.length).toBeLessThanOrEqual(17)
  })

  test('frees nothing if the clock goes back', () => {
    const limits = token(10n, 60)
    const { allowed } = walk(limits, [
      [0, 10n],
      [-3_600_000, 1n],
      [-3_600_000, 0n],
      [30_000, 1n],
      [63_751, 1n],
    ])
    expect(allowed).toEqual([true, false, true, false, true])
  })

  test('value and use limits count independently, and a second charge of one use is not a second use', () => {
    const limits: Limits = {
      tokenLimits: [],
      rollingLimits: [
        { perSeconds: 60, maxTotalValue: '10', maxUses: null },
        { perSeconds: 3_600, maxTotalValue: '15', maxUses: 3 },
      ],
    }
    const { allowed, counts } = walk(limits, [
      [0, 10n],
      [1, 1n],
      [70_000, 6n],
      [70_000, 5n],
      [140_000, 0n],
      [210_000, 0n],
    ])
    expect(allowed).toEqual([true, false, false, true, true, false])
    const at = atMs(210_000)
    expect(countedNow(limits, { counts, at }).rolling).toEqual([
      { value: 0n, uses: null },
      { value: 15n, uses: 3n },
    ])
    const more = { ...useOf(0n), uses: 0 }
    expect(countUse(limits, { counts, at, use: more })).toEqual(counts)
    expect(countUse(limits, { counts, at, use: { ...more, value: 1n } })).toBe('rolling')
  })
})

type Event = { readonly ms: number; readonly amount: bigint }

/** The most in any time of some length that ends with a use. */
const mostWithin = (events: readonly Event[], lengthMs: number): bigint => {
  let most = 0n
  for (const { ms: end } of events) {
    const sum = events.reduce((all, { ms, amount }) => (ms <= end && ms >= end - lengthMs ? all + amount : all), 0n)
    if (sum > most) most = sum
  }
  return most
}

test('random sequences never exceed the limit in any period, keep a bounded state, and refuse no use without need', () => {
  const random = randomOf(20_261_124)
  let [allowed, refused] = [0, 0]
  for (let walks = 0; walks < 60; walks += 1) {
    const perSeconds = random.one([1, 7, 60, 3_600, 86_400])
    const lengthMs = perSeconds * 1_000
    const max = random.one([3n, 100n, UINT256_MAX])
    const limits = token(max, perSeconds)
    const goesBack = walks % 3 === 0
    const events: Event[] = []
    let counts: Counts = []
    let ms = random.below(lengthMs)
    // How much the clock is behind: it goes back, and is never put forward.
    let behindMs = 0
    for (let uses = 0; uses < 150; uses += 1) {
      ms += random.one([0, 1, random.below(lengthMs / 8), random.below(lengthMs / 8), random.below(2 * lengthMs)])
      if (goesBack && random.isLikely(5)) behindMs += random.below(3 * lengthMs)
      const amount = random.one([0n, 1n, max / 3n, max / 2n, max])
      const next = countUse(limits, { counts, at: atMs(ms - behindMs), use: useOf(amount) })
      if (typeof next !== 'string') {
        counts = next
        events.push({ ms, amount })
        allowed += 1
      } else {
        refused += 1
        // Nothing that is older than the time and a sixteenth of it hinders a use.
        const near = events.filter((each) => goesBack || each.ms >= ms - (lengthMs * 17) / 16 - 1)
        expect(near.reduce((sum, each) => sum + each.amount, amount)).toBeGreaterThan(max)
      }
      expect(counts[0]?.length ?? 0).toBeLessThanOrEqual(17)
    }
    expect(mostWithin(events, lengthMs)).toBeLessThanOrEqual(max)
  }
  expect(Math.min(allowed, refused)).toBeGreaterThan(1_000)
})
