import { beforeEach, expect, test } from 'bun:test'
import { encodeFunctionData, getAddress, getContractAddress, type Hex, parseAbi, parseEther, parseGwei } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { EvmUnsigned, Intent, Prepared, Unsigned } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { type EvmNetworkRow, evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { afterTests, shared } from '../../support/shared.ts'
import { type Behaviour, startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd, oddContract } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address
const poor = getAddress('0x00000000000000000000000000000000000abcde')
const erc20 = parseAbi([
  'function approve(address spender, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function mint(address to, uint256 value)',
])

const open: { stop: () => unknown }[] = []

const node = await shared(startChain('Ethereum'))
const chain = createEvmChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })
const failing = await deployOdd(node, 'Failing')
const token = await node.deploy('TestToken', ['Test', 'TST', 6])
await node.send({
  to: token.address,
  data: encodeFunctionData({ abi: erc20, functionName: 'mint', args: [rich, 1000n] }),
})
afterTests(async () => {
  for (const each of open) await each.stop()
})
beforeEach(() => node.fund(poor, 0n))

const to = (address: string, input: Hex = '0x', value = 0n): Intent => ({ to: address, value, input })
const call = (functionName: string, args: readonly unknown[] = [], value = 0n): Intent =>
  to(failing.address, encodeFunctionData({ abi: failing.abi, functionName, args }), value)
const nothing = async () => []
const recorded = (behind: readonly (Intent & { readonly nonce: number })[]) => async () =>
  behind.map((each) => ({ ...each, from: rich }))
const prepare = (intent: Intent, from: string = rich, behind: Parameters<typeof recorded>[0] = []): Promise<Prepared> =>
  chain.prepare(intent, from, { pending: recorded(behind) })

const fake = (behaviour: Behaviour, change: Partial<EvmNetworkRow> = {}) => {
  const proxy = startFakeNode({ behind: node.rpcUrl, behaviour })
  open.push(proxy)
  const proxied = createEvmChain({ row: { ...row, ...change }, rpcUrl: proxy.rpcUrl, memory: createMemory() })
  return { proxy, chain: proxied }
}

const ofEvm = (unsigned: Unsigned): EvmUnsigned => {
  if (unsigned.family !== 'evm') throw new Error('expected a transaction of EIP-1559')
  return unsigned
}

test('fills in a plain transfer in one round trip', async () => {
  const { proxy, chain: counted } = fake(() => undefined)
  const prepared = await counted.prepare(to(other, '0x', 5n), rich, { pending: nothing })
  expect(proxy.calls.length).toBe(1)
  const nonce = await node.publicClient.getTransactionCount({ address: rich })
  const { baseFeePerGas } = await node.publicClient.getBlock()
  const unsigned = ofEvm(prepared.unsigned)
  expect(unsigned).toMatchObject({ chainId: 11_155_111, nonce, to: other, value: 5n, input: '0x', gasLimit: 21_000n })
  expect(unsigned.maxPriorityFeePerGas).toBeGreaterThanOrEqual(row.minPriorityFeeWei)
  expect(unsigned.maxFeePerGas).toBeLessThanOrEqual(2n * (baseFeePerGas ?? 0n) + unsigned.maxPriorityFeePerGas)
  expect(prepared).toMatchObject({ minedCount: nonce, pendingCount: nonce })
  expect(prepared.worstCost).toBe(5n + 21_000n * unsigned.maxFeePerGas)
})

test('the filled-in transaction is mined unchanged', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await node.fund(account.address, parseEther('1'))
  const unsigned = ofEvm((await prepare(call('keep', [77n]), account.address)).unsigned)
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: unsigned.chainId,
    nonce: unsigned.nonce,
    to: failing.address,
    value: unsigned.value,
    data: unsigned.input,
    gas: unsigned.gasLimit,
    maxFeePerGas: unsigned.maxFeePerGas,
    maxPriorityFeePerGas: unsigned.maxPriorityFeePerGas,
  })
  expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
  expect(
    (await node.receiptOf(await node.publicClient.getBlock().then(({ transactions }) => transactions[0] ?? '0x')))
      .status,
  ).toBe('success')
  expect(await node.publicClient.readContract({ ...failing, functionName: 'kept' })).toBe(77n)
})

