import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseDisplayAmount, parseMovedAmount } from '../../src/assets/tokens/asset.ts'
import { displayAmount } from '../../src/platform/amount.ts'
import { AppError } from '../../src/platform/errors.ts'

const UINT256_END = 2n ** 256n
const of = (decimals: number, end = UINT256_END) => ({ field: 'amount', decimals, end })

const refusalOf = (parse: () => bigint): string => {
  try {
    return `read as ${parse()}`
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.message}`
    throw error
  }
}

test('an amount is read exactly, in base units', () => {
  expect(parseDisplayAmount('1.5', of(18))).toBe(1_500_000_000_000_000_000n)
  expect(parseDisplayAmount('0.000001', of(6))).toBe(1n)
  expect(parseDisplayAmount('7', of(0))).toBe(7n)
  expect(parseDisplayAmount('007.10', of(2))).toBe(710n)
  expect(parseDisplayAmount('0.0', of(6))).toBe(0n)
  expect(parseDisplayAmount(String(UINT256_END - 1n), of(0))).toBe(UINT256_END - 1n)
})

test('what is displayed is read as the same amount again', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, UINT256_END - 1n), fc.integer({ min: 0, max: 255 }), (amount, decimals) => {
      expect(parseDisplayAmount(displayAmount(amount, decimals), of(decimals))).toBe(amount)
    }),
    { seed: 20 },
  )
})

test('more places than the token has are refused, even zeros', () => {
  for (const text of ['0.0000001', '1.0000000', '1.1234567']) {
    expect(refusalOf(() => parseDisplayAmount(text, of(6)))).toBe(
      'invalid_input Field "amount" must have at most 6 decimal places, as the token has.',
    )
  }
  expect(refusalOf(() => parseDisplayAmount('1.0', of(0)))).toContain('at most 0 decimal places')
})

test('signs, exponents, spaces and other forms are refused', () => {
  const texts = [
    '',
    '-1',
    '+1',
    '1e3',
    '1E3',
    ' 1',
    '1 ',
    '1.',
    '.5',
    '1,5',
    '1.5.5',
    '0x10',
    'NaN',
    '١',
    '1_000',
    '9'.repeat(79),
  ]
  for (const text of texts) {
    expect([text, refusalOf(() => parseDisplayAmount(text, of(18)))]).toEqual([
      text,
      'invalid_input Field "amount" must be an amount in plain decimal digits, such as "1.5".',
    ])
  }
})

test('an amount outside of what the network counts is refused', () => {
  expect(refusalOf(() => parseDisplayAmount(String(UINT256_END), of(0)))).toContain('must be below 2^256 in base units')
  expect(refusalOf(() => parseDisplayAmount(String(UINT256_END / 10n), of(1)))).toContain('read as')
  expect(refusalOf(() => parseDisplayAmount(String(UINT256_END / 10n + 1n), of(1)))).toContain('below 2^256')
  expect(refusalOf(() => parseDisplayAmount(String(2n ** 128n), of(0, 2n ** 128n)))).toContain('below 2^128')
})

test('an amount that moves is not zero', () => {
  expect(parseMovedAmount('0.1', of(1))).toBe(1n)
  expect(refusalOf(() => parseMovedAmount('0.0', of(6)))).toBe('invalid_input Field "amount" must be above zero.')
})
