// The costs of a transaction besides its value, on a network with a fee for layer 1.

import { expect, test } from 'bun:test'
import type { Unsigned } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../../../src/chains/networks.ts'
import { usualFeeBudget } from '../../../src/policies/intent-bounds.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { afterTests, shared } from '../../support/shared.ts'
import { startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'

const GWEI = 10n ** 9n
const ORACLE = '0x420000000000000000000000000000000000000F'
const L1_FEE = 400_000n
/** A quarter more, as in prepare.ts. */
const L1_FEE_MOST = 500_000n
const from = fundedAccount(0).address
const payment = { to: fundedAccount(1).address, value: 5n, input: '0x' as const }

const node = await shared(startChain('Base'))
const proxy = startFakeNode({
  behind: node.rpcUrl,
  behaviour: ({ method, params: [object] }) => {
    const { to } = (object ?? {}) as { to?: string }
    if (method !== 'eth_call' || to !== ORACLE) return undefined
    return { result: `0x${L1_FEE.toString(16).padStart(64, '0')}` }
  },
})
afterTests(() => proxy.stop())
const row = { ...evmNetworkRow({ network: 'Base', environment: 'testnet', devnet: true }), gasPriceOracle: ORACLE }
const base = createEvmChain({ row, rpcUrl: proxy.rpcUrl, memory: createMemory() })

const ordinary = (): Promise<Unsigned> => base.fill(payment, from, { nonce: 0 })

test('the fee for layer 1 is a surcharge, for sending and for signing only', async () => {
  const { unsigned, surcharge, worstCost } = await base.prepare(payment, from, { pending: async () => [] })
  expect(surcharge).toBe(L1_FEE_MOST)
  expect(await base.feeRules.surcharge(unsigned)).toBe(L1_FEE_MOST)
  expect(worstCost).toBe(payment.value + base.feeRules.gasFee(unsigned) + surcharge)
})

test('the fee for layer 1 is included in the default fee budget', async () => {
  const unsigned = await ordinary()
  const perGas = base.feeRules.gasFee(unsigned) / 21_000n
  expect(await base.feeRules.ordinaryFee()).toBe(100_000n * perGas + L1_FEE_MOST)
  expect(await usualFeeBudget(base)).toBe(2_500n * (100_000n * perGas + L1_FEE_MOST))
})

test('fees and gas above a multiple of the ordinary ones are found, field by field', async () => {
  const unsigned = await ordinary()
  if (unsigned.family !== 'evm') throw new Error('expected a transaction of EIP-1559')
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = unsigned
  const of = (fixed: object) =>
    base.feeRules.excess({ intent: { ...payment, ...fixed }, ordinary: unsigned, times: 2n })
  expect(await of({})).toBeNull()
  const most = {
    gasLimit: 2n * gasLimit,
    maxFeePerGas: 2n * maxFeePerGas,
    maxPriorityFeePerGas: 2n * maxPriorityFeePerGas,
  }
  expect(await of(most)).toBeNull()
  for (const field of ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
    expect(await of({ ...most, [field]: most[field] + 1n })).toEqual({ field, most: most[field] })
  }
  // A gas price is paid in full.
  expect(await of({ gasPrice: maxFeePerGas })).toBeNull()
  expect(await of({ gasPrice: maxFeePerGas + 1n })).toEqual({ field: 'gasPrice', most: maxFeePerGas })
  expect(base.feeRules.isWithinFeeCap({ ...payment, gasPrice: 200n * GWEI })).toBe(true)
  expect(base.feeRules.isWithinFeeCap({ ...payment, gasPrice: 200n * GWEI + 1n })).toBe(false)
  expect(base.feeRules.isWithinFeeCap({ ...payment, maxFeePerGas: 200n * GWEI })).toBe(true)
  expect(base.feeRules.isWithinFeeCap({ ...payment, maxFeePerGas: 200n * GWEI + 1n })).toBe(false)
})
