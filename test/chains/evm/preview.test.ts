import { expect, test } from 'bun:test'
import {
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  keccak256,
  pad,
  parseAbi,
  parseEther,
  toHex,
} from 'viem'
import type { Hex, Intent } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { shared } from '../../support/shared.ts'
import { startFakeNode, withoutIdentity } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd, oddContract } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address
const poor = getAddress('0x00000000000000000000000000000000000abcde')
const zero = '0x0000000000000000000000000000000000000000'

const erc20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function mint(address to, uint256 value)',
])

const to = (address: string, input: Hex = '0x', value = 0n): Intent => ({ to: address, value, input })
const fail = (functionName: string, args: readonly unknown[] = [], value = 0n): Intent =>
  to(failing.address, encodeFunctionData({ abi: failing.abi, functionName, args }), value)

const node = await shared(startChain('Ethereum'))
const chain = createEvmChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })
const token = await node.deploy('TestToken', ['Test', 'TST', 6])
const nft = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
const failing = await deployOdd(node, 'Failing')
await node.send({
  to: token.address,
  data: encodeFunctionData({ abi: erc20, functionName: 'mint', args: [rich, 1000n] }),
})

test('shows a transfer of the native coin', async () => {
  const [preview] = await chain.preview(rich, [to(other, '0x', parseEther('1.5'))])
  expect(preview).toEqual({
    decoded: null,
    success: true,
    error: null,
    changes: [{ standard: 'native', contract: null, tokenId: null, from: rich, to: other, amount: parseEther('1.5') }],
  })
})

test('shows a token transfer with its decoded call', async () => {
  const input = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [other, 25n] })
  const [preview] = await chain.preview(rich, [to(token.address, input)])
  expect(preview).toEqual({
    decoded: { functionName: 'transfer', arguments: { to: other, value: '25' } },
    success: true,
    error: null,
    changes: [
      { standard: 'erc20', contract: getAddress(token.address), tokenId: null, from: rich, to: other, amount: 25n },
    ],
  })
})

test('an element sees the effects of earlier ones, and one that fails fails alone', async () => {
  const approve = encodeFunctionData({ abi: erc20, functionName: 'approve', args: [rich, 30n] })
  const move = encodeFunctionData({ abi: erc20, functionName: 'transferFrom', args: [rich, other, 30n] })
  const previews = await chain.preview(rich, [
    to(token.address, approve),
    to(token.address, move),
    to(token.address, move),
    fail('keep', [5n]),
    fail('text'),
    fail('need', [5n]),
  ])
  expect(previews.map(({ error }) => error)).toEqual([
    null,
    null,
    `execution reverted: ERC20InsufficientAllowance(spender: ${rich}, allowance: 0, needed: 30)`,
    null,
    'execution reverted: no way',
    null,
  ])
  expect(previews.map(({ changes }) => changes?.length)).toEqual([0, 1, 0, 0, 0, 0])
})

test('reports the reason of a failure', async () => {
  const cases: [Intent, string][] = [
    [fail('text'), 'execution reverted: no way'],
    [fail('silent'), 'execution reverted: no reason given'],
    [fail('custom'), 'execution reverted: custom error 0x'],
    [fail('divide', [0n]), 'execution reverted: panic: division or modulo by zero (0x12)'],
    [fail('lines'), 'execution reverted: line one line two'],
    [to(failing.address, '0x12345678'), 'execution reverted: no reason given'],
    [fail('burnAll'), 'execution failed: '],
    [{ ...fail('keep', [1n]), gasLimit: 25_000n }, 'execution failed: '],
  ]
  const previews = await chain.preview(
    poor,
    cases.map(([intent]) => intent),
  )
  for (const [index, [, error]] of cases.entries()) expect(previews[index]?.error).toStartWith(error)
  expect(previews.every(({ success, changes }) => !success && changes?.length === 0)).toBe(true)
})

test('a preview works for a sender that cannot pay the gas', async () => {
  const [preview] = await chain.preview(poor, [fail('keep', [1n])])
  expect(preview).toMatchObject({ success: true, error: null, changes: [] })
})

