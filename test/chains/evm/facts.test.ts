import { expect, test } from 'bun:test'
import { getAddress, type Hex } from 'viem'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { textIn } from '../../../src/chains/evm/facts.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { shared } from '../../support/shared.ts'
import { startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Base', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address

const node = await shared(startChain('Base'))
const chain = createEvmChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })

const factsOf = async (address: string) => (await chain.facts([getAddress(address)])).get(getAddress(address))

test('reads standard, name, symbol and decimals of tokens and collections from their contracts', async () => {
  const token = await node.deploy('TestToken', ['Test Token', 'TST', 6])
  const nft = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  const multi = await node.deploy('MultiToken', ['', rich])
  const failing = await deployOdd(node, 'Failing')
  const addresses = [token, nft, multi, failing].map(({ address }) => getAddress(address))
  const facts = await chain.facts([...addresses, rich])
  expect(facts.size).toBe(5)
  const contract = { isContract: true, decimals: null }
  expect(addresses.map((address) => facts.get(address))).toEqual([
    { ...contract, standard: 'erc20', name: 'Test Token', symbol: 'TST', decimals: 6 },
    { ...contract, standard: 'erc721', name: 'Wizards', symbol: 'WIZ' },
    { ...contract, standard: 'erc1155', name: '', symbol: '' },
    { ...contract, standard: 'other', name: '', symbol: '' },
  ])
  expect(facts.get(rich)).toEqual({ isContract: false, standard: 'other', name: '', symbol: '', decimals: null })
})

test('reads the bytes32 names of old tokens', async () => {
  expect(await factsOf((await deployOdd(node, 'Bytes32Token')).address)).toEqual({
    isContract: true,
    standard: 'erc20',
    name: 'Maker',
    symbol: 'MKR',
    decimals: 18,
  })
})

test('shortens and cleans hostile names, and does not accept absurd decimals', async () => {
  expect(await factsOf((await deployOdd(node, 'HostileToken')).address)).toEqual({
    isContract: true,
    standard: 'erc20',
    name: 'Good Token<script>',
    symbol: 'A'.repeat(32),
    decimals: null,
  })
})

test('is not fooled by a contract that answers yes to everything, and is not delayed by one that never ends', async () => {
  const nothing = { isContract: true, standard: 'other', name: '', symbol: '', decimals: null } as const
  const yes = await factsOf((await deployOdd(node, 'YesToAll')).address)
  expect(yes).toMatchObject({ standard: 'other' })
  const started = performance.now()
  expect(await factsOf((await deployOdd(node, 'Endless')).address)).toEqual(nothing)
  expect(performance.now() - started).toBeLessThan(5_000)
})

test('limits the gas that a contract may use while it is read', async () => {
  const limits: unknown[] = []
  const watching = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method, params: [object] }) => {
      if (method === 'eth_call') limits.push((object as { gas?: string }).gas)
      return undefined
    },
  })
  const watched = createEvmChain({ row, rpcUrl: watching.rpcUrl, memory: createMemory() })
  await watched.facts([getAddress((await deployOdd(node, 'Endless')).address)])
  watching.stop()
  expect(limits.length).toBe(9)
  expect(limits.every((gas) => Number(gas) <= 2_000_000)).toBe(true)
})

test('an account that delegated (EIP-7702) is no contract', async () => {
  const account = '0x00000000000000000000000000000000000ACc01'
  await node.testClient.setCode({ address: account, bytecode: `0xef0100${'11'.repeat(20)}` })
  expect(await factsOf(account)).toMatchObject({ isContract: false })
})

test('remembers contracts, and reads each once', async () => {
  const token = getAddress((await node.deploy('TestToken', ['Test', 'TST', 6])).address)
  const memory = createMemory()
  const counting = startFakeNode({ behind: node.rpcUrl })
  const counted = createEvmChain({ row, rpcUrl: counting.rpcUrl, memory })
  await counted.facts([token, token])
  expect(counting.calls.length).toBe(2)
  counting.calls.length = 0
  expect((await counted.facts([token])).get(token)?.symbol).toBe('TST')
  expect(counting.calls).toEqual([])
  await counted.facts([token, rich])
  expect(counting.calls).toEqual([['eth_chainId', 'eth_getCode']])
  expect([...memory.kept.keys()]).toEqual([token])
  counting.stop()
})

test('an address without code is not remembered, as it may have code later', async () => {
  const later = '0x00000000000000000000000000000000000000C1'
  const memory = createMemory()
  const counted = createEvmChain({ row, rpcUrl: node.rpcUrl, memory })
  expect((await counted.facts([getAddress(later)])).get(getAddress(later))?.isContract).toBe(false)
  await node.testClient.setCode({ address: later, bytecode: '0x00' })
  expect((await counted.facts([getAddress(later)])).get(getAddress(later))?.isContract).toBe(true)
})