test('leaves a margin above the estimate of a contract call', async () => {
  const intent = call('keep', [123n])
  const estimate = await node.publicClient.estimateGas({ account: rich, to: failing.address, data: intent.input })
  expect((await prepare(intent)).unsigned.gasLimit).toBe((estimate * 120n) / 100n)
})

test('keeps every field that the caller fixed', async () => {
  const fixed = {
    ...to(other, '0x', 1n),
    gasLimit: 77_777n,
    maxFeePerGas: parseGwei('33'),
    maxPriorityFeePerGas: parseGwei('3'),
    nonce: 1_000,
  }
  const { unsigned, worstCost } = await prepare(fixed)
  expect(unsigned).toMatchObject(fixed)
  expect(worstCost).toBe(1n + 77_777n * parseGwei('33'))
})

test('prepares a contract creation', async () => {
  const { unsigned } = await prepare({ to: null, value: 0n, input: oddContract('Failing').bytecode })
  expect(unsigned.to).toBeNull()
  expect(unsigned.gasLimit).toBeGreaterThan(100_000n)
})

test('includes pending transactions in the nonce', async () => {
  await node.setAutomine(false)
  try {
    const before = await prepare(to(other))
    await node.walletClient.sendTransaction({ to: other, value: 1n })
    const after = await prepare(to(other))
    expect(after.pendingCount).toBe(before.pendingCount + 1)
    expect(after.minedCount).toBe(before.minedCount)
    expect(after.unsigned.nonce).toBe(before.unsigned.nonce + 1)
    expect(await chain.transactionCounts(rich)).toEqual({
      minedCount: after.minedCount,
      pendingCount: after.pendingCount,
    })
  } finally {
    await node.mine()
    await node.setAutomine(true)
  }
})

test('a revert is refused with its reason, with or without a given gas limit', async () => {
  const cases: [Intent, string][] = [
    [call('text'), 'execution reverted: no way'],
    [call('silent'), 'execution reverted: no reason given'],
    [call('custom'), 'execution reverted: custom error 0x'],
    [call('divide', [0n]), 'execution reverted: panic: division or modulo by zero (0x12)'],
    [call('burnAll'), 'execution failed: InvalidFEOpcode'],
    [call('need', [987n]), 'execution reverted: kept differs'],
    [{ to: null, value: 0n, input: oddContract('RefusingCreation').bytecode }, 'execution reverted: not created'],
  ]
  for (const [intent, message] of cases) {
    for (const gasLimit of [undefined, 200_000n]) {
      const asked = gasLimit === undefined ? intent : { ...intent, gasLimit }
      await expect(prepare(asked)).rejects.toMatchObject({
        code: 'execution_reverted',
        message: expect.stringContaining(message),
      })
    }
  }
})

test('a gas limit that is too low is refused', async () => {
  const intent = call('keep', [5n])
  for (const gasLimit of [1n, 21_000n]) {
    await expect(prepare({ ...intent, gasLimit })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/must be at least [0-9]+, which this transaction costs before anything runs/),
    })
  }
  await expect(prepare({ ...intent, gasLimit: 25_000n })).rejects.toMatchObject({ code: 'execution_reverted' })
})

/** EIP-7825. The test's node enforces it for what is sent, and not for estimates. */
const MOST = 16_777_216n
/** The blocks of anvil. */
const BLOCK = 30_000_000n
/** Memory of this many words costs 3 gas for each, and their square by 512 (Yellow Paper, appendix H). */
const greedy = async (words: number) => {
  const address = getAddress(`0x${words.toString(16).padStart(40, '0')}`)
  const offset = ((words - 1) * 32).toString(16).padStart(6, '0')
  await node.testClient.setCode({ address, bytecode: `0x600062${offset}5200` })
  return to(address)
}