test('only elements whose value the sender cannot pay at that point fail for that reason', async () => {
  await node.fund(poor, 100n)
  const previews = await chain.preview(poor, [
    to(other, '0x', 101n),
    to(other, '0x', 60n),
    fail('text', []),
    to(other, '0x', 60n),
    to(other, '0x', 40n),
    fail('keep', [9n], 1n),
    fail('need', [0n]),
  ])
  await node.fund(poor, 0n)
  const noFunds = 'insufficient funds for transfer'
  expect(previews.map(({ error }) => error)).toEqual([
    noFunds,
    null,
    'execution reverted: no way',
    noFunds,
    null,
    noFunds,
    null,
  ])
  expect(previews.map(({ changes }) => changes?.map(({ amount }) => amount))).toEqual([
    [],
    [60n],
    [],
    [],
    [40n],
    [],
    [],
  ])
})

test('contracts that check a balance see the real one', async () => {
  await node.fund(poor, 50n)
  const previews = await chain.preview(poor, [
    to(other, '0x', 60n),
    fail('needBalance', [51n]),
    fail('needBalance', [50n]),
  ])
  await node.fund(poor, 0n)
  expect(previews.map(({ error }) => error)).toEqual([
    'insufficient funds for transfer',
    'execution reverted: poor',
    null,
  ])
})

test('a bundle of unaffordable elements takes a few requests, not one for each element', async () => {
  const counting = startFakeNode({ behind: node.rpcUrl })
  const counted = createEvmChain({ row, rpcUrl: counting.rpcUrl, memory: createMemory() })
  await node.fund(poor, 100n)
  const bundle = Array.from({ length: 50 }, () => to(other, '0x', 30n))
  const previews = await counted.preview(poor, bundle)
  await node.fund(poor, 0n)
  counting.stop()
  expect(previews.map(({ success }) => success)).toEqual(bundle.map((_, index) => index < 3))
  // The refused run; the balance and the run with a large balance; the run of the affordable elements.
  expect(counting.calls.length).toBe(4)
})

test('coins from an earlier element can be spent by a later one', async () => {
  await node.fund(poor, 10n)
  const half = fail('half', [poor], 10n)
  const previews = await chain.preview(poor, [half, to(other, '0x', 5n), to(other, '0x', 1n)])
  await node.fund(poor, 0n)
  expect(previews.map(({ error }) => error)).toEqual([null, null, 'insufficient funds for transfer'])
})

test('an element that no node would execute fails alone', async () => {
  const previews = await chain.preview(rich, [
    { ...to(other), gasLimit: 20_999n },
    to(other, '0x', 1n),
    { to: null, value: 0n, input: `0x${'00'.repeat(49_153)}` },
    to(other, '0x', 2n),
  ])
  expect(previews.map(({ error }) => error)).toEqual([
    'execution failed: intrinsic gas too low (21000 needed)',
    null,
    'execution failed: max initcode size exceeded (49152 bytes)',
    null,
  ])
})

test('an element that the node refuses for a reason of its own is found and fails alone', async () => {
  // The floor of EIP-7623: above the intrinsic gas of every network, below what this node requires.
  const heavy = { ...to(other, `0x${'ff'.repeat(1_000)}`), gasLimit: 21_000n + 16_000n }
  const previews = await chain.preview(rich, [
    to(other, '0x', 1n),
    to(other, '0x', 2n),
    heavy,
    to(other, '0x', 3n),
    heavy,
  ])
  expect(previews.map(({ success }) => success)).toEqual([true, true, false, true, false])
  expect(previews[2]?.error).toStartWith('execution failed: ')
  expect(previews[3]?.changes?.[0]?.amount).toBe(3n)
})

