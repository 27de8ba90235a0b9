// Two nodes of one Substrate network: what cannot be taken back is recorded only if both say so.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { encodeAddress } from '@polkadot/util-crypto'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { someOf } from '../support/long.ts'
import { devAccount, startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { type Stepped, startStepped } from './stepped.ts'

/** The shortest era: the last block that takes the extrinsic is at most so many above the newest one. */
const ERA_BLOCKS = 4
/** twox128("System"), twox128("Events") and twox128("Account") (sp_storage). */
const EVENTS_KEY = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7'
const ACCOUNT_KEY = '0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9'

let chain: TestSubstrateChain
let other: ReturnType<typeof startFakeNode>
let world: Stepped

beforeAll(async () => {
  chain = await startSubstrateChain('Polkadot')
  const to = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(to)
  await chain.setMode('manual')
  other = startFakeNode({ behind: chain.rpcUrl })
  world = await startStepped({
    node: {
      ...chain,
      fund: async (address) => {
        await chain.fund(address)
        await chain.newBlock()
      },
      poolMined: () => chain.newBlock(),
    },
    rpcUrls: `${chain.rpcUrl} ${other.rpcUrl}`,
    to,
  })
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

const hashAt = (number?: number) => chain.rpc('chain_getBlockHash', number === undefined ? [] : [number])
const newest = async () => Number(((await chain.rpc('chain_getHeader')) as { number: string }).number)

/** The node has the newest blocks, but says that only those up to this one are final. */
const finalUpTo = async (number: number): Promise<Behaviour> => {
  const hash = await hashAt(number)
  return ({ method }) => (method === 'chain_getFinalizedHead' ? { result: hash } : undefined)
}

const storageIs =
  (key: string, result: unknown): Behaviour =>
  ({ method, params }) =>
    method === 'state_getStorage' && String(params[0]).startsWith(key) ? { result } : undefined

/** Each for the block that the extrinsic is in. */
const DISAGREEMENTS: Record<string, (number: number) => Behaviour | Promise<Behaviour>> = {
  'does not have its block':
    (number) =>
    async ({ method, params }) =>
      method === 'chain_getBlock' && params[0] === (await hashAt(number)) ? { result: null } : undefined,
  'has another block at its height':
    (number) =>
    ({ method, params }) =>
      method === 'chain_getBlockHash' && params[0] === number ? { result: `0x${'ab'.repeat(32)}` } : undefined,
  'has no event that says how it ended': () => storageIs(EVENTS_KEY, '0x00'),
  'refuses to say':
    () =>
    ({ method }) =>
      method === 'chain_getBlock' ? { error: { code: -32_603, message: 'Internal error' } } : undefined,
  'has its block, but not as final': (number) => finalUpTo(number - 1),
}

test.each(someOf(Object.keys(DISAGREEMENTS), 5))('an extrinsic is not final while the other node %s', async (name) => {
  await world.catchUp()
  const id = await world.send()
  await world.broadcast(id)
  other.behave((await DISAGREEMENTS[name]?.(await newest())) ?? ANSWERS)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: false, code: null })
  other.behave(ANSWERS)
  await chain.newBlock()
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success', final: true, code: null })
})

test('an era is not over while its last block is not final for the other node', async () => {
  await world.catchUp()
  const id = await world.send(undefined, { era: String(ERA_BLOCKS) })
  other.behave(await finalUpTo(await newest()))
  await chain.newBlock(ERA_BLOCKS + 1)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'submitted', final: false, code: null })
  other.behave(ANSWERS)
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'failed', final: true, code: 'expired' })
})

test('a nonce is not reported as taken while the other node does not count it, or has our extrinsic', async () => {
  const signer = await world.newSigner()
  await world.catchUp()
  const { json: outside } = await world.act('sign', signer, { value: '2' })
  const id = await world.send(signer)
  const [{ raw } = { raw: '' }] = await world.sql<{ raw: string }[]>`
    select raw from tests.attempts where transaction_id = ${id}`
  await chain.rpc('author_submitExtrinsic', [outside])
  await chain.newBlock(2)
  await world.catchUp()
  other.behave(storageIs(ACCOUNT_KEY, null))
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ final: false, code: null })
  other.behave(({ method }) => (method === 'author_pendingExtrinsics' ? { result: [raw] } : undefined))
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ final: false, code: null })
  other.behave(ANSWERS)
  await world.reconcile()
  expect(await world.rowOf(id)).toMatchObject({ status: 'failed', final: true, code: 'nonce_taken' })
})