test('the margin ends where the network or its blocks allow a transaction no more gas, and the node takes it', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await node.fund(account.address, parseEther('10'))
  const intent = await greedy(86_000)
  const { gasLimit, nonce, maxFeePerGas, maxPriorityFeePerGas } = ofEvm(
    (await prepare(intent, account.address)).unsigned,
  )
  expect(gasLimit).toBe(MOST)
  expect((await chain.fill(intent, account.address, { nonce: 0 })).gasLimit).toBe(MOST)
  const fees = { maxFeePerGas, maxPriorityFeePerGas }
  const signing = { type: 'eip1559', chainId: row.chainId, nonce, gas: gasLimit, ...fees } as const
  const raw = await account.signTransaction({ ...signing, to: getAddress(intent.to ?? '') })
  expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
  const boundless = fake(() => undefined, { maxTransactionGas: null }).chain
  const largest = await greedy(116_000)
  expect((await boundless.prepare(largest, rich, { pending: nothing })).unsigned.gasLimit).toBe(BLOCK)
  expect((await boundless.fill(largest, rich, { nonce: 0 })).gasLimit).toBe(BLOCK)
})

test('a network may allow a transaction less gas than every block has', async () => {
  const intent = await greedy(3_500)
  const of = (maxTransactionGas: bigint) => fake(() => undefined, { maxTransactionGas }).chain
  const { gasLimit } = ofEvm((await of(1_000_000n).prepare(intent, rich, { pending: nothing })).unsigned)
  const most = gasLimit - 1_000n
  expect((await of(most).prepare(intent, rich, { pending: nothing })).unsigned.gasLimit).toBe(most)
  expect((await of(most).fill(intent, rich, { nonce: 0 })).gasLimit).toBe(most)
  const refusal = { code: 'execution_reverted', message: expect.stringContaining('may have at most 30000') }
  await expect(of(30_000n).prepare(intent, rich, { pending: nothing })).rejects.toMatchObject(refusal)
})

test('what needs more gas than a transaction may have is refused, alone and after pending transactions', async () => {
  const intent = await greedy(100_000)
  const refusal = {
    code: 'execution_reverted',
    message: expect.stringMatching(
      /^execution failed: out of gas: it needs 19[0-9]{6}, and a transaction on Ethereum may have at most 16777216$/,
    ),
  }
  await expect(prepare(intent)).rejects.toMatchObject(refusal)
  await expect(chain.fill(intent, rich, { nonce: 0 })).rejects.toMatchObject(refusal)
  const { minedCount } = await chain.transactionCounts(rich)
  // Without code the call costs nothing alone.
  const created = getContractAddress({ from: rich, nonce: BigInt(minedCount) })
  const code = `600062${(99_999 * 32).toString(16).padStart(6, '0')}5200`
  const creation = { to: null, value: 0n, input: `0x67${code}60005260086018f3` as const, nonce: minedCount }
  await expect(prepare(to(created, '0x01'), rich, [creation])).rejects.toMatchObject(refusal)
})

