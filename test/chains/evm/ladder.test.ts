import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { EvmUnsigned } from '../../../src/chains/chain.ts'
import { cancelOf, ladderOf } from '../../../src/chains/evm/ladder.ts'

const GWEI = 1_000_000_000n
const FROM = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const unsigned: EvmUnsigned = {
  family: 'evm',
  chainId: 1,
  nonce: 7,
  to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  value: 5n,
  input: '0xabcd',
  gasLimit: 90_000n,
  maxFeePerGas: 30n * GWEI,
  maxPriorityFeePerGas: GWEI,
}

const CAP = 2_000n * GWEI

/** geth's rule, with room: at least 10 % more in both fields (core/txpool/legacypool/list.go, Add). */
const replaces = (next: EvmUnsigned, before: EvmUnsigned): boolean =>
  next.maxFeePerGas * 100n >= before.maxFeePerGas * 110n &&
  next.maxPriorityFeePerGas * 100n >= before.maxPriorityFeePerGas * 110n

describe('the ladder', () => {
  test('begins with the transaction itself and changes nothing but the fees', () => {
    const rungs = ladderOf({ unsigned, fixedFees: false, maxFeePerGasCapWei: CAP })
    expect(rungs[0]).toEqual(unsigned)
    expect(rungs.length).toBe(6)
    for (const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...rest } of rungs) {
      expect(unsigned).toMatchObject(rest)
    }
  })

  test('each rung, and the cancel, would be taken by geth in place of the one before, and stays below its cap', () => {
    const fee = fc.bigInt({ min: 0n, max: 1_000n * GWEI })
    fc.assert(
      fc.property(fee, fee, (a, b) => {
        const [maxPriorityFeePerGas, maxFeePerGas] = a < b ? [a, b] : [b, a]
        const first = { ...unsigned, maxFeePerGas, maxPriorityFeePerGas }
        const rungs = ladderOf({ unsigned: first, fixedFees: false, maxFeePerGasCapWei: CAP })
        const top = rungs.at(-1) ?? first
        const all = [...rungs, cancelOf({ top, from: FROM })]
        for (const [index, next] of all.entries()) {
          const before = all[index - 1]
          if (before !== undefined) expect(replaces(next, before)).toBe(true)
          expect(next.maxPriorityFeePerGas <= next.maxFeePerGas).toBe(true)
        }
        for (const rung of rungs) expect(rung.maxFeePerGas <= CAP).toBe(true)
      }),
    )
  })

  test('a fee that the caller fixed is kept', () => {
    expect(ladderOf({ unsigned, fixedFees: true, maxFeePerGasCapWei: CAP })).toEqual([unsigned])
  })

  test('a fee near the cap has fewer rungs, and never none', () => {
    expect(ladderOf({ unsigned, fixedFees: false, maxFeePerGasCapWei: 40n * GWEI }).length).toBe(2)
    expect(ladderOf({ unsigned, fixedFees: false, maxFeePerGasCapWei: GWEI }).length).toBe(1)
  })
})

test('the cancel uses the nonce and does nothing', () => {
  expect(cancelOf({ top: unsigned, from: FROM })).toEqual({
    ...unsigned,
    to: FROM,
    value: 0n,
    input: '0x',
    gasLimit: 21_000n,
    maxFeePerGas: 37_500_000_000n,
    maxPriorityFeePerGas: 1_250_000_000n,
  })
})
