import { expect, test } from 'bun:test'
import { encodeFunctionData, type Hex } from 'viem'
import type { BlockMovements, Chain } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain, type TestChain } from '../../support/chains.ts'
import { shared } from '../../support/shared.ts'
import { type Behaviour, startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const [rich, other] = [fundedAccount(0).address, fundedAccount(1).address]
type Contract = Awaited<ReturnType<TestChain['deploy']>>

const chainAt = (rpcUrl: string): Chain => createEvmChain({ row, rpcUrl, memory: createMemory() })

const node = await shared(startChain('Ethereum'))
const chain = chainAt(node.rpcUrl)
const token = await node.deploy('TestToken', ['Test', 'TST', 6])
const wrapped = await node.deploy('WrappedCoin')

const call = async (contract: Contract, functionName: string, args: readonly unknown[], value = 0n) => {
  const data = encodeFunctionData({ abi: contract.abi, functionName, args })
  return node.receiptOf(await node.walletClient.sendTransaction({ to: contract.address, data, value, gas: 400_000n }))
}
await call(token, 'mint', [rich, 1_000n])

const block = async (of: Chain = chain): Promise<BlockMovements> => {
  const { number } = (await of.head()).latest
  const [only] = (await of.movements({ fromBlock: number, toBlock: number })) ?? []
  if (only === undefined) throw new Error('expected a block')
  return only
}

const scope = (reliable: readonly Hex[] = [token.address, wrapped.address]) => ({
  choose: async (touched: readonly string[]) => new Set([rich, other].filter((each) => touched.includes(each))),
  reliable: (contracts: readonly string[]) => new Set(contracts.filter((each) => reliable.includes(each as Hex))),
})

const without = (told: BlockMovements, contract: string | null): BlockMovements => ({
  ...told,
  movements: told.movements.filter((each) => each.contract !== contract),
})

test('compares movements of the coin and of tokens with balances, and names what is missing', async () => {
  await call(token, 'transfer', [other, 7n])
  const told = await block()
  expect(await chain.checkBalances(told, scope())).toEqual({ checked: 4, differences: [] })
  expect(await chain.checkBalances(without(told, token.address), scope())).toEqual({
    checked: 4,
    differences: [
      { address: rich, contract: token.address, changed: -7n, expected: 0n },
      { address: other, contract: token.address, changed: 7n, expected: 0n },
    ],
  })
  // Contracts that are not in the scope may report anything.
  expect(await chain.checkBalances(without(told, token.address), scope([]))).toMatchObject({ differences: [] })
})

test('includes the fee of a failed transaction, and wrapped coins', async () => {
  await call(token, 'transfer', [other, 10n ** 30n])
  expect(await chain.checkBalances(await block(), scope())).toMatchObject({ checked: 1, differences: [] })
  await call(wrapped, 'deposit', [], 9n)
  expect(await chain.checkBalances(await block(), scope())).toEqual({ checked: 2, differences: [] })
  await call(wrapped, 'withdraw', [4n])
  const told = await block()
  expect(await chain.checkBalances(told, scope())).toEqual({ checked: 2, differences: [] })
  expect((await chain.checkBalances(without(told, null), scope()))?.differences).toMatchObject([
    { address: rich, contract: null },
  ])
})

const behind = async <T>(behaviour: Behaviour, use: (chain: Chain) => Promise<T>): Promise<T> => {
  const proxy = startFakeNode({ behind: node.rpcUrl, behaviour })
  try {
    return await use(chainAt(proxy.rpcUrl))
  } finally {
    proxy.stop()
  }
}
const missing = { error: { code: -32_601, message: 'the method does not exist/is not available' } }

test('skips coins in a block without traces, and everything if the node lacks receipts or state', async () => {
  await call(token, 'transfer', [other, 1n])
  const told = await block()
  const untraced = { ...told, isTraced: false }
  expect(await chain.checkBalances(without(untraced, null), scope([]))).toEqual({ checked: 0, differences: [] })
  expect(await chain.checkBalances(untraced, scope())).toEqual({ checked: 2, differences: [] })
  const noReceipts: Behaviour = ({ method }) => (method === 'eth_getBlockReceipts' ? missing : undefined)
  expect(await behind(noReceipts, (of) => of.checkBalances(told, scope()))).toBeNull()
  const noState: Behaviour = ({ method }) =>
    method === 'eth_getBalance' ? { error: { code: -32_000, message: 'missing trie node' } } : undefined
  expect(await behind(noState, (of) => of.checkBalances(told, scope()))).toBeNull()
})

// op-geth's receipts, and GasPriceOracle.getOperatorFee in the OP-stack specs.
test.each([
  ['Isthmus', {}, (gasUsed: bigint) => (gasUsed * 1_234_567n) / 1_000_000n + 7_000n],
  [
    'Jovian',
    { daFootprintGasScalar: '0x190', blobGasUsed: '0x64' },
    (gasUsed: bigint) => gasUsed * 123_456_700n + 7_000n,
  ],
] as const)('expects a sender to have paid the operator fee of %s', async (_, fields, feeFor) => {
  const { gasUsed } = await call(token, 'transfer', [other, 1n])
  const told = await block()
  const withFee: Behaviour = async ({ method, params }) => {
    if (method !== 'eth_getBlockReceipts') return undefined
    const receipts = (await node.rpc(method, params)) as readonly object[]
    const paid = { operatorFeeScalar: '0x12d687', operatorFeeConstant: '0x1b58', ...fields }
    return { result: receipts.map((each) => ({ ...each, ...paid })) }
  }
  const { differences = [] } = (await behind(withFee, (of) => of.checkBalances(told, scope()))) ?? {}
  const [only] = differences
  expect(differences).toMatchObject([{ address: rich, contract: null }])
  // This chain has not taken the fee.
  expect((only?.changed ?? 0n) - (only?.expected ?? 0n)).toBe(feeFor(BigInt(gasUsed)))
})

test('reports no difference for a block that a reorganisation removed', async () => {
  await call(token, 'transfer', [other, 2n])
  const told = await block()
  await node.reorg({ depth: 1 })
  expect(await chain.checkBalances(told, scope())).toBeNull()
})
