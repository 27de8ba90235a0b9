// Previews that are expensive for a node, or that fail there: each ends within a known time, with a clear result or
// error.

import { describe, expect, test } from 'bun:test'
import { encodeErrorResult, encodeFunctionData, getAddress, getContractAddress, pad, parseAbi, toHex } from 'viem'
import type { Chain, Hex, Intent, Preview } from '../../../src/chains/chain.ts'
import { runBundle } from '../../../src/chains/evm/bundle.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { createLimits } from '../../../src/chains/evm/limits.ts'
import { coinLog } from '../../../src/chains/evm/logs.ts'
import { createRpc } from '../../../src/chains/node/rpc.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { isLong, longTest } from '../../support/long.ts'
import { afterTests, shared } from '../../support/shared.ts'
import { type Behaviour, startFakeNode, startRawServer } from './fake-node.ts'
import { createMemory } from './memory.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address
const poor = getAddress('0x00000000000000000000000000000000000abcde')
/** A preview may take the node's time limit, and little more. */
const WITHIN_MS = 15_000

const noSimulation: Behaviour = ({ method }) =>
  method === 'eth_simulateV1' ? { error: { code: -32601, message: 'Method not found' } } : undefined
const chainAt = (rpcUrl: string, timeoutMs?: number): Chain =>
  createEvmChain({ row, rpcUrl, memory: createMemory(), ...(timeoutMs === undefined ? {} : { timeoutMs }) })
const call = (functionName: string, args: readonly unknown[] = [], value = 0n): Intent => ({
  to: previewed.address,
  value,
  input: encodeFunctionData({ abi: previewed.abi, functionName, args }),
})
const pay = (value: bigint): Intent => ({ to: other, value, input: '0x' })
const timed = async <T>(work: Promise<T>): Promise<T> => {
  const begun = performance.now()
  const result = await work
  expect(performance.now() - begun).toBeLessThan(WITHIN_MS)
  return result
}
const errors = (previews: readonly Preview[]) => previews.map(({ error }) => error?.slice(0, 18) ?? null)

const node = await shared(startChain('Ethereum'))
const proxy = startFakeNode({ behind: node.rpcUrl, behaviour: noSimulation })
afterTests(() => proxy.stop())
const chain = chainAt(node.rpcUrl)
const tracing = chainAt(proxy.rpcUrl)
const previewed = await node.deploy('Previewed')

const WAYS = [
  ['simulated', () => chain],
  ['traced', () => tracing],
] as const

