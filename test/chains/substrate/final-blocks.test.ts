// Final blocks for the tracker: read in few round trips, and never a block that could still be replaced, even if
// several nodes behind one URL answer differently.

import { afterEach, expect, test } from 'bun:test'
import type { Hex } from '../../../src/chains/chain.ts'
import { hashOfExtrinsic } from '../../../src/chains/substrate/blocks.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { createMemory } from '../evm/memory.ts'
import { type FakeBlock, startFakeChain } from './fake-chain.ts'
import { assetHubRuntime } from './metadata.ts'

const runtime = assetHubRuntime()
const SIGNED: Hex = '0x0c840102'
const plain: FakeBlock = { runtime, by: runtime, extrinsics: [SIGNED] }
const ended: FakeBlock = { ...plain, events: [[0, 'System', 'ExtrinsicSuccess', [{}]]] }
/** The hash of another branch at a height. */
const other = (number: number): Hex => `0x${'ee'.repeat(31)}${number.toString(16).padStart(2, '0')}`

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const start = (count: number, made: FakeBlock = plain) => {
  const blocks = Array.from({ length: count }, () => made)
  const node = startFakeChain(blocks)
  stops.push(node.stop)
  const row = { ...substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true }) }
  const chain = createSubstrateChain({
    row: { ...row, genesisHash: node.hashOf(0), watch: { ...row.watch, stalledAfterMs: 60_000 } },
    rpcUrl: node.rpcUrl,
    memory: createMemory(),
  })
  /** Round trips since the last call. */
  const trips = () => node.calls.splice(0).length
  return { blocks, node, chain, trips }
}

test('the newest block takes three round trips, a poll takes one, and older blocks take little more than one each', async () => {
  const { blocks, node, chain, trips } = start(100)
  const follow = async (number: bigint) => {
    const { latest } = await chain.head()
    const block = await chain.block(number)
    expect(block).toMatchObject({
      number,
      hash: node.hashOf(Number(number)),
      transactionHashes: [hashOfExtrinsic(SIGNED)],
    })
    return latest.number
  }
  expect(await follow(99n)).toBe(99n)
  expect(trips()).toBe(3)
  await chain.head()
  expect(trips()).toBe(1)
  blocks.push(plain, plain)
  expect(await follow(100n)).toBe(101n)
  expect(trips()).toBe(3)
  await follow(101n)
  expect(trips()).toBe(2)
  // Far behind: with each poll for the head.
  for (let number = 1n; number <= 64n; number += 1n) await follow(number)
  expect(trips()).toBeLessThanOrEqual(2 * 64 + 4)
})

test('only blocks up to the final one are read', async () => {
  const { node, chain } = start(10)
  node.behaveBefore(({ method }) => (method === 'chain_getFinalizedHead' ? { result: node.hashOf(4) } : undefined))
  expect((await chain.block(4n))?.number).toBe(4n)
  expect(await chain.block(5n)).toBeNull()
  expect(await chain.block(10n)).toBeNull()
})

test('a hash of another branch is not used, in any order of the answers', async () => {
  const { node, chain } = start(10)
  let asked = 0
  // The first answer is from before block 5 was final there, though the final head beside it is from after.
  node.behaveBefore(({ method, params }) => {
    const header = { number: '0x5', parentHash: node.hashOf(4) }
    if (method === 'chain_getBlock' && params[0] === other(5)) return { result: { block: { header, extrinsics: [] } } }
    if (method !== 'chain_getBlockHash' || params[0] !== 5) return undefined
    asked += 1
    return { result: asked === 1 ? other(5) : node.hashOf(5) }
  })
  expect(await chain.block(5n)).toBeNull()
  expect((await chain.block(5n))?.hash).toBe(node.hashOf(5))
  // A hash that was read ahead must be final as well.
  asked = 0
  expect((await chain.block(4n))?.hash).toBe(node.hashOf(4))
  expect((await chain.block(5n))?.hash).toBe(node.hashOf(5))
})

test('a block is null while the node lacks it, and is read once the node has it, with or without its state', async () => {
  const { blocks, node, chain } = start(10)
  await chain.head()
  blocks[9] = { ...plain, bodiless: true }
  expect(await chain.block(9n)).toBeNull()
  blocks[9] = plain
  expect((await chain.block(9n))?.hash).toBe(node.hashOf(9))
  expect(await chain.history(9n)).toBe('kept')
  blocks[9] = { ...plain, bodiless: true }
  expect(await chain.history(9n)).toBe('pruned')
})

test('a result is reported only from final blocks; if the node lacks the block, the status says so', async () => {
  const { blocks, node, chain, trips } = start(10, ended)
  const hash = hashOfExtrinsic(SIGNED)
  const status = async () => (await chain.statuses([{ hash, blockHash: node.hashOf(5) }]))[0]
  await status()
  trips()
  expect(await status()).toMatchObject({ kind: 'mined', success: true, blockNumber: 5n, confirmations: 5 })
  expect(trips()).toBe(3)
  node.behaveBefore(({ method }) => (method === 'chain_getFinalizedHead' ? { result: node.hashOf(4) } : undefined))
  expect(await status()).toEqual({ kind: 'unknown' })
  for (const answers of [
    [other(5), node.hashOf(5)],
    [node.hashOf(5), other(5)],
  ]) {
    node.behaveBefore(({ method, params }) =>
      method === 'chain_getBlockHash' && params[0] === 5 ? { result: answers.shift() } : undefined,
    )
    expect(await status()).toEqual({ kind: 'unknown' })
  }
  node.behaveBefore(() => undefined)
  blocks[5] = { ...ended, bodiless: true }
  expect(await status()).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('archive node') })
})

test('an extrinsic is searched in the final chain, and is not reported as missing if blocks are lacking', async () => {
  const { blocks, node, chain } = start(10, { ...ended, extrinsics: [] })
  node.behaveBefore(({ method }) => (method === 'author_pendingExtrinsics' ? { result: [] } : undefined))
  const hash = hashOfExtrinsic(SIGNED)
  expect(await chain.status(hash)).toEqual({ kind: 'unknown' })
  blocks.push(ended)
  const found = await Promise.all([chain.status(hash), chain.status(hash)])
  expect(found.map((each) => each.kind)).toEqual(['mined', 'mined'])
  // A node on another branch, which has the extrinsic there.
  node.behaveBefore(({ method, params }) => {
    if (method === 'author_pendingExtrinsics') return { result: [] }
    return method === 'chain_getBlockHash' && params[0] === 11 ? { result: node.hashOf(10) } : undefined
  })
  blocks.push({ ...ended, extrinsics: [] })
  await expect(chain.status(hashOfExtrinsic('0x0c840103'))).rejects.toMatchObject({ code: 'node_unavailable' })
  node.behaveBefore(({ method }) => (method === 'author_pendingExtrinsics' ? { result: [] } : undefined))
  expect(await chain.status(hashOfExtrinsic('0x0c840103'))).toEqual({ kind: 'unknown' })
})

test('a node whose blocks do not become final is stalled, even if it makes blocks', async () => {
  const { node, chain } = start(10)
  node.behaveBefore(({ method, params }) =>
    method === 'chain_getHeader' && params.length === 0
      ? { result: { number: '0x384', parentHash: node.hashOf(9) } }
      : undefined,
  )
  const [view] = await chain.lookAtNodes()
  expect(view).toMatchObject({ state: 'stalled', height: 9n })
  expect(view?.headAgeSeconds).toBeGreaterThan(60)
})
