import { describe, expect, test } from 'bun:test'
import { encodeFunctionData, getAddress, type Hex, parseGwei } from 'viem'
import type { Chain } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { shared } from '../../support/shared.ts'
import { startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { oddContract } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Avalanche', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address

const chainAt = (rpcUrl: string): Chain => createEvmChain({ row, rpcUrl, memory: createMemory() })

const node = await shared(startChain('Avalanche'))
const chain = chainAt(node.rpcUrl)

test('an unknown hash has the status unknown', async () => {
  expect(await chain.status(`0x${'12'.repeat(32)}`)).toEqual({ kind: 'unknown' })
})

test('a transaction is pending in the pool, and mined in a block', async () => {
  await node.setAutomine(false)
  const hash = await node.walletClient.sendTransaction({ to: other, value: 1n })
  expect(await chain.status(hash)).toEqual({ kind: 'pending' })
  await node.mine()
  await node.setAutomine(true)
  const { number, hash: blockHash } = await node.publicClient.getBlock()
  const told = {
    success: true,
    blockNumber: number,
    blockHash,
    contractAddress: null,
    reason: null,
    executedBy: [],
    failedWithin: false,
  } as const
  const mined = { kind: 'mined', ...told } as const
  expect(await chain.status(hash)).toEqual({ ...mined, confirmations: 1 })
  await node.mine(2)
  expect(await chain.status(hash)).toEqual({ ...mined, confirmations: 3 })
})

test('a creation has its contract address, and a failed transaction is failed', async () => {
  const { abi, bytecode } = oddContract('Failing')
  const created = await node.receiptOf(await node.walletClient.deployContract({ abi, bytecode }))
  expect(await chain.status(created.transactionHash)).toMatchObject({
    success: true,
    contractAddress: getAddress(created.contractAddress ?? '0x'),
  })
  const { bytecode: refusing } = oddContract('RefusingCreation')
  const failed = await node.walletClient.sendTransaction({ data: refusing, gas: 200_000n })
  await node.receiptOf(failed)
  expect(await chain.status(failed)).toMatchObject({ kind: 'mined', success: false })
})

describe('the reason of a failed transaction', () => {
  const minedOf = async (hash: Hex) => {
    const { blockNumber, status } = await node.receiptOf(hash)
    return { hash, blockNumber, status }
  }

  const failing = async () => {
    const { abi, bytecode } = oddContract('Failing')
    const { contractAddress } = await node.receiptOf(await node.walletClient.deployContract({ abi, bytecode }))
    const failed = await minedOf(
      await node.walletClient.sendTransaction({
        to: contractAddress ?? other,
        data: encodeFunctionData({ abi, functionName: 'text' }),
        gas: 200_000n,
      }),
    )
    expect(failed.status).toBe('reverted')
    return failed
  }

  test('is that of a replay at its block', async () => {
    const failed = await failing()
    await node.mine(3)
    expect(await chain.failureReason(failed)).toBe('execution reverted: no way')
    const without = await minedOf(await node.walletClient.sendTransaction({ to: other, value: 1n }))
    expect(await chain.failureReason(without)).toStartWith('its call alone succeeds')
    expect(await chain.failureReason({ ...failed, hash: `0x${'12'.repeat(32)}` })).toBeNull()
  })

  test('is found by a node that still says that the transaction is pending', async () => {
    const failed = await failing()
    const transaction = await node.publicClient.request({
      method: 'eth_getTransactionByHash',
      params: [failed.hash],
    })
    const late = startFakeNode({
      behind: node.rpcUrl,
      behaviour: ({ method }) =>
        method === 'eth_getTransactionByHash'
          ? { result: { ...transaction, blockHash: null, blockNumber: null, transactionIndex: null } }
          : undefined,
    })
    expect(await chainAt(late.rpcUrl).failureReason(failed)).toBe('execution reverted: no way')
    late.stop()
  })

  test('is none of a state in which its sender had not got the coins for it', async () => {
    const failed = await failing()
    // go-ethereum core/state_transition.go, buyGas
    const message = `insufficient funds for gas * price + value: address ${rich} have 0 want 5`
    const poorUntil = (last: bigint) =>
      startFakeNode({
        behind: node.rpcUrl,
        behaviour: ({ method, params }) =>
          method === 'eth_call' && BigInt(String(params[1])) <= last ? { error: { code: -32000, message } } : undefined,
      })
    const [funded, never] = [poorUntil(failed.blockNumber - 1n), poorUntil(failed.blockNumber)]
    expect(await chainAt(funded.rpcUrl).failureReason(failed)).toBe('execution reverted: no way')
    expect(await chainAt(never.rpcUrl).failureReason(failed)).toBeNull()
    for (const each of [funded, never]) each.stop()
  })

  test('is said to be lost with the state of a node, and is none from a node that does not answer', async () => {
    const failed = await failing()
    const refusing = (message: string) =>
      startFakeNode({
        behind: node.rpcUrl,
        behaviour: ({ method }) => (method === 'eth_call' ? { error: { code: -32000, message } } : undefined),
      })
    const pruned = refusing('missing trie node 1234 (path ) state 0x12 is not available')
    expect(await chainAt(pruned.rpcUrl).failureReason(failed)).toBe(
      'the node no longer has the state that would show why',
    )
    pruned.stop()
    expect(await chainAt('http://127.0.0.1:1').failureReason(failed)).toBeNull()
  })
})

test('takes one round trip', async () => {
  const proxy = startFakeNode({ behind: node.rpcUrl })
  await chainAt(proxy.rpcUrl).status(`0x${'12'.repeat(32)}`)
  proxy.stop()
  expect(proxy.calls).toEqual([
    ['eth_chainId', 'eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_blockNumber'],
  ])
})

test('gives the same for many transactions as for one, and looks up only those without a receipt', async () => {
  const { transactionHash: mined } = await node.send({ to: other, value: 1n })
  await node.setAutomine(false)
  const pending = await node.walletClient.sendTransaction({ to: other, value: 1n })
  const hashes = [mined, `0x${'12'.repeat(32)}`, pending] as const
  const one = await Promise.all(hashes.map((hash) => chain.status(hash)))
  expect(one.map(({ kind }) => kind)).toEqual(['mined', 'unknown', 'pending'])
  const proxy = startFakeNode({ behind: node.rpcUrl })
  const proxied = chainAt(proxy.rpcUrl)
  expect(await proxied.statuses(hashes.map((hash) => ({ hash, blockHash: null })))).toEqual(one)
  expect(await proxied.statuses([])).toEqual([])
  proxy.stop()
  await node.mine()
  await node.setAutomine(true)
  const receipts = Array(3).fill('eth_getTransactionReceipt')
  const lookUps = Array(2).fill('eth_getTransactionByHash')
  expect(proxy.calls).toEqual([
    ['eth_chainId', 'eth_blockNumber', ...receipts],
    ['eth_chainId', ...lookUps],
  ])
})

test('a receipt above the newest block counts as one confirmation', async () => {
  const hash = (await node.send({ to: other, value: 1n })).transactionHash
  const lagging = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) => (method === 'eth_blockNumber' ? { result: '0x0' } : undefined),
  })
  expect(await chainAt(lagging.rpcUrl).status(hash)).toMatchObject({ kind: 'mined', confirmations: 1 })
  lagging.stop()
})