describe.each(WAYS)('%s', (_, way) => {
  test('what needs more gas than a transaction may have, or is given more, fails alone', async () => {
    const greedy = getAddress(pad('0x86', { size: 20 }))
    // Memory of 100,000 words (Yellow Paper, appendix H).
    await node.testClient.setCode({ address: greedy, bytecode: '0x60006230d3e05200' })
    const asking = { ...call('keep', [1n]), gasLimit: 16_777_217n }
    const previews = await way().preview(rich, [{ to: greedy, value: 0n, input: '0x' }, asking, pay(1n)])
    const told = previews.map(({ error }) => error)
    expect(told.slice(1)).toEqual(['execution failed: gas limit too high (at most 16777216 on Ethereum)', null])
    // Without a simulation a node does not say how much gas it used.
    if (way() === chain)
      expect(told[0]).toMatch(/^execution failed: out of gas: it needs 19[0-9]{6}, and a transaction/)
  })

  test('a call that runs out of gas is the only one that fails', async () => {
    const previews = await timed(way().preview(rich, [call('loop'), call('endless'), pay(1n), call('keep', [1n])]))
    expect(errors(previews)).toEqual([expect.any(String), expect.any(String), null, null])
    expect(previews[0]?.error).toStartWith('execution failed: ')
    expect(previews.map(({ changes }) => changes?.length)).toEqual([0, 0, 1, 0])
  })

  test('a deep but finite recursion succeeds', async () => {
    const [preview] = await timed(way().preview(rich, [call('deep', [150n])]))
    expect(preview).toMatchObject({ success: true, error: null, changes: [] })
  })

  test('a large amount of return data does no harm', async () => {
    const previews = await timed(
      way().preview(rich, [call('giveBack', [1_000_000n]), call('refuseWith', [1_000_000n])]),
    )
    expect(previews[0]).toMatchObject({ success: true, error: null })
    expect(previews[1]?.error).toStartWith('execution reverted: ')
    expect(previews[1]?.error?.length).toBeLessThan(400)
  })

  test('delegate calls to precompiles move nothing, but a payment to a precompile does', async () => {
    const [preview] = await timed(way().preview(rich, [call('precompiles', [], 3n)]))
    const at = getAddress(previewed.address)
    expect(preview?.changes?.map(({ from, to, amount }) => [from, to, amount])).toEqual([
      [rich, at, 3n],
      [at, getAddress('0x0000000000000000000000000000000000000004'), 3n],
    ])
  })

  test('a megabyte of call data gets a clear result', async () => {
    const long: Hex = `0x${'00'.repeat(1_000_000)}`
    const previews = await timed(
      way().preview(rich, [
        { to: other, value: 1n, input: long },
        { to: previewed.address, value: 0n, input: `0x12345678${long.slice(2)}` },
        { to: null, value: 0n, input: long },
      ]),
    )
    expect(errors(previews)).toEqual([null, 'execution reverted', 'execution failed: '])
    expect(previews[2]?.error).toContain('initcode')
  })

  test('a sender without coins and a sender that is a contract can be previewed', async () => {
    for (const from of [poor, getAddress(previewed.address)]) {
      const [kept, paid] = await way().preview(from, [call('keep', [1n]), pay(1n)])
      expect(kept).toMatchObject({ success: true, error: null, changes: [] })
      expect(paid?.error).toStartWith('insufficient funds for transfer')
    }
  })
})

test('of fifty elements any may fail alone, and later ones see the effects of earlier ones', async () => {
  const failing = [0, 1, 24, 48, 49]
  const bundle = Array.from({ length: 50 }, (_, index) =>
    failing.includes(index) ? call('refuse', [], 1n) : pay(BigInt(index)),
  )
  const previews = await timed(chain.preview(rich, bundle))
  expect(previews.map(({ success }) => success)).toEqual(bundle.map((_, index) => !failing.includes(index)))
  expect(previews.map(({ changes }) => changes?.map(({ amount }) => Number(amount)))).toEqual(
    bundle.map((_, index) => (failing.includes(index) || index === 0 ? [] : [index])),
  )
})

test('many elements of every kind each have their own result', async () => {
  // CALLDATALOAD(0), SELFDESTRUCT.
  const mortal = getAddress('0x000000000000000000000000000000000000dead')
  await node.rpc('anvil_setCode', [mortal, '0x600035ff'])
  const create = (input: Hex): Intent => ({ to: null, value: 0n, input })
  const kinds: readonly (readonly [Intent, string | null])[] = [
    [pay(1n), null],
    [call('keep', [5n]), null],
    [call('refuse'), 'execution reverted: refused'],
    [call('precompiles', [], 3n), null],
    [{ to: mortal, value: 1n, input: pad(other) }, null],
    [call('loop'), 'execution failed: '],
    [create('0x60016000526001601ff3'), null],
    [create('0xfe'), 'execution failed: '],
    [create(`0x${'00'.repeat(49_153)}`), 'execution failed: max initcode size exceeded'],
    [pay(2n ** 255n), 'insufficient funds for transfer'],
    [{ ...pay(1n), gasLimit: 20_000n }, 'execution failed: intrinsic gas too low'],
    [{ to: other, value: 0n, input: `0x${'00'.repeat(100_000)}` }, null],
    [call('refuseWith', [100_000n]), 'execution reverted: '],
    [call('giveBack', [100_000n]), null],
    [{ ...call('deep', [100n]), gasLimit: 60_000n }, 'execution '],
    [call('needKept', [5n]), null],
  ]
  const count = isLong ? 50 : kinds.length
  const bundle = Array.from({ length: count }, (_, index) => kinds[index % kinds.length] ?? kinds[0])
  const previews = await timed(
    chain.preview(
      rich,
      bundle.flatMap((kind) => kind?.[0] ?? []),
    ),
  )
  expect(previews.length).toBe(count)
  for (const [index, kind] of bundle.entries()) {
    const { success, error } = previews[index] ?? {}
    const wanted = kind?.[1] ?? null
    expect([index, success, error]).toEqual([
      index,
      wanted === null,
      wanted === null ? null : expect.stringContaining(wanted),
    ])
  }
})

