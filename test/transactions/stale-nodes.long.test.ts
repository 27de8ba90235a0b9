// Observations that are late or incomplete: an answer from before a reorganisation, a node that knows nothing, a head
// above blocks that the node does not have. None of them may decide what only the tracker can know.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { toHex } from 'viem'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { startFakeNode } from '../chains/evm/fake-node.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { BLOCKS_TO_FINAL, type Stepped, startStepped } from './stepped.ts'

let node: TestChain
let between: ReturnType<typeof startFakeNode>
let world: Stepped

beforeAll(async () => {
  node = await startChain('Ethereum')
  between = startFakeNode({ behind: node.rpcUrl })
  world = await startStepped({ node, rpcUrls: between.rpcUrl })
})

afterAll(async () => {
  await world.close()
  await between.stop()
})

beforeEach(() => between.behave(() => undefined))

/** The node has the chain's blocks, but no transactions. */
const knowNothing = () =>
  between.behave(({ method }) =>
    method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash' ? { result: null } : undefined,
  )

test('an answer from before a reorganisation puts no transaction into a block that the tracker has left', async () => {
  await world.catchUp()
  const id = await world.send()
  await world.broadcast(id)
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const { transaction_hash: hash } = (await world.service.get('/transactions/status-by-id', { id })).json
  const receipt = await node.rpc('eth_getTransactionReceipt', [hash])
  expect(receipt).toMatchObject({ transactionHash: hash })
  between.behave(async ({ method }) => {
    if (method !== 'eth_getTransactionReceipt') return undefined
    asked.resolve()
    await answered.promise
    return { result: receipt }
  })
  const looking = world.reconcile()
  await asked.promise
  await node.reorg({ depth: 1 })
  between.behave(() => undefined)
  await world.catchUp()
  answered.resolve()
  await looking
  expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: null })
})

test('a transaction in a block that the tracker processed before the transaction was recorded is found', async () => {
  await world.catchUp()
  const id = await world.send()
  const turnHashes = () => world.sql`
    update ladders set hashes = array(select reverse(hash) from unnest(hashes) hash),
      hash_keys = array(select ('x' || encode(substr(reverse(hash), 1, 8), 'hex'))::bit(64)::bigint from unnest(hashes) hash)
    where transaction_id = ${id}`
  // As if somebody had sent its bytes while they were being recorded.
  await turnHashes()
  await world.broadcast(id)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ block: null })
  await turnHashes()
  await world.reconcile()
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', block: expect.any(String) })
})

test('a node that does not know a mined transaction does not remove it from its block', async () => {
  await world.catchUp()
  const id = await world.send()
  await world.broadcast(id)
  await world.reconcile()
  const found = await world.rowOf(id)
  expect(found).toMatchObject({ status: 'pending', block: expect.any(String) })
  knowNothing()
  await world.reconcile()
  expect(await world.rowOf(id)).toEqual(found)
  between.behave(() => undefined)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', block: found.block })
})

test('nothing becomes final in a block that is no longer on the chain, at any head', async () => {
  await world.catchUp()
  const id = await world.send()
  await world.broadcast(id)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: false })
  await node.reorg({ depth: 1 })
  const number = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  await node.mine(BLOCKS_TO_FINAL + 6)
  // One node behind the URL reports the newest block, another one is far behind.
  const lagging = toHex(number + 1n)
  between.behave(({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === lagging ? { result: null } : undefined,
  )
  await expect(trackStep(world.ctx, world.chain)).rejects.toMatchObject({ code: 'node_unavailable' })
  expect(await world.rowOf(id)).toMatchObject({ final: false })
  between.behave(() => undefined)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: null, final: false })
})

test('a nonce is not reported as taken while the tracker is on a branch that the chain has left', async () => {
  await world.catchUp()
  const id = await world.send()
  await node.mine()
  await world.catchUp()
  // The tracker's block is replaced by one that has the transaction.
  const [attempt] = await world.sql<
    { raw: string }[]
  >`select raw from tests.attempts where transaction_id = ${id} and rung = 0 and kind = 'rung'`
  await node.rpc('anvil_reorg', [1, [[attempt?.raw, 0]]])
  const { hash } = await node.publicClient.getBlock()
  await node.mine(BLOCKS_TO_FINAL)
  expect((await node.publicClient.getBlock({ blockTag: 'finalized' })).hash).toBe(hash)
  knowNothing()
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ status: 'submitted', code: null })
  between.behave(() => undefined)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', block: hash })
})

test('a nonce is not reported as taken by a count from blocks that the tracker has not processed', async () => {
  await world.catchUp()
  const behind = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  const id = await world.send()
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  // One node behind the URL is at the tracker's block, another one has the transaction in a final block.
  const old = toHex(behind)
  between.behave(async ({ method, params }) => {
    if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') return { result: null }
    const isHead = method === 'eth_getBlockByNumber' && !String(params[0]).startsWith('0x')
    return isHead ? { result: await node.rpc(method, [old, params[1]]) } : undefined
  })
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ code: null, final: false })
  between.behave(() => undefined)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success' })
})
