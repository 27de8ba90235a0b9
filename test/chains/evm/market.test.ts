// How far a node is trusted about fees. The node is a real chain behind a proxy that lies about fees.

import { describe, expect, test } from 'bun:test'
import { toHex } from 'viem'
import type { EvmUnsigned } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { readConfig } from '../../../src/platform/config.ts'
import { type EvmNetworkRow, evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { afterTests, shared } from '../../support/shared.ts'
import { startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'

const GWEI = 1_000_000_000n
const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const from = fundedAccount(0).address
const payment = { to: fundedAccount(1).address, value: 1n, input: '0x' as const }

const open: { stop: () => unknown }[] = []

const node = await shared(startChain('Ethereum'))
afterTests(async () => {
  for (const each of open) await each.stop()
})

type Told = {
  readonly baseFee: bigint
  readonly tip: bigint
  /** The answer to a request for a block with its transactions; if absent, the real chain's block. */
  readonly block?: unknown
}

/** Five blocks with the same base fee and the same median tip. */
const lying = ({ baseFee, tip, block }: Told, change: Partial<EvmNetworkRow> = {}) => {
  const proxy = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method, params }) => {
      if (method === 'eth_feeHistory') {
        const [base, reward] = [toHex(baseFee), [toHex(tip)]]
        return {
          result: {
            oldestBlock: '0x0',
            baseFeePerGas: Array(6).fill(base),
            gasUsedRatio: Array(5).fill(0.5),
            reward: Array(5).fill(reward),
          },
        }
      }
      const isWhole = method === 'eth_getBlockByNumber' && params[1] === true
      return isWhole && block !== undefined ? { result: block } : undefined
    },
  })
  open.push(proxy)
  return { proxy, chain: createEvmChain({ row: { ...row, ...change }, rpcUrl: proxy.rpcUrl, memory: createMemory() }) }
}

/** The tip that would be signed. It must be the same for sending and for signing only. */
const offered = async (told: Told, change: Partial<EvmNetworkRow> = {}) => {
  const { chain } = lying(told, change)
  const { unsigned, atMarket } = await chain.prepare(payment, from, { pending: async () => [] })
  const fees = (each: object): [bigint, bigint] => {
    const { maxFeePerGas, maxPriorityFeePerGas } = each as EvmUnsigned
    return [maxFeePerGas, maxPriorityFeePerGas]
  }
  const all = [unsigned, atMarket, await chain.fill(payment, from, { nonce: 0 })].map(fees)
  expect(all[1]).toEqual(all[0])
  expect(all[2]).toEqual(all[0])
  const [maxFeePerGas, tip] = fees(unsigned)
  return { maxFeePerGas, tip }
}

/** A block whose transactions offered these tips above its base fee. */
const paid = (baseFee: bigint, tips: readonly bigint[], more: readonly unknown[] = []) => ({
  baseFeePerGas: toHex(baseFee),
  transactions: [
    ...tips.map((tip) => ({ maxFeePerGas: toHex(3n * baseFee + tip), maxPriorityFeePerGas: toHex(tip) })),
    ...more,
  ],
})

describe('a tip', () => {
  test('that is usual is accepted from the node without a further request', async () => {
    expect(await offered({ baseFee: GWEI, tip: 3n * GWEI })).toEqual({ maxFeePerGas: 5n * GWEI, tip: 3n * GWEI })
    const { proxy, chain } = lying({ baseFee: GWEI, tip: row.believedTipWei })
    await chain.prepare(payment, from, { pending: async () => [] })
    expect(proxy.calls.length).toBe(1)
  })

  test('is the network’s minimum if the blocks were empty', async () => {
    expect((await offered({ baseFee: 0n, tip: 0n })).tip).toBe(row.minPriorityFeeWei)
  })

  test('of 1,990 gwei is not signed if nobody paid it in the blocks', async () => {
    const { tip, maxFeePerGas } = await offered({ baseFee: GWEI, tip: 1_990n * GWEI })
    expect(tip).toBe(row.believedTipWei)
    expect(maxFeePerGas).toBe(2n * GWEI + row.believedTipWei)
  })

  test('that only one odd transaction paid is not signed while the base fee is low', async () => {
    const odd = { baseFee: GWEI, tip: 1_990n * GWEI, block: paid(GWEI, [1_990n * GWEI]) }
    expect((await offered(odd)).tip).toBe(row.believedTipWei)
  })

  test('that is high in a rush is accepted up to what a block proves', async () => {
    const baseFee = 90n * GWEI
    const rush = {
      baseFee,
      tip: 60n * GWEI,
      block: paid(
        baseFee,
        [2n, 35n, 50n, 80n, 99n].map((tip) => tip * GWEI),
      ),
    }
    expect((await offered(rush)).tip).toBe(50n * GWEI)
    expect((await offered({ ...rush, tip: 40n * GWEI })).tip).toBe(40n * GWEI)
  })

  test('is not above the base fee of the block itself', async () => {
    const told = { baseFee: 900n * GWEI, tip: 90n * GWEI, block: paid(30n * GWEI, [90n * GWEI]) }
    expect((await offered(told, { maxFeePerGasCapWei: 2_000n * GWEI })).tip).toBe(30n * GWEI)
  })

  test('is computed from what was paid, not offered: limited by the cap, and for older transactions from the gas price', async () => {
    const baseFee = 90n * GWEI
    const kinds = [
      { maxFeePerGas: toHex(140n * GWEI), maxPriorityFeePerGas: toHex(900n * GWEI) },
      { gasPrice: toHex(140n * GWEI) },
      // A deposit transaction of an OP stack chain pays nothing.
      { gasPrice: '0x0' },
      'no object',
    ]
    expect((await offered({ baseFee, tip: 90n * GWEI, block: paid(baseFee, [], kinds) })).tip).toBe(50n * GWEI)
  })

  test('is at most a tenth of the ceiling, however consistently a node lies', async () => {
    const baseFee = 490n * GWEI
    const lie = { baseFee, tip: 480n * GWEI, block: paid(baseFee, [480n * GWEI]) }
    expect(await offered(lie)).toEqual({ maxFeePerGas: row.maxFeePerGasCapWei, tip: row.maxFeePerGasCapWei / 10n })
  })

  test.each([
    ['does not have', null],
    ['cannot show', { baseFeePerGas: 'much', transactions: [] }],
    ['shows without transactions', { baseFeePerGas: toHex(90n * GWEI), transactions: [] }],
  ])('is the usual one where the node tells of a block that it %s', async (_what, block) => {
    expect((await offered({ baseFee: 90n * GWEI, tip: 80n * GWEI, block })).tip).toBe(row.believedTipWei)
  })
})

