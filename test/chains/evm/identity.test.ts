// Only a node with the right chain id is used, and it is asked for the chain id again and again.

import { afterEach, describe, expect, test } from 'bun:test'
import { identifyChain } from '../../../src/chains/evm/chain.ts'
import { identified } from '../../../src/chains/node/identity.ts'
import { createRpc, NodeUnavailable, question, RPC_BATCH_LIMIT } from '../../../src/chains/node/rpc.ts'
import { quantity } from '../../../src/chains/node/wire.ts'
import { startFakeNode } from './fake-node.ts'

const [RIGHT, WRONG] = [11_155_111, 1]
const LONG_MS = 3_600_000

const open: { stop: () => unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop()
})

/** A node that answers everything with 7, and `eth_chainId` with the given ids in turn. The last one is repeated. */
const start = (...chainIds: readonly number[]) => {
  const state = { chainIds: [...chainIds], now: 0 }
  const node = startFakeNode({
    behaviour: ({ method }) => {
      if (method !== 'eth_chainId') return { result: '0x7' }
      const [chainId = 0] = state.chainIds.length > 1 ? state.chainIds.splice(0, 1) : state.chainIds
      return { result: `0x${chainId.toString(16)}` }
    },
  })
  open.push(node)
  const plain = createRpc({ rpcUrl: node.rpcUrl, network: 'Ethereum', timeoutMs: 1_000 })
  const identity = identified({ plain, network: 'Ethereum', identity: identifyChain(RIGHT), nowMs: () => state.now })
  /** The calls since the last time. */
  const calls = () => node.calls.splice(0).map((methods) => methods.join(' '))
  return { state, node, calls, ...identity }
}

const seven = question('seven', [], quantity)
const send = question('eth_sendRawTransaction', [], quantity)

const refusal = async (promise: Promise<unknown>): Promise<unknown> => {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  return error instanceof NodeUnavailable ? error.code : error
}

describe('a request', () => {
  test('asks for the chain id too if it was not confirmed recently', async () => {
    const { state, rpc, calls } = start(RIGHT)
    for (let each = 0; each < 2; each += 1) expect(await rpc.ask(seven)).toBe(7n)
    expect(calls()).toEqual(['eth_chainId seven', 'seven'])
    state.now += LONG_MS
    expect(await rpc.ask(seven)).toBe(7n)
    expect(calls()).toEqual(['eth_chainId seven'])
  })

  test('notices within five seconds that the node is of another chain now', async () => {
    const { state, rpc } = start(RIGHT, WRONG)
    await rpc.ask(seven)
    state.now += 5_000
    expect(await refusal(rpc.ask(seven))).toBe('wrong_chain')
    expect(await refusal(rpc.ask(seven))).toBe('wrong_chain')
  })

  test('asks for the chain id after a request that failed', async () => {
    const { rpc, calls } = start(RIGHT, WRONG)
    await rpc.ask(seven)
    const broken = question('eth_broken', [], () => quantity(null))
    expect(await refusal(rpc.ask(broken))).toBe('node_unavailable')
    calls()
    expect(await refusal(rpc.ask(seven))).toBe('wrong_chain')
    expect(calls()).toEqual(['eth_chainId seven'])
  })

  test('sends nothing if there is nothing to ask', async () => {
    const { rpc, calls } = start(RIGHT)
    expect(await rpc.askAll([null, null])).toEqual([null, null])
    expect(calls()).toEqual([])
  })
})

describe('a request for what is not taken back later', () => {
  test('asks for the chain id too, in every batch', async () => {
    const { certain: rpc, node, calls } = start(RIGHT)
    expect(await rpc.ask(seven)).toBe(7n)
    expect(await rpc.askAll([seven, null, seven])).toEqual([7n, null, 7n])
    expect(calls()).toEqual(['eth_chainId seven', 'eth_chainId seven seven'])
    const many = Array.from({ length: 2 * RPC_BATCH_LIMIT }, () => seven)
    expect(await rpc.askAll(many)).toEqual(many.map(() => 7n))
    const sizes = node.calls.map(([first, ...rest]) => [first, rest.length])
    expect(sizes.toSorted((one, other) => Number(other[1]) - Number(one[1]))).toEqual([
      ['eth_chainId', RPC_BATCH_LIMIT - 1],
      ['eth_chainId', RPC_BATCH_LIMIT - 1],
      ['eth_chainId', 2],
    ])
  })

  test('fails if the node is of another chain, until the right one is back', async () => {
    const { certain: rpc } = start(WRONG, WRONG, RIGHT)
    await expect(rpc.ask(seven)).rejects.toMatchObject({
      code: 'wrong_chain',
      retryable: true,
      message: 'The Ethereum node answers for chain id 1, and must for 11155111.',
    })
    expect(await refusal(rpc.askAll([seven, seven]))).toBe('wrong_chain')
    expect(await rpc.ask(seven)).toBe(7n)
  })

  test('with alternating nodes behind one URL uses the answers of the right one only', async () => {
    const { certain: rpc } = start(RIGHT, WRONG, RIGHT, WRONG, RIGHT)
    const ends: unknown[] = []
    for (let each = 0; each < 5; each += 1) ends.push(await refusal(rpc.ask(seven)))
    expect(ends).toEqual([null, 'wrong_chain', null, 'wrong_chain', null])
  })

  test('is not answered if the node refuses only the chain id; if it refuses the whole batch, that is a refusal', async () => {
    const { certain: rpc, node } = start(RIGHT)
    const no = { error: { code: -32005, message: 'query returned more than 10000 results' } }
    node.behave(({ method }) => (method === 'eth_chainId' ? no : { result: '0x7' }))
    expect(await refusal(rpc.try(seven))).toBe('node_unavailable')
    node.behave(() => no)
    expect(await rpc.try(seven)).toMatchObject({ ok: false, error: { message: no.error.message } })
  })

  test('a malformed chain id means that the node is unavailable', async () => {
    const { certain: rpc, node } = start(RIGHT)
    for (const result of [null, 11_155_111, '11155111', '', '0x', {}, `0x${'f'.repeat(60)}`]) {
      node.behave(({ method }) => ({ result: method === 'eth_chainId' ? result : '0x7' }))
      expect([result, await refusal(rpc.ask(seven))]).toEqual([result, 'node_unavailable'])
    }
  })
})