test('ERC-721 mints, transfers and burns are reported with the token id', async () => {
  const mint = encodeFunctionData({ abi: nft.abi, functionName: 'safeMint', args: [rich, 'ipfs://a'] })
  const move = encodeFunctionData({ abi: nft.abi, functionName: 'transferFrom', args: [rich, other, 0n] })
  const [minted, moved] = await chain.preview(rich, [to(nft.address, mint), to(nft.address, move)])
  const change = { standard: 'erc721', contract: getAddress(nft.address), tokenId: 0n, amount: 1n } as const
  expect(minted?.decoded).toEqual({ functionName: 'safeMint', arguments: { to: rich, uri: 'ipfs://a' } })
  expect(minted?.changes).toEqual([{ ...change, from: zero, to: rich }])
  expect(moved?.changes).toEqual([{ ...change, from: rich, to: other }])
  // The same call to a token names an amount.
  expect(moved?.decoded).toEqual({ functionName: 'transferFrom', arguments: { from: rich, to: other, tokenId: '0' } })
})

test('ERC-1155 single transfers and batches are reported in order', async () => {
  const multi = await node.deploy('MultiToken', ['https://example.org/{id}.json', rich])
  const call = (functionName: string, args: readonly unknown[]): Intent =>
    to(multi.address, encodeFunctionData({ abi: multi.abi, functionName, args }))
  const previews = await chain.preview(rich, [
    call('mint', [rich, 7n, 5n, '0x']),
    call('mintBatch', [rich, [8n, 9n], [1n, 2n], '0x']),
    call('safeBatchTransferFrom', [rich, other, [9n, 7n], [2n, 5n], '0x']),
  ])
  const change = { standard: 'erc1155', contract: getAddress(multi.address) } as const
  expect(previews.map(({ changes }) => changes)).toEqual([
    [{ ...change, tokenId: 7n, from: zero, to: rich, amount: 5n }],
    [
      { ...change, tokenId: 8n, from: zero, to: rich, amount: 1n },
      { ...change, tokenId: 9n, from: zero, to: rich, amount: 2n },
    ],
    [
      { ...change, tokenId: 9n, from: rich, to: other, amount: 2n },
      { ...change, tokenId: 7n, from: rich, to: other, amount: 5n },
    ],
  ])
  expect(previews[2]?.decoded?.arguments).toEqual({
    from: rich,
    to: other,
    ids: ['9', '7'],
    values: ['2', '5'],
    data: '0x',
  })
})

test('internal movements of the coin are reported in order', async () => {
  const forwarder = await node.deploy('CoinForwarder')
  const split = encodeFunctionData({ abi: forwarder.abi, functionName: 'split', args: [[other, poor]] })
  const [preview] = await chain.preview(rich, [to(forwarder.address, split, 9n)])
  expect(preview?.changes?.map(({ from, to: target, amount }) => [from, target, amount])).toEqual([
    [rich, getAddress(forwarder.address), 9n],
    [getAddress(forwarder.address), other, 4n],
    [getAddress(forwarder.address), poor, 5n],
  ])
})

test('a failed call moves nothing', async () => {
  const [preview] = await chain.preview(rich, [fail('text', [], 5n)])
  expect(preview).toMatchObject({ success: false, changes: [] })
})

test('tokens that keep a fee show the amounts that moved, not the requested one', async () => {
  const feeToken = await deployOdd(node, 'FeeToken')
  const input = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [other, 100n] })
  const [preview] = await chain.preview(rich, [to(feeToken.address, input)])
  expect(preview?.changes?.map(({ to: target, amount }) => [target, amount])).toEqual([
    [other, 90n],
    [getAddress(feeToken.address), 10n],
  ])
})

test('NFTs that do not index their token id are reported as NFTs', async () => {
  for (const name of ['Kitty', 'ThreeTopics'] as const) {
    const odd = await deployOdd(node, name)
    const input = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [other, 42n] })
    const [preview] = await chain.preview(rich, [to(odd.address, input)])
    expect(preview?.changes).toEqual([
      { standard: 'erc721', contract: getAddress(odd.address), tokenId: 42n, from: rich, to: other, amount: 1n },
    ])
  }
})