test('a gas limit of the caller above what a transaction may have is refused', async () => {
  const intent = call('keep', [5n])
  const refusal = (words: string) => ({ code: 'invalid_input', message: expect.stringContaining(words) })
  const own = refusal('must not be above 16777216, the most gas that a transaction on Ethereum may have')
  expect((await prepare({ ...intent, gasLimit: MOST })).unsigned.gasLimit).toBe(MOST)
  expect((await chain.fill({ ...intent, gasLimit: MOST }, rich, { nonce: 0 })).gasLimit).toBe(MOST)
  for (const gasLimit of [MOST + 1n, BLOCK]) {
    await expect(prepare({ ...intent, gasLimit })).rejects.toMatchObject(own)
    await expect(chain.fill({ ...intent, gasLimit }, rich, { nonce: 0 })).rejects.toMatchObject(own)
    const whole = { ...intent, gasLimit, nonce: 1, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
    expect(() => chain.complete(whole)).toThrow(expect.objectContaining(own))
  }
  const boundless = fake(() => undefined, { maxTransactionGas: null }).chain
  const above = { ...intent, gasLimit: BLOCK + 1n }
  const block = refusal(`the gas limit of a block, ${BLOCK}`)
  await expect(boundless.prepare(above, rich, { pending: nothing })).rejects.toMatchObject(block)
  await expect(boundless.fill(above, rich, { nonce: 0 })).rejects.toMatchObject(block)
})

test('more bytes than nodes take are refused, by the size of the signed transaction', async () => {
  // Always the same key: a signature that begins with zeros is shorter.
  const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
  const fees = { maxFeePerGas: 2n ** 60n, maxPriorityFeePerGas: 2n ** 60n }
  const largest = { nonce: 2 ** 32, gasLimit: 16_000_000n, value: 1n, ...fees }
  const of = async (dataBytes: number) => {
    const intent = { ...largest, to: other, input: `0x${'00'.repeat(dataBytes)}` as const }
    const { gasLimit: gas, input: data, ...signed } = intent
    const raw = await account.signTransaction({ type: 'eip1559', chainId: row.chainId, gas, data, ...signed })
    return { intent, bytes: (raw.length - 2) / 2 }
  }
  const refusal = {
    code: 'invalid_input',
    message: expect.stringMatching(
      /^The signed transaction may have 131[0-9]{3} bytes, and nodes of Ethereum take at most 131072/,
    ),
  }
  const above = await of(131_072 - 130)
  expect(above.bytes).toBeGreaterThan(131_072)
  expect(() => chain.complete(above.intent)).toThrow(expect.objectContaining(refusal))
  for (const intent of [above.intent, { to: other, value: 1n, input: above.intent.input }]) {
    await expect(prepare(intent)).rejects.toMatchObject(refusal)
    await expect(chain.fill(intent, rich, { nonce: 0 })).rejects.toMatchObject(refusal)
  }
  const below = await of(131_072 - 180)
  expect(below.bytes).toBeLessThanOrEqual(131_072)
  expect(chain.complete(below.intent)).not.toBeNull()
  await expect(chain.fill(below.intent, rich, { nonce: 0 })).resolves.toBeDefined()
})

test('a call that depends on a live transaction is checked after it', async () => {
  const approve = to(token.address, encodeFunctionData({ abi: erc20, functionName: 'approve', args: [rich, 30n] }))
  const move = to(
    token.address,
    encodeFunctionData({ abi: erc20, functionName: 'transferFrom', args: [rich, other, 30n] }),
  )
  await expect(prepare(move)).rejects.toMatchObject({ code: 'execution_reverted' })
  const { minedCount } = await prepare(to(other))
  const { unsigned } = await prepare(move, rich, [{ ...approve, nonce: minedCount }])
  const used = 60_000n
  expect(unsigned.gasLimit).toBeGreaterThan(used)
  expect(unsigned.gasLimit).toBeLessThan(2n * used)
  const fixed = await prepare({ ...move, gasLimit: 90_000n }, rich, [{ ...approve, nonce: minedCount }])
  expect(fixed.unsigned.gasLimit).toBe(90_000n)
})

test('a call to an address without code is checked after a creation, but not after other transactions', async () => {
  const { proxy, chain: counted } = fake(() => undefined)
  const { minedCount } = await prepare(to(other))
  const keep = { ...call('keep', [5n]), to: getContractAddress({ from: rich, nonce: BigInt(minedCount) }) }
  const gasBehind = async (earlier: Intent): Promise<bigint> => {
    const behind = recorded([{ ...earlier, nonce: minedCount }])
    return (await counted.prepare(keep, rich, { pending: behind })).unsigned.gasLimit
  }
  const alone = await gasBehind(to(other, '0x', 1n))
  expect(await gasBehind(to(keep.to, '0x1234'))).toBe(alone)
  expect(proxy.calls.flat()).not.toContain('eth_simulateV1')
  const behindCreation = await gasBehind({ to: null, value: 0n, input: oddContract('Failing').bytecode })
  expect(behindCreation).toBeGreaterThan(alone + 20_000n)
})

test('earlier transactions of another sender count too, with their own nonces', async () => {
  const [owner, spender] = [fundedAccount(0).address, fundedAccount(2).address]
  const nonce = await node.publicClient.getTransactionCount({ address: owner })
  const data = (functionName: string, args: readonly unknown[]) =>
    encodeFunctionData({ abi: erc20, functionName, args } as Parameters<typeof encodeFunctionData>[0])
  const approve = { ...to(token.address, data('approve', [spender, 30n])), from: owner }
  const move = to(token.address, data('transferFrom', [owner, other, 30n]))
  const behind = (at: number) => ({ pending: async () => [{ ...approve, nonce: at }] })
  await expect(chain.prepare(move, spender, behind(nonce - 1))).rejects.toMatchObject({ code: 'execution_reverted' })
  expect((await chain.prepare(move, spender, behind(nonce))).unsigned.gasLimit).toBeGreaterThan(40_000n)
})

test('a live transaction that was mined meanwhile is not run again', async () => {
  const keep = (number: bigint): Intent => call('keep', [number])
  const { minedCount } = await prepare(to(other))
  const stale = { ...keep(55n), nonce: minedCount - 1 }
  await expect(prepare(call('need', [55n]), rich, [stale])).rejects.toMatchObject({ code: 'execution_reverted' })
  await expect(prepare(call('need', [55n]), rich, [{ ...stale, nonce: minedCount }])).resolves.toBeDefined()
})

test('a call is checked again if the transaction that it depends on was mined during the check', async () => {
  let judgements = 0
  const early = { error: { code: 3, message: 'execution reverted', data: '0x' } }
  const proxy = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) => (method === 'eth_estimateGas' && ++judgements === 1 ? early : undefined),
  })
  const late = createEvmChain({ row, rpcUrl: proxy.rpcUrl, memory: createMemory() })
  const behind = async () => [{ from: rich, nonce: 0, to: other, value: 0n, input: '0x' as const, gasLimit: 21_000n }]
  expect((await late.prepare(call('keep', [1n]), rich, { pending: behind })).unsigned.gasLimit).toBeGreaterThan(21_000n)
  expect(judgements).toBe(2)
  proxy.stop()
})

