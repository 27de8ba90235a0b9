// Several nodes of one network, of which some are in trouble: two proxies in front of one anvil.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { NodeUnavailable } from '../../../src/chains/node/rpc.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { isLong, longTest, someOf } from '../../support/long.ts'
import { shared } from '../../support/shared.ts'
import { type SickNode, startSickNode, TROUBLES } from '../../support/sick-node.ts'
import { until } from '../../support/until.ts'
import { startFakeNode } from '../evm/fake-node.ts'
import { createMemory } from '../evm/memory.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const TIMEOUT_MS = 750
/** Where each question that is answered is a single one. */
const SHORT_TIMEOUT_MS = 400
const MORE_THAN_A_FEW_BLOCKS = 20

let first: SickNode
let second: SickNode
const open: { stop: () => unknown }[] = []

const node = await shared(startChain('Ethereum'))
beforeEach(() => {
  first = startSickNode(node.rpcUrl)
  second = startSickNode(node.rpcUrl)
  open.push(first, second)
})
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop()
})

const chainOf = (rpcUrl: string, ...furtherRpcUrls: readonly string[]): Chain =>
  createEvmChain({ row, rpcUrl, furtherRpcUrls, timeoutMs: TIMEOUT_MS, memory: createMemory() })

const hastyChainOf = (rpcUrl: string): Chain =>
  createEvmChain({ row, rpcUrl, timeoutMs: SHORT_TIMEOUT_MS, memory: createMemory() })

const both = () => chainOf(first.url, second.url)

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

/** Blocks as far apart as on a real chain. */
const mineSome = () => node.rpc('anvil_mine', [`0x${MORE_THAN_A_FEW_BLOCKS.toString(16)}`, '0xc'])

const stateOf = (chain: Chain, position: number) => chain.nodeViews()[position - 1]?.state

const signedTransfer = async () => {
  const account = fundedAccount(3)
  const request = await node.walletClient.prepareTransactionRequest({
    account,
    to: fundedAccount(4).address,
    value: 1n,
  })
  return account.signTransaction({ ...request, account: undefined } as never)
}

const ALL_TROUBLES = TROUBLES.flatMap((trouble) =>
  (['HTTP', 'WebSocket'] as const).flatMap((by) => [1, 2].map((position) => [trouble, by, position] as const)),
)

/** A fifth of them in the suite: both ways, both positions, and each trouble but lies, which the next test has. */
describe.each(someOf(ALL_TROUBLES, 5))('one of two nodes %s, by %s, node %d', (trouble, by, position) => {
  test('every question is answered, and by a node that is not in trouble', async () => {
    const chain = by === 'HTTP' ? both() : chainOf(first.wsUrl, second.wsUrl)
    const sick = position === 1 ? first : second
    const well = position === 1 ? second : first
    await chain.lookAtNodes()
    await sick.fall(trouble)
    await mineSome()
    const address = fundedAccount(1).address
    for (let times = 0; times < (isLong ? 5 : 2); times += 1) {
      const balances = await chain.balances({ address, contracts: [] })
      expect(balances.coin).toBeGreaterThan(0n)
      expect((await chain.head()).latest.number).toBeGreaterThanOrEqual(0n)
      expect(await chain.isRightNode()).toBe(true)
      expect(await chain.confirmNode()).toBeFalsy()
    }
    // Only with time: a node that lags is found at the next look.
    await chain.lookAtNodes()
    const newest = await node.publicClient.getBlockNumber({ cacheTime: 0 })
    expect((await chain.head()).latest.number).toBe(newest)
    well.takeAsked()
    expect((await chain.broadcast(await signedTransfer())).kind).toBe('accepted')
    await node.poolMined()
  })
})

