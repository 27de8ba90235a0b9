import { expect, test } from 'bun:test'
import { encodeFunctionData, getAddress, type Hex, parseAbi } from 'viem'
import { type BlockMovements, type Chain, RangeTooWide } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { type EvmNetworkRow, evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { isLong } from '../../support/long.ts'
import { shared } from '../../support/shared.ts'
import { type Behaviour, startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd, oddContract } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address
const third = getAddress('0x00000000000000000000000000000000000abcde')
const zero = '0x0000000000000000000000000000000000000000'
const erc20 = parseAbi(['function transfer(address to, uint256 value)', 'function mint(address to, uint256 value)'])
const missing: Behaviour = ({ method }) =>
  method.startsWith('trace_') || method.startsWith('debug_')
    ? { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
    : undefined

const chainAt = (rpcUrl: string, coinContract: EvmNetworkRow['coinContract'] = null): Chain =>
  createEvmChain({ row: { ...row, coinContract }, rpcUrl, memory: createMemory() })
const withNode = async <T>(
  behaviour: Behaviour,
  use: (chain: Chain, calls: string[][]) => Promise<T>,
  coinContract: EvmNetworkRow['coinContract'] = null,
): Promise<T> => {
  const proxy = startFakeNode({ behind: node.rpcUrl, behaviour })
  try {
    return await use(chainAt(proxy.rpcUrl, coinContract), proxy.calls)
  } finally {
    proxy.stop()
  }
}

const node = await shared(startChain('Ethereum'))
const chain = chainAt(node.rpcUrl)
const token = await node.deploy('TestToken', ['Test', 'TST', 6])
const nft = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
const multi = await node.deploy('MultiToken', ['', rich])
const inner = await deployOdd(node, 'Inner')
const failing = await deployOdd(node, 'Failing')
await node.send({
  to: token.address,
  data: encodeFunctionData({ abi: erc20, functionName: 'mint', args: [rich, 10n ** 9n] }),
})

type Send = { to?: Hex; data?: Hex; value?: bigint }
/** Mines all of them in one block, in this order, with a gas limit that lets them fail on the chain. */
const block = async (transactions: readonly Send[]): Promise<bigint> => {
  await node.setAutomine(false)
  let nonce = await node.publicClient.getTransactionCount({ address: rich })
  for (const transaction of transactions) {
    await node.walletClient.sendTransaction({ ...transaction, gas: 400_000n, nonce: nonce++ })
  }
  await node.mine()
  await node.setAutomine(true)
  return node.publicClient.getBlockNumber({ cacheTime: 0 })
}
const call = (
  contract: { address: Hex; abi: readonly unknown[] },
  functionName: string,
  args: readonly unknown[] = [],
  value = 0n,
): Send => ({
  to: contract.address,
  data: encodeFunctionData({ abi: contract.abi, functionName, args }),
  value,
})
const one = async (number: bigint, from: Chain = chain): Promise<BlockMovements> => {
  const [only] = (await from.movements({ fromBlock: number, toBlock: number })) ?? []
  if (only === undefined) throw new Error('expected a block')
  return only
}
const brief = ({ movements }: BlockMovements) =>
  movements.map(({ standard, from, to, tokenId, amount }) => [standard, from, to, tokenId ?? '-', amount])

test('reports blocks with their hashes, and movements of all kinds in order', async () => {
  const number = await block([
    { to: other, value: 5n },
    call(token, 'transfer', [other, 7n]),
    call(nft, 'safeMint', [rich, 'ipfs://a']),
    call(multi, 'mint', [rich, 1n, 9n, '0x']),
    call(multi, 'mintBatch', [rich, [2n, 3n], [4n, 5n], '0x']),
    call(nft, 'transferFrom', [rich, other, 0n]),
  ])
  const [before, told] = (await chain.movements({ fromBlock: number - 1n, toBlock: number })) ?? []
  const header = await node.publicClient.getBlock({ blockNumber: number })
  expect(told).toMatchObject({
    number,
    hash: header.hash,
    parentHash: before?.hash ?? '0x',
    timestampMs: Number(header.timestamp) * 1_000,
  })
  if (told === undefined) throw new Error('expected a block')
  expect(brief(told)).toEqual([
    ['native', rich, other, '-', 5n],
    ['erc20', rich, other, '-', 7n],
    ['erc721', zero, rich, 0n, 1n],
    ['erc1155', zero, rich, 1n, 9n],
    ['erc1155', zero, rich, 2n, 4n],
    ['erc1155', zero, rich, 3n, 5n],
    ['erc721', rich, other, 0n, 1n],
  ])
  expect(told.movements.map(({ logIndex, itemIndex }) => [logIndex, itemIndex])).toEqual([
    [-1, 0],
    [0, 0],
    [1, 0],
    [3, 0],
    [4, 0],
    [4, 1],
    [5, 0],
  ])
  expect(told.movements.map(({ transactionHash }) => transactionHash)).toEqual(
    [0, 1, 2, 3, 4, 4, 5].map((index) => header.transactions[index] ?? '0x'),
  )
  expect(told.movements[1]?.contract).toBe(getAddress(token.address))
})

test('a block without transactions has no movements', async () => {
  await node.mine()
  const number = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  expect((await one(number)).movements).toEqual([])
})

test('a failed transaction moves nothing, even if it has a value', async () => {
  const number = await block([
    call(failing, 'text', [], 5n),
    { to: other, value: 0n },
    { data: oddContract('RefusingCreation').bytecode },
    call(failing, 'keep', [1n], 3n),
  ])
  expect(brief(await one(number))).toEqual([['native', rich, getAddress(failing.address), '-', 3n]])
})

test('traces show internal movements and creations with a value, and leave out reverted calls', async () => {
  const number = await block([
    call(inner, 'make', [], 6n),
    call(inner, 'tryPaying', [third], 8n),
    { data: oddContract('Failing').bytecode.replace(/^0x/, '0x') as Hex },
  ])
  const told = await one(number)
  const target = getAddress(inner.address)
  const natives = told.movements.filter(({ standard }) => standard === 'native')
  expect(natives.map(({ from, to, amount, logIndex }) => [from, to, amount, logIndex])).toEqual([
    [rich, target, 6n, -1],
    [target, expect.stringMatching(/^0x/), 6n, -2],
    [rich, target, 8n, -1],
    [target, third, 1n, -2],
  ])
})

test('every tracing method gives the same movements; a node without traces gives the transactions’ own values', async () => {
  const number = await block([
    { to: other, value: 5n },
    call(inner, 'make', [], 6n),
    call(inner, 'tryPaying', [third], 8n),
    { data: (oddContract('Created').bytecode + '1f'.padStart(64, '0')) as Hex, value: 2n },
    call(failing, 'text', [], 5n),
    call(token, 'transfer', [other, 7n]),
  ])
  const flat = await one(number)
  const tree = await withNode(
    ({ method }) => (method === 'trace_block' ? { error: { code: -32601, message: 'Method not found' } } : undefined),
    (debugging) => one(number, debugging),
  )
  expect(tree).toEqual(flat)
  const own = await withNode(missing, (plain) => one(number, plain))
  expect(own.movements).toEqual(flat.movements.filter(({ logIndex }) => logIndex >= -1))
  const oneByOne: Behaviour = (request) =>
    request.method === 'eth_getBlockReceipts'
      ? { error: { code: -32601, message: 'Method not found' } }
      : missing(request)
  expect(await withNode(oneByOne, (plain) => one(number, plain))).toEqual(own)
  const keys = flat.movements.map(
    ({ transactionHash, logIndex, itemIndex }) => `${transactionHash} ${logIndex} ${itemIndex}`,
  )
  expect(new Set(keys).size).toBe(keys.length)
})

test('a movement says who sent its transaction, and a range of blocks costs no further question', async () => {
  const account = fundedAccount(2)
  const { request } = await node.publicClient.simulateContract({
    ...{ account, address: token.address, abi: token.abi, functionName: 'transferFrom', args: [rich, third, 0n] },
  })
  const { blockNumber: number } = await node.receiptOf(await node.walletClient.writeContract(request))
  const told = [[rich, third, account.address]]
  const ends = ({ movements }: BlockMovements) => movements.map(({ from, to, initiatedBy }) => [from, to, initiatedBy])
  for (const behaviour of [() => undefined, missing]) {
    await withNode(behaviour, async (plain, calls) => {
      expect(ends(await one(number, plain))).toEqual(told)
      expect(calls.flat().filter((method) => /Transaction|Receipt/.test(method))).toEqual([])
    })
  }

  const asked = 'eth_getTransactionByBlockHashAndIndex'
  const range = { fromBlock: number - 5n, toBlock: number, address: third }
  await withNode(
    () => undefined,
    async (plain, calls) => {
      expect((await plain.eventMovements(range))?.map(ends)).toEqual([told])
      expect(calls.flat().filter((method) => method === asked)).toHaveLength(1)
      expect(await plain.eventMovements({ ...range, toBlock: number - 1n })).toEqual([])
      expect(calls.flat().filter((method) => method === asked)).toHaveLength(1)
    },
  )
  const without: Behaviour = ({ method }) =>
    method === asked ? { error: { code: -32601, message: 'Method not found' } } : undefined
  const unknown = await withNode(without, (plain) => plain.eventMovements(range))
  expect(unknown?.map(ends)).toEqual([[[rich, third, null]]])
  const nothing: Behaviour = ({ method }) => (method === asked ? { result: null } : undefined)
  expect(await withNode(nothing, (plain) => plain.eventMovements(range))).toEqual(unknown)
  // bor adds transactions from the zero address to some blocks.
  const byNobody: Behaviour = async ({ method, params }) =>
    method === asked ? { result: { ...((await node.rpc(method, params)) as object), from: zero } } : undefined
  expect(await withNode(byNobody, (plain) => plain.eventMovements(range))).toEqual(unknown)
})

test('the tracing method of a node is found out once', async () => {
  const number = await block([{ to: other, value: 5n }])
  await withNode(missing, async (plain, calls) => {
    await one(number, plain)
    const asked = calls.flat().filter((method) => method.startsWith('trace_') || method.startsWith('debug_'))
    await one(number, plain)
    await one(number, plain)
    expect(asked).toEqual(['trace_block', 'debug_traceBlockByNumber'])
    expect(calls.flat().filter((method) => method.startsWith('debug_')).length).toBe(1)
  })
})

test('a block whose state was pruned is reported without internal movements', async () => {
  const number = await block([call(inner, 'make', [], 6n)])
  const pruned: Behaviour = ({ method }) =>
    method === 'trace_block' ? { error: { code: -32000, message: 'required historical state unavailable' } } : undefined
  expect((await withNode(pruned, (plain) => one(number, plain))).movements.map(({ logIndex }) => logIndex)).toContain(
    -1,
  )
  const partly: Behaviour = ({ method }) => (method === 'trace_block' ? { result: [] } : undefined)
  expect(brief(await withNode(partly, (plain) => one(number, plain)))).toContainEqual([
    'native',
    rich,
    getAddress(inner.address),
    '-',
    6n,
  ])
})

test('a busy node is not mistaken for one that cannot trace', async () => {
  const number = await block([call(inner, 'make', [], 6n)])
  let refusals = 1
  const busy: Behaviour = ({ method }) =>
    method === 'trace_block' && refusals-- > 0 ? { error: { code: -32005, message: 'rate limit exceeded' } } : undefined
  await withNode(busy, async (busyChain) => {
    await expect(one(number, busyChain)).rejects.toMatchObject({ code: 'node_unavailable' })
    expect((await one(number, busyChain)).movements.length).toBe((await one(number)).movements.length)
  })
})

test("the coin that moves through the network's own contract of it is counted once, as the coin", async () => {
  const coin = await node.deploy('CoinContract')
  const { address } = coin
  // Coins without an event, in and out: as Polygon's bridge and withdrawals move them.
  const number = await block([call(coin, 'transfer', [third, 3n], 3n), call(coin, 'withdraw', [4n], 4n)])
  const range = { fromBlock: number, toBlock: number }
  const passed = [
    ['native', rich, address, '-', 3n],
    ['native', address, third, '-', 3n],
  ]
  const withdrawn = ['native', rich, address, '-', 4n]
  const transferred = ['native', rich, third, '-', 3n]
  const inCalls = chainAt(node.rpcUrl, { address, movesIn: 'calls' })
  expect(brief(await one(number, inCalls))).toEqual([...passed, withdrawn])
  // Without traces only its event says that the coin went on.
  await withNode(
    missing,
    async (untraced) => expect(brief(await one(number, untraced))).toEqual([transferred, withdrawn]),
    { address, movesIn: 'calls' },
  )
  const inEvents = chainAt(node.rpcUrl, { address, movesIn: 'events' })
  expect(brief(await one(number, inEvents))).toEqual([['native', address, third, '-', 3n], transferred, withdrawn])
  const found = await inEvents.eventMovements({ ...range, address: third })
  expect(found?.map(brief)).toEqual([[transferred]])
  expect(found?.[0]?.movements[0]).toMatchObject({ contract: null, logIndex: 0 })
  // contracts/child/MRC20.sol of maticnetwork/contracts, in the genesis block.
  const polygon = evmNetworkRow({ network: 'Polygon', environment: 'mainnet', devnet: false })
  expect(polygon.coinContract).toEqual({ address: `0x${'1010'.padStart(40, '0')}`, movesIn: 'calls' })
  const { coin: coins, tokens } = await inCalls.balances({ address: third, contracts: [address, token.address] })
  expect([coins, [...tokens.keys()]]).toEqual([await node.publicClient.getBalance({ address: third }), []])
})

test('transfers from a wallet to itself are reported', async () => {
  const number = await block([
    { to: rich, value: 4n },
    call(token, 'transfer', [rich, 3n]),
    call(token, 'transfer', [rich, 0n]),
  ])
  expect(brief(await one(number))).toEqual([
    ['native', rich, rich, '-', 4n],
    ['erc20', rich, rich, '-', 3n],
    ['erc20', rich, rich, '-', 0n],
  ])
})

test('tokens with unusual events do no harm', async () => {
  const kitty = await deployOdd(node, 'Kitty')
  const three = await deployOdd(node, 'ThreeTopics')
  const emitter = await deployOdd(node, 'Emitter')
  const topic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
  const batch = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
  const number = await block([
    call(kitty, 'mint', [5n]),
    call(kitty, 'transfer', [other, 5n]),
    call(three, 'transfer', [other, 6n]),
    call(emitter, 'emitEvent', [[topic], '0x']),
    call(emitter, 'emitEvent', [[batch, topic, topic, topic], `0x${'ff'.repeat(64)}`]),
    call(emitter, 'emitEvent', [[topic, topic, topic, topic], '0x']),
  ])
  expect(brief(await one(number))).toEqual([
    ['erc20', zero, rich, '-', 5n],
    ['erc20', rich, other, '-', 5n],
    ['erc20', rich, other, '-', 6n],
  ])
})

test('a thousand transfers in one transaction are each reported', async () => {
  const emitter = await deployOdd(node, 'Emitter')
  const hash = await node.walletClient.sendTransaction({ ...call(emitter, 'emitMany', [1_000n]), gas: 5_000_000n })
  const { blockNumber } = await node.receiptOf(hash)
  const { movements } = await one(blockNumber)
  expect(movements.length).toBe(1_000)
  expect(movements.every(({ logIndex, amount }) => amount === BigInt(logIndex) + 1n)).toBe(true)
})

test('blocks that the node does not have yet must be read again', async () => {
  const newest = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  expect(await chain.movements({ fromBlock: newest, toBlock: newest + 1n })).toBeNull()
  expect(await chain.movements({ fromBlock: newest + 5n, toBlock: newest + 6n })).toBeNull()
})

test('answers from two different branches must be read again', async () => {
  const number = await block([{ to: other, value: 5n }, call(token, 'transfer', [other, 7n])])
  const otherHash = `0x${'77'.repeat(32)}`
  const forward = async (method: string, params: unknown[]): Promise<unknown> => node.rpc(method, params)
  const changes: Behaviour[] = [
    // A log of a block with another hash.
    async ({ method, params }) => {
      if (method !== 'eth_getLogs') return undefined
      const logs = (await forward(method, params)) as object[]
      return { result: logs.map((log) => ({ ...log, blockHash: otherHash })) }
    },
    // A trace of a block with another hash, and the full block as well.
    async ({ method, params }) => {
      if (method === 'trace_block') return { result: [] }
      if (method !== 'eth_getBlockByNumber' || params[1] !== true) return undefined
      return { result: { ...((await forward(method, params)) as object), hash: otherHash } }
    },
    // Receipts of another block.
    async ({ method, params }) => {
      if (method === 'trace_block') return { result: [] }
      if (method !== 'eth_getBlockReceipts') return undefined
      const receipts = (await forward(method, params)) as object[]
      return { result: receipts.map((receipt) => ({ ...receipt, blockHash: otherHash })) }
    },
    // A block whose parent is not the block before it.
    async ({ method, params }) => {
      if (method !== 'eth_getBlockByNumber' || params[0] !== `0x${number.toString(16)}`) return undefined
      return { result: { ...((await forward(method, params)) as object), parentHash: otherHash } }
    },
  ]
  for (const change of changes) {
    expect(await withNode(change, (torn) => torn.movements({ fromBlock: number - 1n, toBlock: number }))).toBeNull()
  }
})

test('no event is lost if a node lags behind the one that reported the block', async () => {
  const number = await block([call(token, 'transfer', [other, 7n])])
  const lagging: Behaviour = ({ method, params: [filter] }) =>
    method === 'eth_getLogs' && !('blockHash' in (filter as object)) ? { result: [] } : undefined
  expect(brief(await withNode(lagging, (behind) => one(number, behind)))).toEqual([['erc20', rich, other, '-', 7n]])
  const unaware: Behaviour = ({ method, params: [filter] }) => {
    if (method !== 'eth_getLogs') return undefined
    return 'blockHash' in (filter as object) ? { error: { code: -32000, message: 'unknown block' } } : { result: [] }
  }
  expect(await withNode(unaware, (behind) => behind.movements({ fromBlock: number, toBlock: number }))).toBeNull()
})

test('a reorganised block is reported with its new hash', async () => {
  const number = await block([call(token, 'transfer', [other, 7n])])
  const before = await one(number)
  await node.reorg({ depth: 1 })
  const after = await one(number)
  expect(after.hash).not.toBe(before.hash)
  expect(after.parentHash).toBe(before.parentHash)
  expect(after.movements).toEqual([])
})

test('a range that the node refuses as too wide must be requested in parts', async () => {
  const number = await block([call(token, 'transfer', [other, 7n])])
  const limited: Behaviour = ({ method, params: [filter] }) => {
    const { fromBlock, toBlock } = filter as { fromBlock?: string; toBlock?: string }
    if (method !== 'eth_getLogs' || fromBlock === toBlock) return undefined
    return { error: { code: -32005, message: 'query returned more than 10000 results' } }
  }
  await withNode(limited, async (small) => {
    const wide = small.movements({ fromBlock: number - 1n, toBlock: number })
    await expect(wide).rejects.toBeInstanceOf(RangeTooWide)
    expect(brief(await one(number, small))).toEqual([['erc20', rich, other, '-', 7n]])
  })
})

test('a single block that is too large for eth_getLogs is read from its receipts', async () => {
  const number = await block([call(token, 'transfer', [other, 7n]), { to: other, value: 5n }])
  const limited: Behaviour = ({ method }) =>
    method === 'eth_getLogs'
      ? { error: { code: -32005, message: 'query returned more than 10000 results' } }
      : undefined
  expect(await withNode(limited, (small) => one(number, small))).toEqual(await one(number))
})

test('an unreachable node is reported as unavailable', async () => {
  const proxy = startFakeNode({ behaviour: () => ({ error: { code: -32005, message: 'rate limit exceeded' } }) })
  await expect(chainAt(proxy.rpcUrl).movements({ fromBlock: 0n, toBlock: 1n })).rejects.toMatchObject({
    code: 'node_unavailable',
  })
  proxy.stop()
})

test('refuses a range that ends before it begins', async () => {
  await expect(chain.movements({ fromBlock: 5n, toBlock: 4n })).rejects.toThrow('range')
})

test('agrees with an independent calculation from every receipt and balance', async () => {
  const people = Array.from({ length: 4 }, (_, index) => fundedAccount(index + 1).address)
  const before = await Promise.all(people.map((address) => node.publicClient.getBalance({ address })))
  const tokensBefore = await balances(people)
  const from = (await node.publicClient.getBlockNumber({ cacheTime: 0 })) + 1n
  let seed = 42
  const random = (limit: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % limit
  }
  for (let round = 0; round < (isLong ? 12 : 4); round += 1) {
    await block(
      Array.from({ length: 8 }, () => {
        const person = people[random(4)] ?? other
        const amount = BigInt(random(1_000))
        const kinds: Send[] = [
          { to: person, value: amount },
          call(token, 'transfer', [person, amount]),
          call(failing, 'half', [person], amount),
          call(inner, 'tryPaying', [person], amount + 1n),
          call(failing, 'text', [], amount),
          call(token, 'transfer', [person, 10n ** 30n]),
        ]
        return kinds[random(kinds.length)] ?? {}
      }),
    )
  }
  const to = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  const movements = ((await chain.movements({ fromBlock: from, toBlock: to })) ?? []).flatMap((each) => each.movements)
  const after = await Promise.all(people.map((address) => node.publicClient.getBalance({ address })))
  const tokensAfter = await balances(people)
  for (const [index, person] of people.entries()) {
    const received = (standard: string): bigint =>
      movements
        .filter((each) => each.standard === standard)
        .reduce(
          (sum, each) => sum + (each.to === person ? each.amount : 0n) - (each.from === person ? each.amount : 0n),
          0n,
        )
    expect(received('native')).toBe((after[index] ?? 0n) - (before[index] ?? 0n))
    expect(received('erc20')).toBe((tokensAfter[index] ?? 0n) - (tokensBefore[index] ?? 0n))
  }
  const logs = await node.publicClient.getLogs({ fromBlock: from, toBlock: to })
  expect(movements.filter(({ logIndex }) => logIndex >= 0).length).toBe(logs.length)
})

const balances = (people: readonly Hex[]): Promise<bigint[]> =>
  Promise.all(
    people.map((person) =>
      node.publicClient.readContract({
        address: token.address,
        abi: parseAbi(['function balanceOf(address) view returns (uint256)']),
        functionName: 'balanceOf',
        args: [person],
      }),
    ),
  )