test('events of ERC-777 are reported once, by their Transfer event; zero amounts are reported too', async () => {
  const emitter = await deployOdd(node, 'Emitter')
  const [from, target, operator] = [pad(rich), pad(other), pad(emitter.address)]
  const emit = (topics: readonly Hex[], data: Hex): Intent =>
    to(emitter.address, encodeFunctionData({ abi: emitter.abi, functionName: 'emitEvent', args: [topics, data] }))
  const topicOf = (signature: string) => keccak256(toHex(signature))
  const sent = encodeAbiParameters([{ type: 'uint256' }, { type: 'bytes' }, { type: 'bytes' }], [5n, '0x', '0x'])
  const batch = encodeAbiParameters(
    [{ type: 'uint256[]' }, { type: 'uint256[]' }],
    [
      [7n, 8n, 7n],
      [0n, 2n, 0n],
    ],
  )
  const previews = await chain.preview(rich, [
    emit([topicOf('Sent(address,address,address,uint256,bytes,bytes)'), operator, from, target], sent),
    emit([topicOf('Minted(address,address,uint256,bytes,bytes)'), operator, target], sent),
    emit([topicOf('Burned(address,address,uint256,bytes,bytes)'), operator, from], sent),
    emit([topicOf('Transfer(address,address,uint256)'), from, target], pad('0x05')),
    emit([topicOf('Transfer(address,address,uint256)'), from, target], pad('0x00')),
    emit([topicOf('TransferBatch(address,address,address,uint256[],uint256[])'), operator, from, target], batch),
  ])
  const told = previews.map(({ changes }) => changes?.map(({ tokenId, amount }) => [tokenId, amount]))
  expect(told).toEqual([
    ...[[], [], []],
    [[null, 5n]],
    [[null, 0n]],
    [
      [7n, 0n],
      [8n, 2n],
      [7n, 0n],
    ],
  ])
})

test('malformed events and events that are no transfers do no harm', async () => {
  const emitter = await deployOdd(node, 'Emitter')
  const transfer = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
  const batch = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'
  const single = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
  const word = (value: string): Hex => `0x${value.padStart(64, '0')}`
  const emit = (topics: readonly Hex[], data: Hex): Intent =>
    to(emitter.address, encodeFunctionData({ abi: emitter.abi, functionName: 'emitEvent', args: [topics, data] }))
  const all = `0x${'f'.repeat(64)}` as const
  const previews = await chain.preview(rich, [
    emit([], '0x'),
    emit([transfer], '0x'),
    emit([transfer, word('1')], `0x${'00'.repeat(64)}`),
    emit([transfer, word('1'), word('2')], '0x'),
    emit([transfer, word('1'), word('2')], '0x01'),
    emit([transfer, all, all], word('5')),
    emit([transfer, word('1'), word('2'), word('3')], word('4')),
    emit([single, word('1'), word('2'), word('3')], word('4')),
    emit([batch, word('1'), word('2'), word('3')], all),
    emit([batch, word('1'), word('2'), word('3')], `${word('40')}${all.slice(2)}`),
    emit([batch, word('1'), word('2'), word('3')], `${word('40')}${word('40').slice(2)}${all.slice(2)}`),
    emit([batch, word('1')], '0x'),
  ])
  expect(previews.map(({ success, changes }) => [success, changes?.length])).toEqual(previews.map(() => [true, 0]))
})

test('a contract creation shows what its constructor does', async () => {
  const { abi, bytecode } = oddContract('Created')
  const input = encodeDeployData({ abi, bytecode, args: [31n] })
  const nonce = await node.publicClient.getTransactionCount({ address: rich })
  const [preview] = await chain.preview(rich, [{ to: null, value: 12n, input }])
  const receipt = await node.receiptOf(
    await node.walletClient.deployContract({ abi, bytecode, args: [31n], value: 12n }),
  )
  const created = getAddress(receipt.contractAddress ?? zero)
  expect(nonce).toBe((await node.publicClient.getTransactionCount({ address: rich })) - 1)
  expect(preview).toEqual({
    decoded: null,
    success: true,
    error: null,
    changes: [
      { standard: 'native', contract: null, tokenId: null, from: rich, to: created, amount: 12n },
      { standard: 'erc20', contract: created, tokenId: null, from: zero, to: rich, amount: 31n },
    ],
  })
})

