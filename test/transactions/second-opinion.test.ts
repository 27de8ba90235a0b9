// Two nodes of one network: what cannot be taken back is recorded only if both say so.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Stepped, startStepped } from './stepped.ts'

/** With one slot per epoch, a block is final when two blocks are above it. */
const SLOTS = ['--slots-in-an-epoch', '1']
const BLOCKS_TO_FINAL = 4

let node: TestChain
let other: ReturnType<typeof startFakeNode>
let world: Stepped

beforeAll(async () => {
  node = await startChain('Ethereum', { flags: SLOTS })
  other = startFakeNode({ behind: node.rpcUrl })
  world = await startStepped({ node, rpcUrls: `${node.rpcUrl} ${other.rpcUrl}` })
})

afterAll(async () => {
  await world.close()
  await other.stop()
})

const ANSWERS: Behaviour = () => undefined

beforeEach(async () => {
  other.behave(ANSWERS)
  await world.chain.lookAtNodes()
})

/** A transaction that succeeded, in a block that is final by now. */
const mined = async (): Promise<string> => {
  await world.catchUp()
  const id = await world.send()
  await world.broadcast(id)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: false, code: null })
  return id
}

const receiptWith = (change: object): Behaviour => {
  return async ({ method, params }) => {
    if (method !== 'eth_getTransactionReceipt') return undefined
    return { result: { ...((await node.rpc(method, params)) as object), ...change } }
  }
}

const DISAGREEMENTS: Record<string, Behaviour> = {
  'has it in another block': receiptWith({ blockHash: `0x${'ab'.repeat(32)}` }),
  'does not know it': ({ method }) => (method.startsWith('eth_getTransaction') ? { result: null } : undefined),
  'says that it failed': receiptWith({ status: '0x0' }),
  'refuses to say': ({ method }) =>
    method === 'eth_getTransactionReceipt' ? { error: { code: -32_603, message: 'Internal error' } } : undefined,
}

test('a transaction that the other node says has failed has no result while the nodes disagree', async () => {
  await world.catchUp()
  const id = await world.send()
  other.behave(receiptWith({ status: '0x0' }))
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'pending', final: false, code: null })
  other.behave(ANSWERS)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test.each(someOf(Object.keys(DISAGREEMENTS), 4))('a transaction is not final while the other node %s', async (name) => {
  const id = await mined()
  other.behave(DISAGREEMENTS[name] ?? ANSWERS)
  await node.mine(BLOCKS_TO_FINAL)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: false, code: null })
  other.behave(ANSWERS)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

longTest('a transaction is not final while its block is not final for the other node', async () => {
  const id = await mined()
  const { number } = (await world.chain.head()).latest
  const old = `0x${number.toString(16)}`
  other.behave(async ({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized'
      ? { result: await node.rpc(method, [`0x${(number - 1n).toString(16)}`, false]) }
      : undefined,
  )
  await node.mine(BLOCKS_TO_FINAL)
  await world.catchUp()
  expect({ old, ...(await world.rowOf(id)) }).toMatchObject({ final: false })
  other.behave(ANSWERS)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true })
})

test('a nonce is not reported as taken while the other node does not count it, or has our transaction', async () => {
  await world.catchUp()
  const address = await world.newSigner()
  const id = await world.send(address)
  await node.rpc('anvil_setNonce', [address, '0x1'])
  await node.mine(BLOCKS_TO_FINAL)
  await world.catchUp()
  other.behave(({ method }) => (method === 'eth_getTransactionCount' ? { result: '0x0' } : undefined))
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ final: false, code: null })
  other.behave(({ method }) => (method === 'eth_getTransactionByHash' ? { result: { hash: '0x1' } } : undefined))
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ final: false, code: null })
  other.behave(ANSWERS)
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ status: 'failed', final: true, code: 'nonce_taken' })
})

test('a node that is away has no opinion: the other one decides', async () => {
  const id = await mined()
  await other.stop()
  await node.mine(BLOCKS_TO_FINAL)
  while ((await world.chain.lookAtNodes())[1]?.state !== 'failing' || world.chain.opinions().length === 2)
    await world.chain.lookAtNodes()
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true })
})
