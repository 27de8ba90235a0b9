// Events that no local chain of the tests emits, encoded by the metadata of the current Asset Hub.

import { afterAll, expect, test } from 'bun:test'
import type { Hex } from '../../../src/chains/chain.ts'
import { hashOfExtrinsic } from '../../../src/chains/substrate/blocks.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { createMemory } from '../evm/memory.ts'
import { type FakeEvent, startFakeChain } from './fake-chain.ts'
import { assetHubRuntime } from './metadata.ts'

const hub = assetHubRuntime()
const SIGNED: Hex = '0x0c840102'
const HASH = `0x${'11'.repeat(32)}`
const FUNDS = { Token: 'FundsUnavailable' }
const weight = { refTime: 1, proofSize: 1 }
const nodes: ReturnType<typeof startFakeChain>[] = []
afterAll(() => Promise.all(nodes.map((node) => node.stop())))

const statusAfter = async (...events: readonly FakeEvent[]) => {
  const success: FakeEvent = [0, 'System', 'ExtrinsicSuccess', [{}]]
  const node = startFakeChain([
    { runtime: hub, by: hub },
    { runtime: hub, by: hub, extrinsics: [SIGNED], events: [...events, success] },
  ])
  nodes.push(node)
  const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
  const genesisHash = node.hashOf(0)
  const chain = createSubstrateChain({ row: { ...row, genesisHash }, rpcUrl: node.rpcUrl, memory: createMemory() })
  const [status] = await chain.statuses([{ hash: hashOfExtrinsic(SIGNED), blockHash: node.hashOf(1) }])
  return status?.kind === 'mined' ? [status.success, status.reason] : status
}

const whitelisted = (result: object): FakeEvent => [0, 'Whitelist', 'WhitelistedCallDispatched', [HASH, result]]

test.each<[string, FakeEvent, string]>([
  [
    'an error with post-dispatch info',
    whitelisted({ Err: { postInfo: {}, error: FUNDS } }),
    'Whitelist.WhitelistedCallDispatched: Token.FundsUnavailable',
  ],
  [
    'an incomplete XCM program',
    [0, 'PolkadotXcm', 'Attempted', [{ Incomplete: { used: weight, error: { index: 1, error: 'Barrier' } } }]],
    'PolkadotXcm.Attempted: Barrier',
  ],
  [
    'an XCM program with an error',
    [0, 'PolkadotXcm', 'Attempted', [{ Error: { index: 0, error: { Trap: 7 } } }]],
    'PolkadotXcm.Attempted: Trap',
  ],
])('%s is a failure of its extrinsic', async (_, event, reason) => {
  expect(await statusAfter(event)).toEqual([false, reason])
})

test('a completed call, a failure of another extrinsic, and an event without an error are no failure', async () => {
  const ofTheRuntime: FakeEvent = [null, 'Scheduler', 'Dispatched', [[1, 0], null, { Err: FUNDS }]]
  const ofAnother: FakeEvent = [1, 'Proxy', 'ProxyExecuted', [{ Err: FUNDS }]]
  const complete: FakeEvent = [0, 'PolkadotXcm', 'Attempted', [{ Complete: { used: weight } }]]
  const fine = whitelisted({ Ok: {} })
  const fallback: FakeEvent = [0, 'Utility', 'ItemCompleted', []]
  expect(await statusAfter(ofTheRuntime, ofAnother, complete, fine, fallback)).toEqual([true, null])
})
