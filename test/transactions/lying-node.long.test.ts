// The node that is asked first lies about one thing, and another node tells the truth: nothing is recorded that cannot
// be taken back.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { BLOCKS_TO_FINAL, type Stepped, startStepped } from './stepped.ts'

let node: TestChain
let liar: ReturnType<typeof startFakeNode>
let honest: ReturnType<typeof startFakeNode>
let world: Stepped

beforeAll(async () => {
  node = await startChain('Ethereum')
  liar = startFakeNode({ behind: node.rpcUrl })
  honest = startFakeNode({ behind: node.rpcUrl })
  world = await startStepped({ node, rpcUrls: `${liar.rpcUrl} ${honest.rpcUrl}` })
})

afterAll(async () => {
  await world.close()
  await Promise.all([liar.stop(), honest.stop()])
})

const HONEST: Behaviour = () => undefined

beforeEach(async () => {
  liar.behave(HONEST)
  honest.behave(HONEST)
  await world.chain.lookAtNodes()
  await world.catchUp()
})

const receiptWith =
  (change: object): Behaviour =>
  async ({ method, params }) =>
    method === 'eth_getTransactionReceipt'
      ? { result: { ...((await node.rpc(method, params)) as object), ...change } }
      : undefined

const isAboutTransaction = ({ method }: { readonly method: string }) =>
  method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash'

test('without a lie: a result costs each node one question', async () => {
  const id = await world.send()
  await world.broadcast(id)
  const nodes = [liar, honest]
  const before = nodes.map(({ calls }) => calls.length)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: false, code: null })
  const asked = nodes.map(({ calls }, index) => calls.slice(before[index]).flat())
  expect(asked.map((methods) => methods.filter((method) => method === 'eth_getTransactionReceipt').length)).toEqual([
    1, 1,
  ])
})

test('that a transaction failed: it has no result while the other node disagrees, and then the right one', async () => {
  const id = await world.send()
  liar.behave(receiptWith({ status: '0x0' }))
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'pending', final: false, code: null })
  liar.behave(HONEST)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('that a transaction failed, before the other node has it: the result is corrected when the nodes agree', async () => {
  const id = await world.send()
  liar.behave(receiptWith({ status: '0x0' }))
  honest.behave((request) => (isAboutTransaction(request) ? { result: null } : undefined))
  await world.broadcast(id)
  await world.catchUp()
  const wrong = { status: 'failed', final: false, code: 'execution_reverted' }
  expect(await world.rowOf(id)).toMatchObject(wrong)
  honest.behave(HONEST)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject(wrong)
  liar.behave(HONEST)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', code: null })
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('that a transaction is in another block: it is settled when a node reports its real block', async () => {
  const id = await world.send()
  liar.behave(receiptWith({ blockHash: `0x${'ab'.repeat(32)}` }))
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ status: 'pending', final: false, code: null })
  liar.behave(HONEST)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('that it knows nothing of a transaction: it is neither settled nor given up', async () => {
  const id = await world.send()
  liar.behave((request) => (isAboutTransaction(request) ? { result: null } : undefined))
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ status: 'pending', final: false, code: null })
  liar.behave(HONEST)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('that a nonce is used: it is not reported as taken', async () => {
  const id = await world.send()
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  liar.behave(({ method }) => (method === 'eth_getTransactionCount' ? { result: '0x1' } : undefined))
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ status: 'submitted', final: false, code: null })
  liar.behave(HONEST)
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('that a block far ahead is the newest: nothing is final before the other node has enough blocks', async () => {
  const id = await world.send()
  await world.broadcast(id)
  await world.catchUp()
  const claimed = async ({ method, params }: Parameters<Behaviour>[0]) => {
    if (method !== 'eth_getBlockByNumber' || !['latest', 'finalized'].includes(String(params[0]))) return undefined
    const latest = (await node.rpc('eth_getBlockByNumber', ['latest', false])) as { number: string; timestamp: string }
    const [number, timestamp] = [BigInt(latest.number) + 1_000n, BigInt(latest.timestamp) + 12_000n]
    return { result: { ...latest, number: `0x${number.toString(16)}`, timestamp: `0x${timestamp.toString(16)}` } }
  }
  liar.behave(claimed)
  await world.chain.lookAtNodes()
  const states = (await world.chain.lookAtNodes()).map(({ state }) => state)
  expect(states).toEqual(['up', 'behind'])
  await node.mine(1)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ final: false, code: null })
  liar.behave(HONEST)
  await world.chain.lookAtNodes()
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('that an old block is the newest: the reported head does not go back', async () => {
  const { latest } = await world.chain.head()
  await node.mine(3)
  const id = await world.send()
  await world.broadcast(id)
  const old = await node.rpc('eth_getBlockByNumber', [`0x${latest.number.toString(16)}`, false])
  liar.behave(({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === 'latest' ? { result: old } : undefined,
  )
  expect((await world.chain.head()).latest.number).toBeGreaterThanOrEqual(latest.number)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ final: false, code: null })
  liar.behave(HONEST)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})