describe('the ceiling', () => {
  const at = (gwei: bigint) => ({ maxFeePerGasCapWei: gwei * GWEI })

  test('limits fees while the market is below it', async () => {
    expect(await offered({ baseFee: 40n * GWEI, tip: GWEI }, at(60n))).toEqual({
      maxFeePerGas: 60n * GWEI,
      tip: GWEI,
    })
  })

  test('allows a real spike: fifty times the base fee of a quiet day', async () => {
    for (const [network, quiet] of [
      ['Ethereum', 15n],
      ['Polygon', 100n],
      ['Base', 1n],
      ['Avalanche', 25n],
    ] as const) {
      const { believedTipWei, maxFeePerGasCapWei } = evmNetworkRow({ network, environment: 'mainnet', devnet: false })
      const spike = { baseFee: 50n * quiet * GWEI, tip: believedTipWei }
      const { maxFeePerGas, tip } = await offered(spike, { maxFeePerGasCapWei, believedTipWei })
      expect(maxFeePerGas).toBeGreaterThanOrEqual(spike.baseFee + tip)
    }
  })

  test('refuses sending and signing while the market is above it, with an error that may be retried', async () => {
    const { chain } = lying({ baseFee: 61n * GWEI, tip: GWEI }, at(60n))
    const refused = {
      code: 'fee_ceiling_reached',
      status: 503,
      retryable: true,
      message: expect.stringContaining('Ethereum asks for 61.001 gwei per gas now, and this service offers at most 60'),
    }
    await expect(chain.prepare(payment, from, { pending: async () => [] })).rejects.toMatchObject(refused)
    await expect(chain.fill(payment, from, { nonce: 0 })).rejects.toMatchObject(refused)
    // A fee that the caller fixes is not limited by the ceiling.
    const fixed = { ...payment, maxFeePerGas: 70n * GWEI }
    expect((await chain.prepare(fixed, from, { pending: async () => [] })).unsigned).toMatchObject({
      maxFeePerGas: 70n * GWEI,
    })
  })
})

describe('an operator’s ceiling', () => {
  const variables = { ENVIRONMENT: 'testnet', DATABASE_URL: 'postgres://127.0.0.1/x', SERVICE_KEY: 'fd:3' }
  const ceilingsOf = (more: Record<string, string>) =>
    Object.fromEntries(
      readConfig({ ...variables, ...more }).networks.flatMap((row) =>
        row.family === 'evm' ? [[row.network, row.maxFeePerGasCapWei]] : [],
      ),
    )

  test('is read for each network, in gwei to the last wei', () => {
    const given = { ETHEREUM_MAX_FEE_GWEI: '300', BASE_MAX_FEE_GWEI: ' 0.500000001 ', POLYGON_MAX_FEE_GWEI: '' }
    expect(ceilingsOf(given)).toEqual({ ...ceilingsOf({}), Ethereum: 300n * GWEI, Base: 500_000_001n })
  })

  test.each(['much', '-1', '1e3', '0x10', '.5', '1.', '1.0000000001'])('is refused as %p', (text) => {
    expect(() => ceilingsOf({ AVALANCHE_MAX_FEE_GWEI: text })).toThrow(
      'AVALANCHE_MAX_FEE_GWEI must be a decimal number of gwei, such as 500 or 0.5.',
    )
  })

  test('replaces the default, and is refused if nothing could be sent with it', () => {
    const rowBy = (wei: bigint) =>
      evmNetworkRow({
        network: 'Polygon',
        environment: 'mainnet',
        devnet: false,
        maxFeesPerGasWei: { Polygon: wei, Base: 1n },
      })
    expect(rowBy(700n * GWEI).maxFeePerGasCapWei).toBe(700n * GWEI)
    expect(() => rowBy(25n * GWEI)).toThrow('POLYGON_MAX_FEE_GWEI must be above 25, the least that Polygon takes.')
  })
})