test('a call that reverts even after the live transactions is refused with that reason', async () => {
  const behind = [{ ...call('keep', [1n]), nonce: (await prepare(to(other))).minedCount }]
  await expect(prepare(call('text'), rich, behind)).rejects.toMatchObject({ message: 'execution reverted: no way' })
})

test('on a node that cannot simulate, the first result counts', async () => {
  const { chain: old } = fake(({ method }) =>
    method === 'eth_simulateV1' ? { error: { code: -32601, message: 'Method not found' } } : undefined,
  )
  const behind = [{ ...call('keep', [4n]), nonce: 10_000 }]
  await expect(old.prepare(call('need', [4n]), rich, { pending: recorded(behind) })).rejects.toMatchObject({
    code: 'execution_reverted',
    message: 'execution reverted: kept differs',
  })
})

test('a sender that cannot pay the gas is refused with the needed amount', async () => {
  for (const intent of [to(other), call('keep', [5n]), { ...call('keep', [5n]), gasLimit: 100_000n }]) {
    await expect(prepare(intent, poor)).rejects.toMatchObject({
      code: 'balance_insufficient',
      message: expect.stringMatching(
        new RegExp(`^${poor} needs 0\\.0\\d+ ETH for this transaction and its fee, and has 0 ETH\\.$`),
      ),
    })
  }
})

test('a sender that cannot pay the value is refused with the needed amount, including the gas of the call', async () => {
  await node.fund(poor, 10n)
  const intent = call('keep', [5n], 11n)
  const { unsigned } = await prepare(intent)
  const error: unknown = await prepare(intent, poor).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code: 'balance_insufficient' })
  const needed = /needs (\S+) ETH/.exec(String(error))?.[1] ?? '0'
  expect(parseEther(needed)).toBe(11n + ofEvm(unsigned).gasLimit * ofEvm(unsigned).maxFeePerGas)
  expect(String(error)).toContain('has 0.00000000000000001 ETH')
})

test('a sender that cannot pay the value of a failing call is refused with a minimum amount', async () => {
  await expect(prepare(call('text', [], 11n), poor)).rejects.toMatchObject({
    code: 'balance_insufficient',
    message: expect.stringContaining('needs at least'),
  })
})