test('a contract created after an element that used up the gas has the address of its own nonce', async () => {
  // Like go-ethereum: creations keep their gas limits, and all elements share the gas of one block.
  const limit = 30_000_000n
  const [loop, keep] = [call('loop'), call('keep', [1n])]
  const failed = { status: '0x0', returnData: '0x', logs: [] }
  const shared = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method, params }) => {
      if (method !== 'eth_simulateV1') return undefined
      const [{ blockStateCalls }] = params as [{ blockStateCalls: { calls: { to?: Hex; data?: Hex }[] }[] }]
      let left = limit
      const ends: unknown[] = []
      for (const [index, { to, data }] of (blockStateCalls[0]?.calls ?? []).entries()) {
        if (left < 21_000n) return { error: { code: -38013, message: `err: intrinsic gas too low: have ${left}` } }
        const used = data === loop.input ? left : 21_000n
        left -= used
        const gasUsed = toHex(used)
        const born = getContractAddress({ from: rich, nonce: BigInt(7 + index) }).toLowerCase()
        const log = { ...coinLog({ from: rich, to: born as Hex, amount: 1n }) }
        if (data === loop.input) ends.push({ ...failed, gasUsed, error: { code: -32000, message: 'out of gas' } })
        else ends.push({ ...failed, status: '0x1', gasUsed, logs: to === undefined ? [log] : [] })
      }
      return { result: [{ calls: ends, gasLimit: toHex(limit) }] }
    },
  })
  const create: Intent = { to: null, value: 1n, input: '0x00' }
  const previews = await chainAt(shared.rpcUrl).preview(rich, [keep, loop, create, loop, { ...loop, to: null }, create])
  shared.stop()
  expect(errors(previews)).toEqual([null, 'execution failed: ', null, 'execution failed: ', 'execution failed: ', null])
  const bornAt = (nonce: bigint) => getContractAddress({ from: rich, nonce })
  expect(previews.map(({ changes }) => changes?.map(({ to }) => to))).toEqual([
    [],
    [],
    [bornAt(9n)],
    [],
    [],
    [bornAt(12n)],
  ])
})

longTest('if a bundle shares the gas of one block, an element that uses it up takes none from later ones', async () => {
  // Like go-ethereum: a call without a limit may use the remaining gas; if none is left, the whole request is refused.
  const limit = 30_000_000n
  const pooled = startFakeNode({
    behind: node.rpcUrl,
    behaviour: async ({ method, params }) => {
      if (method !== 'eth_simulateV1') return undefined
      const [{ blockStateCalls }] = params as [{ blockStateCalls: { calls: Record<string, unknown>[] }[] }]
      const [{ calls } = { calls: [] }] = blockStateCalls
      let left = limit
      const given: Record<string, unknown>[] = []
      const outOfGas: number[] = []
      let ends: Record<string, unknown>[] = []
      for (const each of calls) {
        if (left < 21_000n) return { error: { code: -38013, message: `err: intrinsic gas too low: have ${left}` } }
        given.push({ ...each, gas: `0x${left.toString(16)}` })
        const asked = { blockStateCalls: [{ calls: given }], validation: false, traceTransfers: true }
        const [block] = (await node.rpc(method, [asked, 'latest'])) as [{ calls: Record<string, unknown>[] }]
        ends = block.calls
        const used = BigInt(String(ends.at(-1)?.gasUsed))
        if (used === left) outOfGas.push(given.length - 1)
        left -= used
      }
      const told = ends.map((end, at) => (outOfGas.includes(at) ? { ...end, error: { message: 'out of gas' } } : end))
      return { result: [{ calls: told, gasLimit: `0x${limit.toString(16)}` }] }
    },
  })
  const previews = await chainAt(pooled.rpcUrl).preview(rich, [
    call('keep', [7n]),
    call('loop'),
    call('needKept', [7n]),
    call('burnMost'),
    call('keep', [8n]),
    call('needKept', [8n]),
    call('needKept', [7n]),
    call('loop'),
  ])
  pooled.stop()
  expect(errors(previews)).toEqual([
    null,
    'execution failed: ',
    null,
    'execution reverted',
    null,
    null,
    'execution reverted',
    'execution failed: ',
  ])
  expect(previews[6]?.error).toBe('execution reverted: kept differs')
})