test('a node that is right again is used again', async () => {
  const chain = both()
  await chain.lookAtNodes()
  await first.fall('lies')
  await chain.head()
  await until(() => stateOf(chain, 1) === 'wrong_chain')
  await first.fall(null)
  await until(async () => {
    await chain.head()
    return stateOf(chain, 1) === 'up'
  })
  second.takeAsked()
  await chain.balances({ address: fundedAccount(1).address, contracts: [] })
  expect(second.takeAsked()).not.toContain('eth_getBalance')
})

test('a signed transaction is sent to all nodes, and one acceptance counts', async () => {
  const chain = both()
  expect((await chain.broadcast(await signedTransfer())).kind).toBe('accepted')
  await until(() => second.takeAsked().includes('eth_sendRawTransaction'))
  expect(first.takeAsked()).toContain('eth_sendRawTransaction')
  await node.poolMined()
  await first.fall('answers 500')
  expect((await chain.broadcast(await signedTransfer())).kind).toBe('accepted')
  await node.poolMined()
})

test('without an acceptance, the answer of a node that is certain counts', async () => {
  const chain = both()
  await first.fall('closes')
  const raw = await signedTransfer()
  expect((await chain.broadcast(raw)).kind).toBe('accepted')
  await node.poolMined()
  expect((await chain.broadcast(raw)).kind).toBe('nonce_too_low')
})

test('a node that is far behind is asked after the others, and its head is not reported', async () => {
  const chain = both()
  await chain.lookAtNodes()
  await first.fall('lags')
  await mineSome()
  const newest = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  await chain.lookAtNodes()
  expect(chain.nodeViews()).toMatchObject([
    { name: '1 (127.0.0.1)', state: 'behind', height: newest - BigInt(MORE_THAN_A_FEW_BLOCKS) },
    { name: '2 (127.0.0.1)', state: 'up', height: newest },
  ])
  expect((await chain.head()).latest.number).toBe(newest)
  // Now only the node that is behind answers.
  await second.fall('closes')
  expect((await chain.head()).latest.number).toBe(newest)
})

test('a node that lacks the state of a block is no hindrance where another one has it', async () => {
  const pruned = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method, params }) =>
      method === 'eth_getTransactionCount' && params[1] !== 'latest'
        ? { error: { code: -32_000, message: 'missing trie node' } }
        : undefined,
  })
  open.push(pruned)
  const blockNumber = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  const at = { address: fundedAccount(9).address, blockNumber }
  expect(await chainOf(pruned.rpcUrl).transactionCountAt(at)).toBeNull()
  expect(await chainOf(pruned.rpcUrl, second.url).transactionCountAt(at)).toBe(0)
})

test('a look does not ask a node that asked for a pause', async () => {
  let requests = 0
  const busy = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => {
      requests += 1
      return new Response('slow down', { status: 429, headers: { 'retry-after': '60' } })
    },
  })
  open.push(busy)
  const chain = chainOf(`http://127.0.0.1:${busy.port}`, second.url)
  expect((await chain.lookAtNodes()).map(({ state }) => state)).toEqual(['resting', 'up'])
  const before = requests
  expect((await chain.lookAtNodes()).map(({ state }) => state)).toEqual(['resting', 'up'])
  expect(requests).toBe(before)
})

test('the words of a contract are not those of a busy node, or of one that lacks a block', async () => {
  for (const words of ['Sale capacity exceeded', 'rate limit', 'missing trie node', 'header not found']) {
    const reverting = startFakeNode({
      behind: node.rpcUrl,
      behaviour: ({ method }) =>
        method === 'eth_call' ? { error: { code: 3, message: `execution reverted: ${words}` } } : undefined,
    })
    open.push(reverting)
    const chain = chainOf(reverting.rpcUrl, second.url)
    await chain.lookAtNodes()
    second.takeAsked()
    const { address } = fundedAccount(1)
    const intent = { to: address, value: 0n, input: '0x', gasLimit: 50_000n } as const
    expect(await errorOf(chain.prepare(intent, address, { pending: async () => [] }))).toMatchObject({
      code: 'execution_reverted',
      message: `execution reverted: ${words}`,
    })
    expect(second.takeAsked()).not.toContain('eth_call')
  }
})