test('a created contract can be called by later elements', async () => {
  const { abi, bytecode } = oddContract('Created')
  const nonce = await node.publicClient.getTransactionCount({ address: rich })
  const create = encodeDeployData({ abi, bytecode, args: [31n] })
  const { getContractAddress } = await import('viem')
  const created = getContractAddress({ from: rich, nonce: BigInt(nonce) + 1n })
  const bump = encodeFunctionData({ abi, functionName: 'bump' })
  const previews = await chain.preview(rich, [
    to(other, '0x', 1n),
    { to: null, value: 0n, input: create },
    to(created, bump),
    to(created, '0xdeadbeef'),
  ])
  expect(previews.map(({ error }) => error)).toEqual([null, null, null, 'execution reverted: no reason given'])
  expect(previews[2]?.changes?.[0]).toMatchObject({ contract: created, amount: 32n })
})

test('a creation that fails has its reason, and fails alone', async () => {
  const previews = await chain.preview(poor, [
    { to: null, value: 0n, input: oddContract('RefusingCreation').bytecode },
    { to: null, value: 0n, input: '0xfe' },
    // Returns 0xef: EIP-3541.
    { to: null, value: 0n, input: '0x60ef60005360016000f3' },
    { to: null, value: 5n, input: '0x' },
    { to: null, value: 0n, input: '0x', gasLimit: 60_000n },
    fail('keep', [1n]),
  ])
  expect(previews.map(({ error }) => error?.slice(0, 38) ?? null)).toEqual([
    'execution reverted: not created',
    'execution failed: out of gas or an inv',
    'execution failed: invalid code: must n',
    'insufficient funds for transfer',
    null,
    null,
  ])
})

test('a bundle of known contracts takes one round trip', async () => {
  const counting = startFakeNode({ behind: node.rpcUrl })
  const memory = createMemory()
  const counted = createEvmChain({ row, rpcUrl: counting.rpcUrl, memory })
  const input = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [other, 1n] })
  const bundle = Array.from({ length: 20 }, () => to(token.address, input))
  await counted.preview(rich, bundle)
  counting.calls.length = 0
  const previews = await counted.preview(rich, bundle)
  counting.stop()
  expect(previews.every(({ success }) => success)).toBe(true)
  expect(withoutIdentity(counting.calls)).toEqual([['eth_simulateV1']])
})

test('a node without eth_simulateV1 and traces is asked by eth_call, and the changes are not known', async () => {
  const old = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) =>
      method === 'eth_simulateV1' || method === 'debug_traceCall'
        ? { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
        : undefined,
  })
  const oldChain = createEvmChain({ row, rpcUrl: old.rpcUrl, memory: createMemory() })
  const bundle = [fail('keep', [1n]), fail('text'), to(other, '0x', 5n), fail('burnAll')]
  await oldChain.preview(poor, bundle)
  const asked = old.calls.splice(0).flat()
  const previews = await oldChain.preview(poor, bundle)
  old.stop()
  expect(asked.filter((method) => method === 'eth_simulateV1')).toHaveLength(1)
  // One round trip; neither of the two methods is tried again.
  expect(withoutIdentity(old.calls)).toEqual([bundle.map(() => 'eth_call')])
  const remark = ' (elements before it were not taken into account: the node cannot simulate a bundle)'
  expect(previews.map(({ error }) => error)).toEqual([
    null,
    `execution reverted: no way${remark}`,
    `insufficient funds for transfer${remark}`,
    `execution failed: InvalidFEOpcode${remark}`,
  ])
  expect(previews.every(({ changes }) => changes === null)).toBe(true)
})

test('a node that refuses for other reasons is unavailable, and no element fails for it', async () => {
  const busy = startFakeNode({ behaviour: () => ({ error: { code: -32005, message: 'request rate exceeded' } }) })
  const busyChain = createEvmChain({ row, rpcUrl: busy.rpcUrl, memory: createMemory() })
  await expect(busyChain.preview(rich, [to(other)])).rejects.toMatchObject({ code: 'node_unavailable' })
  busy.stop()
})

test('a megabyte of call data gets a clear result', async () => {
  const input: Hex = `0xa9059cbb${'00'.repeat(1_000_000)}`
  const [preview] = await chain.preview(rich, [to(failing.address, input)])
  expect(preview).toMatchObject({ decoded: null, success: false })
})