test('a node that does not answer is reported when its time is over', async () => {
  const silent = startFakeNode({ behaviour: () => new Promise(() => {}) })
  const begun = performance.now()
  await expect(chainAt(silent.rpcUrl, 300).preview(rich, [pay(1n)])).rejects.toMatchObject({
    code: 'node_unavailable',
    trouble: 'timeout',
    message: 'The Ethereum node did not answer within 300 ms.',
  })
  expect(performance.now() - begun).toBeLessThan(2_000)
  silent.stop()
})

test('a node that refuses slowly is not asked without end', async () => {
  let nowMs = 0
  const slow = startFakeNode({
    behaviour: () => {
      nowMs += 14_000
      return { error: { code: -38013, message: 'intrinsic gas too low' } }
    },
  })
  const rpc = createRpc({ rpcUrl: slow.rpcUrl, network: 'Ethereum' })
  const calls = Array.from({ length: 50 }, () => pay(1n))
  const ran = runBundle(rpc, createLimits(), { from: rich, calls, nowMs: () => nowMs })
  await expect(ran).rejects.toMatchObject({ code: 'node_unavailable', trouble: 'timeout' })
  expect(slow.calls.length).toBe(3)
  slow.stop()
})

test('a node with invalid answers is reported as unavailable', async () => {
  const id = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true }).chainId
  const results: unknown[] = [
    null,
    'yes',
    [],
    [{}],
    [{ calls: [] }],
    [{ calls: [{ status: '0x1' }] }],
    [{ calls: [{ status: '0x1', gasUsed: '0x1', logs: [{ address: other }] }] }],
    [{ calls: [{ status: 'good', gasUsed: '0x1' }] }],
  ]
  const odd = startFakeNode({})
  for (const result of results) {
    odd.behave(({ method }) => ({ result: method === 'eth_chainId' ? `0x${id.toString(16)}` : result }))
    await expect(chainAt(odd.rpcUrl).preview(rich, [pay(1n)])).rejects.toMatchObject({ code: 'node_unavailable' })
  }
  odd.stop()
  const right = JSON.stringify([{ jsonrpc: '2.0', id: 1, result: `0x${id.toString(16)}` }])
  const texts = [
    ...['', '<html>', '[]', '{}', 'null', '{"jsonrpc":"2.0","id":1}'],
    ...[right.slice(0, -3), right.replace('"id":1', '"id":99'), right, `<html>${'<p>'.repeat(4_000_000)}`],
  ]
  for (const text of texts) {
    const raw = startRawServer(() => new Response(text))
    await expect(chainAt(raw.rpcUrl).preview(rich, [pay(1n)])).rejects.toMatchObject({ code: 'node_unavailable' })
    raw.stop()
  }
})

longTest('an answer of twelve megabytes is read, and its reason is shortened', async () => {
  const revert = encodeErrorResult({
    abi: parseAbi(['error Error(string text)']),
    errorName: 'Error',
    args: ['x'.repeat(6_000_000)],
  })
  const wordy = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) =>
      method === 'eth_simulateV1'
        ? { result: [{ calls: [{ status: '0x0', gasUsed: '0x5208', returnData: revert, logs: [] }] }] }
        : undefined,
  })
  const [preview] = await timed(chainAt(wordy.rpcUrl).preview(rich, [call('refuse')]))
  wordy.stop()
  expect(preview).toMatchObject({ success: false, error: `execution reverted: ${'x'.repeat(300)}` })
})