test('a refusal of the question itself is not asked elsewhere', async () => {
  const chain = both()
  const { address } = fundedAccount(1)
  await chain.lookAtNodes()
  second.takeAsked()
  await errorOf(chain.names?.addressOfName('nobody.eth') ?? Promise.resolve())
  await errorOf(chain.prepare({ to: address, value: 10n ** 30n, input: '0x' } as never, address, {} as never))
  expect(second.takeAsked().filter((method) => method !== 'eth_getBlockByNumber' && method !== 'eth_chainId')).toEqual(
    [],
  )
})

describe('a single node', () => {
  test('that hangs is not asked again until it answers a probe; calls fail at once with the reason', async () => {
    const chain = hastyChainOf(first.url)
    await chain.head()
    await first.fall('hangs')
    expect(await errorOf(chain.head())).toMatchObject({ code: 'node_unavailable', trouble: 'timeout' })
    first.takeAsked()
    const refusal = await errorOf(chain.head())
    expect(refusal).toBeInstanceOf(NodeUnavailable)
    expect((refusal as Error).message).toMatch(
      /^The Ethereum node has not answered since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ; it is asked again at \S+Z\.$/,
    )
    expect(first.takeAsked()).not.toContain('eth_getBlockByNumber finalized')
    expect(stateOf(chain, 1)).toBe('down')
    await first.fall(null)
    await until(async () => (await errorOf(chain.head())) === null)
    expect(stateOf(chain, 1)).toBe('up')
  })

  test('that only leaves one question unanswered stays in use', async () => {
    const slow = startFakeNode({
      behind: node.rpcUrl,
      behaviour: async ({ method }) => {
        if (method === 'eth_getBalance') await sleep(2 * SHORT_TIMEOUT_MS)
        return undefined
      },
    })
    open.push(slow)
    const chain = hastyChainOf(slow.rpcUrl)
    const late = errorOf(chain.balances({ address: fundedAccount(1).address, contracts: [] }))
    expect(await late).toMatchObject({ code: 'node_unavailable' })
    expect(await errorOf(chain.head())).toBeNull()
  })

  test('that fails quickly is asked again at once, however often it failed', async () => {
    const chain = chainOf(first.url)
    await first.fall('answers 500')
    for (let times = 0; times < 6; times += 1) {
      expect(await errorOf(chain.head())).toMatchObject({ message: 'The Ethereum node answered with HTTP status 500.' })
    }
    expect(stateOf(chain, 1)).toBe('failing')
    await first.fall(null)
    expect(await errorOf(chain.head())).toBeNull()
  })

  longTest('that asks for a short pause gets it, and the call waits for it', async () => {
    const chain = chainOf(first.url)
    await first.fall('answers 429')
    const head = chain.head()
    await until(() => stateOf(chain, 1) === 'resting')
    await first.fall(null)
    first.takeAsked()
    expect((await head).latest.number).toBeGreaterThanOrEqual(0n)
  })

  test('is named by its position and host, and never by a path, a query or a user', async () => {
    const chain = chainOf('http://user:secret@127.0.0.1:1/secret?key=secret', 'http://127.0.0.1:1/also-secret')
    const views = await chain.lookAtNodes()
    expect(views.map(({ name }) => name)).toEqual(['1 (127.0.0.1)', '2 (127.0.0.1)'])
    expect(JSON.stringify(views, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
      'secret',
    )
  })
})

test('a node that hung is asked again within the request, if the other one fails by then', async () => {
  const chain = both()
  await chain.lookAtNodes()
  await first.fall('hangs')
  const head = chain.head()
  await until(() => first.takeAsked().includes('eth_getBlockByNumber'))
  // The question that hangs stays unanswered.
  await second.fall('answers 500')
  await first.fall(null)
  expect((await head).latest.number).toBeGreaterThanOrEqual(0n)
})
