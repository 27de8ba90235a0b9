// Rules, by examples. property.test.ts draws them at random; rules.test.ts compiles them.

import { describe, expect, test } from 'bun:test'
import { RULE_OPERATORS } from '../../db/words.ts'
import type { CallValue, ReadCall } from '../../src/chains/chain.ts'
import { type ArgumentRule, type CheckedTransaction, findMismatch } from '../../src/signing/policies/evaluate.ts'
import { matches } from '../support/rules.ts'

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const OTHER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const rule = (argument: string, operator: ArgumentRule['operator'], value: string): ArgumentRule => ({
  argument,
  operator,
  value,
})

const judged = (call: ReadCall | null, rest: Partial<CheckedTransaction> = {}): CheckedTransaction => ({
  ...{ to: { kind: 'address', value: TOKEN }, value: 0n, call, isCall: call !== null },
  ...rest,
})

describe('rules', () => {
  const plain = judged(null, { value: 100n })

  test('must all match, for every transaction', () => {
    const [yes, no] = [rule('value', 'le', '100'), rule('value', 'lt', '100')]
    expect(findMismatch([yes], [plain])).toBe(null)
    expect(findMismatch([yes, no], [plain])).toBe(1)
    expect(findMismatch([yes], [plain, judged(null, { value: 101n })])).toBe(0)
    expect(matches([], [plain])).toBe(false)
    expect(matches([yes], [])).toBe(false)
  })

  test('never match a contract creation', () => {
    expect(matches([rule('value', 'ge', '0')], [judged(null, { to: null })])).toBe(false)
  })

  test('never match call data without a rule on its function, readable or not', () => {
    const call: ReadCall = { functionName: 'f', values: new Map([['a', { kind: 'integer', value: 1n }]]) }
    const anything = [rule('value', 'ge', '0'), rule('to', 'eq', TOKEN)]
    for (const each of [judged(call), judged(null, { isCall: true })]) {
      expect(matches(anything, [each])).toBe(false)
      expect(matches([...anything, rule('decodedInput.function', 'ne', 'g')], [each])).toBe(false)
      // One such transaction in a batch is enough for a refusal.
      expect(matches(anything, [plain, each])).toBe(false)
    }
    expect(matches([...anything, rule('decodedInput.a', 'eq', '1')], [judged(call)])).toBe(false)
    const named = [...anything, rule('decodedInput.function', 'eq', 'f')]
    expect(matches(named, [judged(call)])).toBe(true)
    expect(matches(named, [judged(null, { isCall: true })])).toBe(false)
    expect(matches(named, [judged(call), plain])).toBe(false)
  })

  test('name a function by its name or by its signature', () => {
    const call: ReadCall = { functionName: 'f', signature: 'f(uint8)', values: new Map() }
    const named = rule('decodedInput.function', 'eq', 'f')
    for (const [value, isNamed] of [
      ['f', true],
      ['f(uint8)', true],
      ['f(uint256)', false],
      ['g', false],
    ] as const) {
      expect(matches([rule('decodedInput.function', 'eq', value)], [judged(call)])).toBe(isNamed)
      expect(matches([named, rule('decodedInput.function', 'ne', value)], [judged(call)])).toBe(!isNamed)
    }
  })

  test.each([
    ['100', 'eq', true],
    ['0x64', 'eq', true],
    ['0100', 'eq', true],
    ['0x64', 'ne', false],
    ['99', 'gt', true],
    ['100', 'gt', false],
    ['100', 'ge', true],
    ['101', 'lt', true],
    ['100', 'lt', false],
    ['100', 'le', true],
    ['-1', 'gt', true],
    ['9', 'lt', false],
    ['1e2', 'ge', false],
    ['100 ', 'ne', false],
    ['', 'ne', false],
    ['a hundred', 'ne', false],
  ] as const)('compare integers: 100 with %p by %s is %p', (value, operator, expected) => {
    expect(matches([rule('value', operator, value)], [plain])).toBe(expected)
  })

  test('compare addresses case-insensitively, and only for equality', () => {
    for (const value of [TOKEN, TOKEN.toLowerCase(), `0x${TOKEN.slice(2).toUpperCase()}`]) {
      expect(matches([rule('to', 'eq', value)], [plain])).toBe(true)
      expect(matches([rule('to', 'ne', value)], [plain])).toBe(false)
      for (const operator of ['gt', 'ge', 'lt', 'le'] as const)
        expect(matches([rule('to', operator, value)], [plain])).toBe(false)
    }
    expect(matches([rule('to', 'ne', OTHER)], [plain])).toBe(true)
    expect(matches([rule('to', 'ne', 'nobody')], [plain])).toBe(false)
  })

  test.each([
    ['tag', '0xABcdef00', true],
    ['tag', '0xabcdef01', false],
    ['tag', 'abcdef00', null],
    ['tag', '0xabcdef0', null],
    ['open', 'true', true],
    ['open', 'false', false],
    ['open', '1', null],
    ['note', 'Text', true],
    ['note', 'text', false],
    ['note', '', false],
    ['_maker', TOKEN, true],
    ['maker', OTHER, false],
    ['order.__inner', '-3', true],
    ['order._inner', '3', false],
    ['order', '3', null],
    ['nothing', '3', null],
  ] as const)('compare by kind of value: %s with %p is %p', (path, value, equal) => {
    const values = new Map<string, CallValue>([
      ['tag', { kind: 'bytes', value: '0xabcdef00' }],
      ['open', { kind: 'bool', value: 'true' }],
      ['note', { kind: 'text', value: 'Text' }],
      ['maker', { kind: 'address', value: TOKEN }],
      ['order.inner', { kind: 'integer', value: -3n }],
    ])
    const transaction = judged({ functionName: 'f', values })
    // null: neither equal nor unequal, because the kinds differ.
    const named = rule('decodedInput.function', 'eq', 'f')
    expect(matches([named, rule(`decodedInput.${path}`, 'eq', value)], [transaction])).toBe(equal === true)
    expect(matches([named, rule(`decodedInput.${path}`, 'ne', value)], [transaction])).toBe(equal === false)
  })

  test('on call data never match if there is none, `ne` included', () => {
    for (const operator of RULE_OPERATORS) {
      expect(matches([rule('decodedInput.function', operator, 'burn')], [plain])).toBe(false)
      expect(matches([rule('decodedInput.value', operator, '7')], [plain])).toBe(false)
    }
  })
})