test('the balance is checked to the wei', async () => {
  const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') }
  const intent = { ...to(other, '0x', 5n), ...fees }
  const cost = 5n + 21_000n * fees.maxFeePerGas
  await node.fund(poor, cost)
  expect((await prepare(intent, poor)).worstCost).toBe(cost)
  await node.fund(poor, cost - 1n)
  await expect(prepare(intent, poor)).rejects.toMatchObject({ code: 'balance_insufficient' })
})

test('the refusal names the coin of the network', async () => {
  const polygon = evmNetworkRow({ network: 'Polygon', environment: 'testnet', devnet: true })
  const onThisNode = { ...polygon, chainId: row.chainId }
  const polygonChain = createEvmChain({ row: onThisNode, rpcUrl: node.rpcUrl, memory: createMemory() })
  await expect(polygonChain.prepare(to(other), poor, { pending: nothing })).rejects.toMatchObject({
    message: expect.stringContaining('POL'),
  })
})

test('refuses fees that no node would relay', async () => {
  await expect(prepare({ ...to(other), maxPriorityFeePerGas: row.minPriorityFeeWei - 1n })).rejects.toMatchObject({
    code: 'fee_too_low',
  })
  await expect(prepare({ ...to(other), maxFeePerGas: 5n, maxPriorityFeePerGas: 6n })).rejects.toMatchObject({
    code: 'fee_too_low',
  })
})

test('the fee for layer 1 is included in the worst cost, with a margin, and in the balance check', async () => {
  const l1Fee = 400_000n
  const oracle = '0x420000000000000000000000000000000000000F'
  let asked: unknown
  const { chain: base } = fake(
    ({ method, params: [object] }) => {
      const { to: target, data } = object as { to?: string; data?: Hex }
      if (method !== 'eth_call' || target !== oracle || !data?.startsWith('0xf1c7a58b')) return undefined
      asked = data
      return { result: `0x${l1Fee.toString(16).padStart(64, '0')}` }
    },
    { gasPriceOracle: oracle },
  )
  const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') }
  const intent = { ...to(other, '0x', 5n), ...fees }
  const own = 5n + 21_000n * fees.maxFeePerGas
  const prepared = await base.prepare(intent, rich, { pending: nothing })
  expect(prepared.worstCost).toBe(own + 500_000n)
  const { raw } = base.assemble(prepared.unsigned, new Uint8Array(65).fill(1))
  expect(base.offerOf({ raw, recordedCost: 0n }).worstCost).toBe(own)
  // getL1FeeUpperBound(uint256) and the size of the unsigned transaction, at its longest.
  expect(BigInt(`0x${String(asked).slice(10)}`)).toBeGreaterThan(45n)
  expect(BigInt(`0x${String(asked).slice(10)}`)).toBeLessThan(90n)
  await node.fund(poor, own + 499_999n)
  await expect(base.prepare(intent, poor, { pending: nothing })).rejects.toMatchObject({ code: 'balance_insufficient' })
  await node.fund(poor, own + 500_000n)
  await expect(base.prepare(intent, poor, { pending: nothing })).resolves.toBeDefined()
})

test('a node without a pending state is asked for the newest state instead, from then on', async () => {
  const { proxy, chain: unmined } = fake(({ method, params }) =>
    params[1] === 'pending' && method !== 'eth_getTransactionCount'
      ? { error: { code: -32000, message: 'pending state is not available' } }
      : undefined,
  )
  expect((await unmined.prepare(to(other), rich, { pending: nothing })).unsigned.gasLimit).toBe(21_000n)
  expect((await unmined.fill(to(other), rich, { nonce: 0 })).gasLimit).toBe(21_000n)
  proxy.calls.length = 0
  await unmined.prepare({ ...to(other), gasLimit: 22_000n }, rich, { pending: nothing })
  expect(proxy.calls.length).toBe(1)
  await expect(unmined.prepare(call('keep', [1n], 5n), poor, { pending: nothing })).rejects.toMatchObject({
    code: 'balance_insufficient',
  })
})

