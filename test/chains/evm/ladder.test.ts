import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { EvmUnsigned } from '../../../src/chains/chain.ts'
import { buildLadder } from '../../../src/chains/evm/ladder.ts'

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

const CEILING = 2_000n * GWEI
const RICH = 10n ** 30n

type Asked = Partial<Omit<Parameters<typeof buildLadder>[0], 'worstCost'>>

const costOf = ({ value, gasLimit, maxFeePerGas }: EvmUnsigned): bigint => value + gasLimit * maxFeePerGas

const ladder = ({ unsigned: first = unsigned, ...asked }: Asked = {}) =>
  buildLadder({
    unsigned: first,
    atMarket: first,
    intent: { to: first.to, value: first.value, input: first.input },
    from: FROM,
    spendable: RICH,
    ceilingWei: CEILING,
    ...asked,
    worstCost: costOf(first),
  })

const fixing = (first: EvmUnsigned) => {
  const { to, value, input, maxFeePerGas, maxPriorityFeePerGas } = first
  return { to, value, input, maxFeePerGas, maxPriorityFeePerGas }
}

/** geth's rule: at least 10 % more in both fields (core/txpool/legacypool/list.go, Add). */
const replaces = (next: EvmUnsigned, before: EvmUnsigned): boolean =>
  next.maxFeePerGas * 100n >= before.maxFeePerGas * 110n &&
  next.maxPriorityFeePerGas * 100n >= before.maxPriorityFeePerGas * 110n

const caps = (rungs: readonly EvmUnsigned[]): readonly bigint[] => rungs.map(({ maxFeePerGas }) => maxFeePerGas / GWEI)

describe('the ladder', () => {
  test('begins with the transaction itself, changes only the fees, and reaches 32 times the first fee', () => {
    const { rungs, isFixed, isCutByFunds } = ladder()
    expect(rungs[0]).toEqual(unsigned)
    expect(caps(rungs)).toEqual([30n, 60n, 120n, 240n, 480n, 960n])
    for (const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...rest } of rungs) expect(unsigned).toMatchObject(rest)
    expect({ isFixed, isCutByFunds }).toEqual({ isFixed: false, isCutByFunds: false })
  })

  test('raises the tip, which is paid in full, by less than the cap', () => {
    const tips = ladder().rungs.map(({ maxPriorityFeePerGas }) => Number(maxPriorityFeePerGas) / 1e9)
    expect(tips).toEqual([1, 1.5, 2.25, 3.375, 5.0625, 7.59375])
  })

  test('has rungs, and a cancel, that geth accepts as replacements of the one before, below the ceiling', () => {
    const fee = fc.bigInt({ min: 0n, max: 1_000n * GWEI })
    const money = fc.bigInt({ min: 0n, max: 10n ** 19n })
    fc.assert(
      fc.property(fee, fee, money, (a, b, more) => {
        const [maxPriorityFeePerGas, maxFeePerGas] = a < b ? [a, b] : [b, a]
        const first = { ...unsigned, maxFeePerGas, maxPriorityFeePerGas }
        const spendable = costOf(first) + more
        const { rungs, cancel } = ladder({ unsigned: first, spendable })
        const all = [...rungs, cancel]
        for (const [index, next] of all.entries()) {
          const before = all[index - 1]
          if (before !== undefined) expect(replaces(next, before)).toBe(true)
          expect(next.maxPriorityFeePerGas <= next.maxFeePerGas).toBe(true)
        }
        for (const rung of rungs) {
          expect(rung.maxFeePerGas <= CEILING).toBe(true)
          expect(costOf(rung) <= spendable).toBe(true)
        }
        if (rungs.length > 1) expect(costOf(cancel) <= spendable).toBe(true)
      }),
    )
  })

  test('keeps a fee that the caller fixed', () => {
    const { rungs, isFixed, isCutByFunds } = ladder({ intent: fixing(unsigned) })
    expect({ rungs, isFixed, isCutByFunds }).toEqual({ rungs: [unsigned], isFixed: true, isCutByFunds: false })
  })

  test('has fewer rungs for a fee near the ceiling, but at least one; the last is the ceiling itself', () => {
    expect(caps(ladder({ ceilingWei: 50n * GWEI }).rungs)).toEqual([30n, 50n])
    // Less than a quarter above: a pool might not accept it.
    expect(caps(ladder({ ceilingWei: 37n * GWEI }).rungs)).toEqual([30n])
    expect(caps(ladder({ ceilingWei: GWEI }).rungs)).toEqual([30n])
  })

  test('leaves out rungs that the signer cannot pay, and says so', () => {
    const gwei = (amount: bigint) => unsigned.value + unsigned.gasLimit * amount * GWEI
    const cut = (amount: bigint) => {
      const { rungs, isCutByFunds } = ladder({ spendable: gwei(amount) })
      return { caps: caps(rungs), isCutByFunds }
    }
    expect(cut(960n)).toEqual({ caps: [30n, 60n, 120n, 240n, 480n, 960n], isCutByFunds: false })
    expect(cut(599n)).toEqual({ caps: [30n, 60n, 120n, 240n, 480n], isCutByFunds: true })
    expect(cut(100n)).toEqual({ caps: [30n, 60n, 100n], isCutByFunds: true })
    expect(cut(30n)).toEqual({ caps: [30n], isCutByFunds: true })
  })

  test('of a plain payment is low enough for its cancel to be paid', () => {
    const payment = { ...unsigned, value: 0n, input: '0x', gasLimit: 21_000n } as const
    const { rungs, cancel } = ladder({ unsigned: payment, spendable: 21_000n * 100n * GWEI })
    expect(caps(rungs)).toEqual([30n, 60n, 80n])
    expect(costOf(cancel)).toBe(21_000n * 100n * GWEI)
  })
})

describe('the cancel', () => {
  test('only uses the nonce, at fees above the top rung', () => {
    const { rungs, cancel } = ladder()
    const top = rungs.at(-1) as EvmUnsigned
    expect(cancel).toEqual({
      ...unsigned,
      ...{ to: FROM, value: 0n, input: '0x', gasLimit: 21_000n },
      maxFeePerGas: (top.maxFeePerGas * 5n) / 4n,
      maxPriorityFeePerGas: (top.maxPriorityFeePerGas * 5n + 3n) / 4n,
    })
  })

  test('of a fixed fee offers what the market may rise to, and never less than the fixed fee', () => {
    const low = { ...unsigned, maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI / 10n }
    const atMarket = unsigned
    expect(ladder({ unsigned: low, intent: fixing(low), atMarket }).cancel.maxFeePerGas).toBe(150n * GWEI)
    const high = { ...unsigned, maxFeePerGas: 400n * GWEI }
    expect(ladder({ unsigned: high, intent: fixing(high), atMarket }).cancel.maxFeePerGas).toBe(500n * GWEI)
  })
})