test('reports the newest block, and the final one if the node knows it', async () => {
  await node.mine(70)
  const newest = await node.publicClient.getBlock()
  const head = await chain.head()
  expect(head.latest).toEqual({
    number: newest.number,
    hash: newest.hash,
    parentHash: newest.parentHash,
    timestampMs: Number(newest.timestamp) * 1_000,
  })
  expect(head.finalized?.number).toBeLessThan(newest.number)
  for (const reply of [{ result: null }, { error: { code: -39001, message: 'Unknown block' } }]) {
    const old = startFakeNode({
      behind: node.rpcUrl,
      behaviour: ({ params: [tag] }) => (tag === 'finalized' ? reply : undefined),
    })
    expect((await chainAt(old.rpcUrl).head()).finalized).toBeNull()
    old.stop()
  }
})

test('returns a block with its hashes, and null for a block that does not exist yet', async () => {
  const { transactionHash, blockNumber, blockHash } = await node.send({ to: other, value: 1n })
  const block = await chain.block(blockNumber)
  expect(block).toMatchObject({ number: blockNumber, hash: blockHash, transactionHashes: [transactionHash] })
  expect(Object.keys(block ?? {}).toSorted()).toEqual([
    'hash',
    'number',
    'parentHash',
    'timestampMs',
    'transactionHashes',
  ])
  expect(await chain.block(blockNumber + 1n)).toBeNull()
})