// The words of nodes, in the mouth of a contract.
test.each([
  'Insufficient balance',
  'insufficient funds for transfer',
  'pending block is not available',
  'method not found',
  'capacity exceeded',
])('a contract that says "%s" is not taken for the node', async (words) => {
  const judged: unknown[] = []
  const { chain: told } = fake(({ method, params }) => {
    if (method === 'eth_call' || method === 'eth_estimateGas') judged.push(params[1])
    return undefined
  })
  const asks = call('needOrSay', [987n, words])
  const refusal = { code: 'execution_reverted', message: `execution reverted: ${words}` }
  for (const intent of [asks, { ...asks, gasLimit: 200_000n }])
    await expect(told.prepare(intent, rich, { pending: nothing })).rejects.toMatchObject(refusal)
  await expect(told.fill(asks, rich, { nonce: 0 })).rejects.toMatchObject(refusal)
  expect(new Set(judged)).toEqual(new Set(['pending']))
  const { minedCount } = await chain.transactionCounts(rich)
  await prepare(asks, rich, [{ ...call('keep', [987n]), nonce: minedCount }])
})

test('a refusal that is not about the transaction means that the node is unavailable', async () => {
  const { chain: busy } = fake(({ method }) =>
    method === 'eth_estimateGas' ? { error: { code: -32005, message: 'daily request count exceeded' } } : undefined,
  )
  await expect(busy.prepare(to(other), rich, { pending: nothing })).rejects.toMatchObject({ code: 'node_unavailable' })
  await expect(busy.fill(to(other), rich, { nonce: 0 })).rejects.toMatchObject({ code: 'node_unavailable' })
})

test('fills in fees and gas for signing with the given nonce, also for a sender without money', async () => {
  const filled = await chain.fill(call('keep', [5n], 3n), poor, { nonce: 41 })
  expect(filled).toMatchObject({ nonce: 41, value: 3n })
  expect(filled.gasLimit).toBeGreaterThan(21_000n)
  expect((await chain.fill({ ...to(other), gasLimit: 30_000n }, poor, { nonce: 0 })).gasLimit).toBe(30_000n)
})

test('filling in asks for all that is open in one batch, and for nothing else', async () => {
  const { proxy, chain: counted } = fake(() => undefined)
  const nonce = await node.publicClient.getTransactionCount({ address: rich })
  const seen: unknown[] = []
  const next = async (counts: unknown) => {
    seen.push(counts)
    return 41
  }
  expect(await counted.fill(to(other), rich, { nonce: next })).toMatchObject({ nonce: 41, gasLimit: 21_000n })
  expect(seen).toEqual([{ minedCount: nonce, pendingCount: nonce }])
  const fees = { maxFeePerGas: 9n, maxPriorityFeePerGas: 9n }
  await counted.fill({ ...to(other), ...fees }, rich, { nonce: next })
  await counted.fill({ ...to(other), gasLimit: 30_000n }, rich, { nonce: 0 })
  await counted.fill({ ...to(other), ...fees, gasLimit: 30_000n }, rich, { nonce: 0 })
  const counts = ['eth_getTransactionCount', 'eth_getTransactionCount']
  expect(proxy.calls).toEqual([
    ['eth_chainId', ...counts, 'eth_feeHistory', 'eth_estimateGas'],
    [...counts, 'eth_estimateGas'],
    ['eth_feeHistory'],
  ])
})

test('filling in says first why no nonce was chosen', async () => {
  const refused = new Error('no nonce')
  const nonce = () => Promise.reject(refused)
  await expect(chain.fill(call('text'), rich, { nonce })).rejects.toBe(refused)
})

test('filling in refuses a call that reverts, and keeps the given fields', async () => {
  await expect(chain.fill(call('text'), rich, { nonce: 0 })).rejects.toMatchObject({ code: 'execution_reverted' })
  const given = { maxFeePerGas: 9n, maxPriorityFeePerGas: 9n }
  expect(await chain.fill({ ...to(other), ...given }, rich, { nonce: 3 })).toMatchObject(given)
})
