// The costs of a transaction besides its value, on an OP-stack network: gas, a fee for layer 1, and one for the
// operator.

import { beforeEach, expect, test } from 'bun:test'
import { getAddress, parseEther, parseGwei } from 'viem'
import type { Unsigned } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { usualFeeBudget } from '../../../src/signing/policies/intent-bounds.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import type { TestContractName } from '../../support/contracts.ts'
import { afterTests, shared } from '../../support/shared.ts'
import { startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'

const GWEI = 10n ** 9n
const ORACLE = '0x420000000000000000000000000000000000000F'
const L1_FEE = 400_000n
/** A quarter more, as in surcharge.ts. */
const L1_FEE_MOST = 500_000n
const from = fundedAccount(0).address
const poor = getAddress('0x00000000000000000000000000000000000abcde')
const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') }
const payment = { to: fundedAccount(1).address, value: 5n, input: '0x' as const }

const node = await shared(startChain('Base'))
const row = { ...evmNetworkRow({ network: 'Base', environment: 'testnet', devnet: true }), gasPriceOracle: ORACLE }
const base = createEvmChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })

const codeOf = async (name: TestContractName, ...rest: readonly bigint[]) =>
  node.publicClient.getCode(await node.deploy(name, [L1_FEE, ...rest]))
const placeOracle = async (...oracle: Parameters<typeof codeOf>): Promise<void> => {
  await node.rpc('anvil_setCode', [ORACLE, await codeOf(...oracle)])
}
const withoutOperatorFee = await codeOf('FjordOracle')
beforeEach(() => node.rpc('anvil_setCode', [ORACLE, withoutOperatorFee]))

const prepare = (intent: object = {}, sender: string = from) =>
  base.prepare({ ...payment, ...intent }, sender, { pending: async () => [] })
const ordinary = (): Promise<Unsigned> => base.fill(payment, from, { nonce: 0 })

test('the fee for layer 1 is a surcharge, for sending and for signing only', async () => {
  const { unsigned, surcharge, worstCost } = await prepare()
  expect(surcharge).toBe(L1_FEE_MOST)
  expect(await base.feeRules.surcharge(unsigned)).toBe(L1_FEE_MOST)
  expect(worstCost).toBe(payment.value + base.feeRules.gasFee(unsigned) + surcharge)
})

// GasPriceOracle.getOperatorFee in the OP-stack specs: Isthmus gas * scalar / 10^6 + constant, Jovian gas * scalar *
// 100 + constant.
test.each([
  ['IsthmusOracle', 25_925n + 7_000n, 123_456n + 7_000n],
  ['JovianOracle', 2_592_590_700_000n + 7_000n, 12_345_670_000_000n + 7_000n],
] as const)(
  'the fee of %s for the gas limit is a surcharge too, in the balance check and in the default budget',
  async (name, ofPayment, ofOrdinary) => {
    await placeOracle(name, 1_234_567n, 7_000n)
    const { unsigned, surcharge, worstCost } = await prepare(fees)
    expect(surcharge).toBe(L1_FEE_MOST + ofPayment)
    expect(await base.feeRules.surcharge(unsigned)).toBe(surcharge)
    expect(worstCost).toBe(5n + 21_000n * fees.maxFeePerGas + surcharge)
    const higher = await prepare({ ...fees, gasLimit: 100_000n })
    expect(higher.surcharge).toBe(L1_FEE_MOST + ofOrdinary)

    await node.fund(poor, worstCost)
    expect((await prepare(fees, poor)).balance).toBe(worstCost)
    await node.fund(poor, worstCost - 1n)
    const error: unknown = await prepare(fees, poor).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'balance_insufficient' })
    expect(parseEther(/needs (\S+) ETH/.exec(String(error))?.[1] ?? '0')).toBe(worstCost)

    const perGas = base.feeRules.gasFee(await ordinary()) / 21_000n
    expect(await base.feeRules.ordinaryFee()).toBe(100_000n * perGas + L1_FEE_MOST + ofOrdinary)
  },
)

test('a sender that lacks the value is told the amount with the operator fee', async () => {
  await placeOracle('JovianOracle', 1_234_567n, 7_000n)
  await node.fund(poor, 1n)
  const error: unknown = await prepare(fees, poor).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code: 'balance_insufficient' })
  const needed = 5n + 21_000n * fees.maxFeePerGas + L1_FEE_MOST + 2_592_590_707_000n
  expect(parseEther(/needs (\S+) ETH/.exec(String(error))?.[1] ?? '0')).toBe(needed)
})

test.each(['FjordOracle', 'RefusingOracle', 'SilentOracle'] as const)(
  'there is no operator fee by %s',
  async (name) => {
    await placeOracle(name)
    const { unsigned, surcharge } = await prepare()
    expect([surcharge, await base.feeRules.surcharge(unsigned)]).toEqual([L1_FEE_MOST, L1_FEE_MOST])
  },
)

test('a node that does not run the question about the operator fee is a failure', async () => {
  const proxy = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ params: [object] }) =>
      (object as { data?: string } | undefined)?.data?.startsWith('0x275aedd2') === true
        ? { error: { code: -32_005, message: 'daily request count exceeded' } }
        : undefined,
  })
  afterTests(() => proxy.stop())
  const limited = createEvmChain({ row, rpcUrl: proxy.rpcUrl, memory: createMemory() })
  const failure = { code: 'node_unavailable' }
  await expect(limited.prepare(payment, from, { pending: async () => [] })).rejects.toMatchObject(failure)
  await expect(limited.feeRules.surcharge(await ordinary())).rejects.toMatchObject(failure)
  await expect(limited.feeRules.ordinaryFee()).rejects.toMatchObject(failure)
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
