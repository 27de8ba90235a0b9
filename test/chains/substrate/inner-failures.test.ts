// Events that no local chain of the tests emits, encoded by the metadata of the current Asset Hub.

import { expect, test } from 'bun:test'
import type { Hex } from '../../../src/chains/chain.ts'
import { hashOfExtrinsic } from '../../../src/chains/substrate/blocks.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { afterTests } from '../../support/shared.ts'
import { createMemory } from '../evm/memory.ts'
import { type FakeEvent, startFakeChain } from './fake-chain.ts'
import { assetHubRuntime } from './metadata.ts'

const hub = assetHubRuntime()
const SIGNED: Hex = '0x0c840102'
const HASH = `0x${'11'.repeat(32)}`
const FUNDS = { Token: 'FundsUnavailable' }
const weight = { refTime: 1, proofSize: 1 }
const whitelisted = (result: object): FakeEvent => [0, 'Whitelist', 'WhitelistedCallDispatched', [HASH, result]]

const FAILURES: readonly (readonly [string, FakeEvent, string])[] = [
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
]

const NO_FAILURES: readonly FakeEvent[] = [
  [null, 'Scheduler', 'Dispatched', [[1, 0], null, { Err: FUNDS }]],
  [1, 'Proxy', 'ProxyExecuted', [{ Err: FUNDS }]],
  [0, 'PolkadotXcm', 'Attempted', [{ Complete: { used: weight } }]],
  whitelisted({ Ok: {} }),
  [0, 'Utility', 'ItemCompleted', []],
]

/** A block for each failure, and one for what is no failure. Each has the same extrinsic. */
const SUCCESS: FakeEvent = [0, 'System', 'ExtrinsicSuccess', [{}]]
const node = startFakeChain([
  { runtime: hub, by: hub },
  ...[...FAILURES.map(([, event]) => [event]), NO_FAILURES].map((events) => ({
    ...{ runtime: hub, by: hub, extrinsics: [SIGNED] },
    events: [...events, SUCCESS],
  })),
])
afterTests(() => node.stop())
const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
const chain = createSubstrateChain({
  row: { ...row, genesisHash: node.hashOf(0) },
  ...{ rpcUrl: node.rpcUrl, memory: createMemory() },
})

const statusIn = async (block: number) => {
  const [status] = await chain.statuses([{ hash: hashOfExtrinsic(SIGNED), blockHash: node.hashOf(block) }])
  return status?.kind === 'mined' ? [status.success, status.reason] : status
}

test.each(FAILURES.map(([what, , reason], index) => [what, reason, index + 1] as const))(
  '%s is a failure of its extrinsic',
  async (_, reason, block) => {
    expect(await statusIn(block)).toEqual([false, reason])
  },
)

test('a completed call, a failure of another extrinsic, and an event without an error are no failure', async () => {
  expect(await statusIn(FAILURES.length + 1)).toEqual([true, null])
})
