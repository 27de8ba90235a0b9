import { expect, test } from 'bun:test'
import type { Intent } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { assertRelayed, chooseFees } from '../../../src/chains/evm/fees.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { createMemory } from './memory.ts'

const GWEI = 1_000_000_000n
const row = evmNetworkRow({ network: 'Polygon', environment: 'testnet', devnet: true })
// Nothing listens there, so everything that needs a node fails.
const chain = createEvmChain({ row, rpcUrl: 'http://127.0.0.1:9', memory: createMemory() })

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const full: Intent = {
  to: CONTRACT,
  value: 7n,
  input: '0xabcd',
  gasLimit: 50_000n,
  maxFeePerGas: 40n * GWEI,
  maxPriorityFeePerGas: 30n * GWEI,
  nonce: 9,
}

test('completes an intent with all fields without a node', () => {
  expect(chain.complete(full)).toEqual({
    family: 'evm',
    chainId: 80_002,
    nonce: 9,
    to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    value: 7n,
    input: '0xabcd',
    gasLimit: 50_000n,
    maxFeePerGas: 40n * GWEI,
    maxPriorityFeePerGas: 30n * GWEI,
  })
})

test('completes a creation, and a nonce and a tip of zero', () => {
  const creation = { ...full, to: null, gasLimit: 60_000n }
  expect(chain.complete({ ...creation, nonce: 0, maxPriorityFeePerGas: 0n })).toMatchObject({
    to: null,
    nonce: 0,
  })
})

test('does not complete an intent that lacks a field', () => {
  for (const name of ['nonce', 'gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
    const { [name]: _, ...rest } = full
    expect(chain.complete(rest)).toBeNull()
  }
})

test('completes an intent with a gas price, which is both fees, and makes it type 0 or 1', () => {
  const { maxFeePerGas: _cap, maxPriorityFeePerGas: _tip, ...open } = full
  const priced = { ...open, gasPrice: 40n * GWEI }
  const fees = { maxFeePerGas: 40n * GWEI, maxPriorityFeePerGas: 40n * GWEI }
  const accessList = [{ address: CONTRACT, storageKeys: [] }]
  const legacy = chain.complete(priced)
  expect(legacy).toMatchObject({ ...fees, type: 'legacy', nonce: 9, gasLimit: 50_000n })
  expect(legacy).not.toHaveProperty('accessList')
  for (const list of [accessList, []]) {
    expect(chain.complete({ ...priced, accessList: list })).toMatchObject({
      ...fees,
      type: 'eip2930',
      accessList: list,
    })
  }
  expect(chain.complete({ ...full, accessList })).toMatchObject({ accessList, maxPriorityFeePerGas: 30n * GWEI })
  const { gasLimit: _, ...unpriced } = priced
  expect(chain.complete(unpriced)).toBeNull()
})

test('an access list costs gas before anything runs: 2400 for an address, 1900 for a slot (EIP-2930)', () => {
  const slot = `0x${'0'.repeat(64)}` as const
  const payment = { ...full, input: '0x', accessList: [{ address: CONTRACT, storageKeys: [slot, slot] }] } as const
  const refused = expect.objectContaining({ message: expect.stringContaining('at least 27200') })
  expect(() => chain.complete({ ...payment, gasLimit: 27_199n })).toThrow(refused)
  expect(chain.complete({ ...payment, gasLimit: 27_200n })).not.toBeNull()
})

test('refuses a tip above the cap', () => {
  expect(() => chain.complete({ ...full, maxPriorityFeePerGas: 41n * GWEI })).toThrow(
    expect.objectContaining({ code: 'fee_too_low', message: expect.stringContaining('maxFeePerGas') }),
  )
})

test('computes the worst cost, and changes only the nonce', () => {
  const unsigned = chain.complete(full)
  if (unsigned === null) throw new Error('expected a complete transaction')
  const { raw } = chain.assemble(unsigned, new Uint8Array(65).fill(1))
  expect(chain.offerOf({ raw, recordedCost: 0n })).toMatchObject({
    maxFeePerGas: 40n * GWEI,
    worstCost: 7n + 50_000n * 40n * GWEI,
  })
  expect(chain.withNonce(unsigned, 12)).toEqual({ ...unsigned, nonce: 12 })
})

test('says that the node is unavailable if one is needed and none answers', async () => {
  await expect(chain.isRightNode()).rejects.toMatchObject({ code: 'node_unavailable', retryable: true })
})

test('the gas floor by the length of the data applies on networks that have it', () => {
  const of = (network: 'Polygon' | 'Avalanche') =>
    createEvmChain({
      row: evmNetworkRow({ network, environment: 'mainnet', devnet: false }),
      rpcUrl: 'http://127.0.0.1:9',
      memory: createMemory(),
    })
  const call = { ...full, input: `0x${'ff'.repeat(100)}` as const }
  const refused = expect.objectContaining({ code: 'invalid_input' })
  expect(() => of('Polygon').complete({ ...call, gasLimit: 24_999n })).toThrow(refused)
  expect(of('Polygon').complete({ ...call, gasLimit: 25_000n })).not.toBeNull()
  expect(() => of('Avalanche').complete({ ...call, gasLimit: 22_599n })).toThrow(refused)
  expect(of('Avalanche').complete({ ...call, gasLimit: 22_600n })).not.toBeNull()
})

const market = { nextBaseFee: 10n * GWEI, tip: 32n * GWEI, ceiling: 1_000n * GWEI }
const { maxFeePerGas: _cap, maxPriorityFeePerGas: _tip, ...open } = full

test('offers the market’s tip, and leaves room for the base fee to double', () => {
  expect(chooseFees(open, market)).toEqual({ maxFeePerGas: 52n * GWEI, maxPriorityFeePerGas: 32n * GWEI })
})

test('keeps the fees that the caller fixed', () => {
  expect(chooseFees({ ...open, maxFeePerGas: 30n * GWEI }, market)).toEqual({
    maxFeePerGas: 30n * GWEI,
    maxPriorityFeePerGas: 30n * GWEI,
  })
  expect(chooseFees({ ...open, maxPriorityFeePerGas: 1n }, market)).toEqual({
    maxFeePerGas: 20n * GWEI + 1n,
    maxPriorityFeePerGas: 1n,
  })
})

test('never chooses fees above the ceiling', () => {
  const ceiling = 40n * GWEI
  expect(chooseFees(open, { ...market, ceiling })).toEqual({ maxFeePerGas: ceiling, maxPriorityFeePerGas: 32n * GWEI })
})

test('refuses a tip that the network’s nodes do not relay', () => {
  const fees = { maxFeePerGas: 30n * GWEI, maxPriorityFeePerGas: 25n * GWEI }
  expect(() => assertRelayed(fees, row)).not.toThrow()
  expect(() => assertRelayed({ ...fees, maxPriorityFeePerGas: 25n * GWEI - 1n }, row)).toThrow(
    expect.objectContaining({ code: 'fee_too_low', message: expect.stringContaining('25 gwei') }),
  )
})