test('remembers nothing of a contract that a node refused to read', async () => {
  const token = getAddress((await node.deploy('TestToken', ['Test', 'TST', 6])).address)
  const memory = createMemory()
  let refusals = 1
  const busy = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) =>
      method === 'eth_call' && refusals-- > 0 ? { error: { code: -32005, message: 'rate limit exceeded' } } : undefined,
  })
  const chainOfBusy = createEvmChain({ row, rpcUrl: busy.rpcUrl, memory })
  await expect(chainOfBusy.facts([token])).rejects.toMatchObject({ code: 'node_unavailable' })
  expect(memory.kept.size).toBe(0)
  expect((await chainOfBusy.facts([token])).get(token)?.standard).toBe('erc20')
  busy.stop()
})

test('a doubtful contract is read again, and stays as it was if the node does not answer', async () => {
  const token = getAddress((await node.deploy('TestToken', ['Test', 'TST', 6])).address)
  const before = { isContract: true, standard: 'erc20', name: '', symbol: '', decimals: 0 } as const
  const kept = createMemory()
  const doubtful = new Map([[token, { ...before, isDoubtful: true, isOwn: true }]])
  const memory = { ...kept, readFacts: async () => doubtful }
  const silent = createEvmChain({ row, rpcUrl: 'http://127.0.0.1:1', memory })
  expect(await silent.facts([token])).toEqual(new Map([[token, before]]))
  await expect(silent.facts([token, rich])).rejects.toMatchObject({ code: 'node_unavailable' })
  expect(kept.kept.size).toBe(0)
  const after = { ...before, name: 'Test', symbol: 'TST', decimals: 6 }
  expect(await createEvmChain({ row, rpcUrl: node.rpcUrl, memory }).facts([token])).toEqual(new Map([[token, after]]))
  expect(kept.kept.get(token)).toEqual(after)
})

test('facts that another process stored are shown, but read again before they decide what is signed', async () => {
  const token = getAddress((await node.deploy('TestToken', ['Test', 'TST', 6])).address)
  const said = { isContract: true, standard: 'erc721', name: 'Not it', symbol: 'NOT', decimals: 0 } as const
  const kept = createMemory()
  const memory = {
    ...kept,
    readFacts: async () => new Map([[token, { ...said, isDoubtful: false, isOwn: false }]]),
  }
  const silent = createEvmChain({ row, rpcUrl: 'http://127.0.0.1:1', memory })
  expect(await silent.facts([token])).toEqual(new Map([[token, said]]))
  await expect(silent.sureFacts([token])).rejects.toMatchObject({ code: 'node_unavailable' })
  const read = { isContract: true, standard: 'erc20', name: 'Test', symbol: 'TST', decimals: 6 } as const
  const asking = createEvmChain({ row, rpcUrl: node.rpcUrl, memory })
  expect(await asking.sureFacts([token])).toEqual(new Map([[token, read]]))
  expect(kept.kept.get(token)).toEqual(read)
})

test('many addresses are read in bounded batches', async () => {
  const addresses = Array.from({ length: 250 }, (_, index) =>
    getAddress(`0x${(index + 1_000).toString(16).padStart(40, '0')}`),
  )
  const facts = await chain.facts(addresses)
  expect(facts.size).toBe(250)
})

test('an empty answer gives no text', () => {
  const cases: (Hex | null)[] = [
    null,
    '0x',
    '0x01',
    `0x${'ff'.repeat(64)}`,
    `0x${'00'.repeat(32)}`,
    `0x${'20'.padStart(64, '0')}${'ff'.repeat(32)}`,
  ]
  for (const data of cases) expect(textIn(data, 64)).toBe('')
})

test('a minimal proxy (EIP-1167) has the facts that its implementation gives it', async () => {
  const { address } = await node.deploy('TestToken', ['Behind', 'BHD', 6])
  // The bytecode of the EIP. The decimals are an immutable of the implementation. The names are read from the proxy's
  // own storage, which is empty.
  const code = `363d3d373d3d3d363d73${address.slice(2).toLowerCase()}5af43d82803e903d91602b57fd5bf3`
  const proxy = getAddress('0x00000000000000000000000000000000000011a7')
  await node.rpc('anvil_setCode', [proxy, `0x${code}`])
  expect(await factsOf(proxy)).toEqual({ isContract: true, standard: 'erc20', name: '', symbol: '', decimals: 6 })
})
