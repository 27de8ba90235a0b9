// Answers of nodes to a sent extrinsic. The codes are those of polkadot-sdk's author RPC (sc-rpc-api, author/error.rs),
// from 1000 on. Older nodes give the reason in the message, newer ones in the data.

import { afterAll, expect, test } from 'bun:test'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { startFakeNode } from '../evm/fake-node.ts'
import { createMemory } from '../evm/memory.ts'

const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
const node = startFakeNode({})
afterAll(() => node.stop())
const chain = createSubstrateChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })

const outcomeOf = (answer: { result: unknown } | { error: { code: number; message: string; data?: unknown } }) => {
  node.behave(({ method }) => (method === 'author_submitExtrinsic' ? answer : { result: row.genesisHash }))
  return chain.broadcast('0x280402000bc0d8a3b89101')
}

const INVALID = 'Invalid Transaction'

test.each([
  [1010, INVALID, 'Transaction is outdated', 'nonce_too_low'],
  [1010, 'Invalid Transaction: InvalidTransaction::Stale', undefined, 'nonce_too_low'],
  [1010, INVALID, 'Transaction will be valid in the future', 'nonce_too_high'],
  [1010, INVALID, 'Inability to pay some fees (e.g. account balance too low)', 'insufficient_funds'],
  [1010, INVALID, 'Transaction has a bad signature', 'rejected'],
  [1010, INVALID, 'Transaction has an ancient birth block', 'rejected'],
  [1010, INVALID, 'Custom error: 3', 'rejected'],
  [1011, 'Unknown Transaction Validity', 'NoUnsignedValidator', 'unknown'],
  [1012, 'Transaction is temporarily banned', undefined, 'unknown'],
  [1013, 'Transaction Already Imported', '0x91b1', 'accepted'],
  [1014, 'Priority is too low: (7 vs 7)', 'The transaction has too low priority', 'underpriced'],
  [1016, 'Immediately Dropped', 'The transaction could not enter the pool because of the limit', 'unknown'],
  [1002, 'Verification Error: Runtime error: Execution failed', 'RuntimeApi("...")', 'rejected'],
  [-32601, 'Method not found', undefined, 'rejected'],
])('%d %s: %s is %s', async (code, message, data, kind) => {
  const outcome = await outcomeOf({ error: { code, message, ...(data === undefined ? {} : { data }) } })
  expect(outcome.kind).toBe(kind as typeof outcome.kind)
  if ('reason' in outcome) expect(outcome.reason).toBe([message, data].filter((text) => text !== undefined).join(' '))
})

test('a hash means accepted, and any other result means unknown', async () => {
  expect(await outcomeOf({ result: `0x${'ab'.repeat(32)}` })).toEqual({ kind: 'accepted' })
  expect(await outcomeOf({ result: null })).toMatchObject({ kind: 'unknown' })
  expect(await outcomeOf({ result: { code: 1012 } })).toMatchObject({ kind: 'unknown' })
})