describe('a signed transaction', () => {
  test('is sent only to a node whose chain id was confirmed recently', async () => {
    const { state, outbound, calls } = start(RIGHT, RIGHT, WRONG, RIGHT)
    for (let each = 0; each < 2; each += 1) await outbound.try(send)
    expect(calls()).toEqual(['eth_chainId', 'eth_sendRawTransaction', 'eth_sendRawTransaction'])
    state.now += LONG_MS
    await outbound.try(send)
    expect(calls()).toEqual(['eth_chainId', 'eth_sendRawTransaction'])
    state.now += LONG_MS
    expect(await refusal(outbound.try(send))).toBe('wrong_chain')
    expect(calls()).toEqual(['eth_chainId'])
    await outbound.try(send)
    expect(calls()).toEqual(['eth_chainId', 'eth_sendRawTransaction'])
  })

  test('is sent at once if another request has just confirmed the chain id', async () => {
    const { rpc, outbound, calls } = start(RIGHT)
    await rpc.ask(seven)
    await outbound.try(send)
    expect(calls()).toEqual(['eth_chainId seven', 'eth_sendRawTransaction'])
  })

  test('shares one question for the chain id with others that are sent at the same time', async () => {
    const { outbound, calls } = start(RIGHT)
    await Promise.all(Array.from({ length: 20 }, () => outbound.try(send)))
    expect(calls().filter((methods) => methods === 'eth_chainId').length).toBe(1)
  })
})

describe('a signature that needs nothing else from the node', () => {
  test('waits for the first answer, but never again', async () => {
    const { confirm, calls } = start(RIGHT)
    const [one, other] = [confirm(), confirm()]
    expect([one === null, other === null]).toEqual([false, false])
    await Promise.all([one, other])
    expect(confirm()).toBeNull()
    expect(calls()).toEqual(['eth_chainId'])
  })

  test('is refused while the node’s last answer named another chain', async () => {
    const { confirm, node } = start(WRONG, WRONG, RIGHT)
    for (let each = 0; each < 2; each += 1) expect(await refusal(confirm() ?? Promise.resolve())).toBe('wrong_chain')
    await confirm()
    expect(confirm()).toBeNull()
    await node.stop()
    const { confirm: wrong, node: away } = start(WRONG)
    expect(await refusal(wrong() ?? Promise.resolve())).toBe('wrong_chain')
    await away.stop()
    expect(await refusal(wrong() ?? Promise.resolve())).toBe('node_unavailable')
  })

  test('waits once for a node that never answers, but never again', async () => {
    const { state, confirm, node } = start(RIGHT)
    await node.stop()
    await confirm()
    for (let each = 0; each < 2; each += 1) {
      state.now += LONG_MS
      expect(confirm()).toBeNull()
    }
  })

  test('uses the last answer, however old, while the chain id is asked for again', async () => {
    const { state, confirm, readChainId, node, calls } = start(RIGHT, WRONG)
    await confirm()
    calls()
    state.now += LONG_MS
    expect([confirm(), confirm(), confirm()]).toEqual([null, null, null])
    // A request at this moment shares the question that is under way.
    expect(await readChainId()).toBe(WRONG)
    expect(calls()).toEqual(['eth_chainId'])
    expect(await refusal(confirm() ?? Promise.resolve())).toBe('wrong_chain')
    await node.stop()
  })

  test('is given while the node is away, which is tried now and then', async () => {
    const { state, confirm, readChainId, node } = start(RIGHT)
    await confirm()
    await node.stop()
    for (let each = 0; each < 3; each += 1) {
      state.now += LONG_MS
      expect(confirm()).toBeNull()
      expect(await refusal(readChainId())).toBe('node_unavailable')
    }
  })
})