test('an error for an unknown block means the same as null', async () => {
  const refusing = startFakeNode({ behaviour: () => ({ error: { code: -39001, message: 'Unknown block' } }) })
  expect(await chainAt(refusing.rpcUrl).block(9n)).toBeNull()
  refusing.behave(() => ({ error: { code: -32005, message: 'rate limit exceeded' } }))
  await expect(chainAt(refusing.rpcUrl).block(9n)).rejects.toMatchObject({ code: 'node_unavailable' })
  refusing.stop()
})

test('says whether the node is of the right chain', async () => {
  expect(await chain.isRightNode()).toBe(true)
  expect(chain.chainId).toBe(43_113)
})

test('counts the transactions up to a block', async () => {
  const before = await node.publicClient.getTransactionCount({ address: rich })
  const { blockNumber } = await node.send({ to: other, value: 1n })
  const countAt = (number: bigint) => chain.transactionCountAt({ address: rich, blockNumber: number })
  expect(await countAt(blockNumber - 1n)).toBe(before)
  expect(await countAt(blockNumber)).toBe(before + 1)
})

test('returns null for a block whose state was pruned', async () => {
  const pruned = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) =>
      method === 'eth_getTransactionCount' ? { error: { code: -32000, message: 'missing trie node abc' } } : undefined,
  })
  expect(await chainAt(pruned.rpcUrl).transactionCountAt({ address: rich, blockNumber: 1n })).toBeNull()
  pruned.stop()
})

const sign = async (change: {
  nonce?: number
  value?: bigint
  gas?: bigint
  maxFeePerGas?: bigint
  chainId?: number
}) => {
  const nonce = change.nonce ?? (await node.publicClient.getTransactionCount({ address: rich }))
  return fundedAccount(0).signTransaction({
    type: 'eip1559',
    chainId: change.chainId ?? 43_113,
    nonce,
    to: other,
    value: change.value ?? 1n,
    gas: change.gas ?? 21_000n,
    maxFeePerGas: change.maxFeePerGas ?? parseGwei('50'),
    maxPriorityFeePerGas: parseGwei('1'),
  })
}

test('a node accepts a transaction, and the same one again', async () => {
  await node.setAutomine(false)
  try {
    const raw = await sign({})
    expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
    expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
  } finally {
    await node.mine()
    await node.setAutomine(true)
  }
})

test('distinguishes the refusals of the local node', async () => {
  const nonce = await node.publicClient.getTransactionCount({ address: rich })
  expect(await chain.broadcast(await sign({ nonce: nonce - 1 }))).toEqual({ kind: 'nonce_too_low' })
  expect(await chain.broadcast(await sign({ value: 10n ** 30n }))).toMatchObject({ kind: 'insufficient_funds' })
  expect(await chain.broadcast(await sign({ gas: 20_000n }))).toMatchObject({ kind: 'rejected' })
  expect(await chain.broadcast(await sign({ chainId: 1 }))).toMatchObject({ kind: 'rejected' })
  expect(await chain.broadcast('0x02')).toMatchObject({ kind: 'rejected' })
  await node.setAutomine(false)
  try {
    expect(await chain.broadcast(await sign({ nonce, value: 2n }))).toEqual({ kind: 'accepted' })
    expect(await chain.broadcast(await sign({ nonce, value: 3n }))).toMatchObject({ kind: 'underpriced' })
  } finally {
    await node.mine()
    await node.setAutomine(true)
  }
})

test('an unclear answer to a broadcast is unknown', async () => {
  const raw: Hex = await sign({})
  const drops = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('bad gateway', { status: 502 }) })
  const url = `http://127.0.0.1:${drops.port}`
  expect(await chainAt(url).broadcast(raw)).toMatchObject({ kind: 'unknown' })
  await drops.stop(true)
  expect(await chainAt(url).broadcast(raw)).toMatchObject({ kind: 'unknown' })
  for (const reply of [
    { result: 'ok' },
    { result: null },
    { error: { code: -32000, message: 'txpool is full' } },
    { error: { code: -32005, message: 'rate limit exceeded' } },
    { error: { code: -32603, message: 'internal error' } },
    { error: { code: -32000, message: '' } },
  ]) {
    const odd = startFakeNode({ behaviour: () => reply })
    expect(await chainAt(odd.rpcUrl).broadcast(raw)).toMatchObject({ kind: 'unknown' })
    odd.stop()
  }
})
