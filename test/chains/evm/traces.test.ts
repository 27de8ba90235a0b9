import { expect, test } from 'bun:test'
import { traceQuestion } from '../../../src/chains/evm/traces.ts'

const a = `0x${'a'.repeat(40)}` as const
const b = `0x${'b'.repeat(40)}`
const c = `0x${'c'.repeat(40)}`
const transactionHash = `0x${'1'.repeat(64)}` as const
const blockHash = `0x${'2'.repeat(64)}` as const
const shared = { blockHash, blockNumber: 1, transactionHash, transactionPosition: 0, subtraces: 0, result: {} }

const call = (traceAddress: number[], from: string, to: string, value: string, extra: object = {}) => ({
  ...shared,
  type: 'call',
  action: { callType: 'call', from, to, value, gas: '0x0', input: '0x' },
  traceAddress,
  ...extra,
})

const flat = (traces: unknown) => traceQuestion('trace_block', 1n).parse(traces)
const tree = (traces: unknown) => traceQuestion('debug_traceBlockByNumber', 1n).parse(traces)
const amounts = (traced: ReturnType<typeof flat>) =>
  traced?.moves.get(transactionHash)?.map(({ amount, isOwn }) => [amount, isOwn])

/** From OpenEthereum's trace module: calls, creations, self-destructions, and rewards without a transaction. */
test('flat traces: movements of the coin are in order, beginning with the transaction’s own', () => {
  const traced = flat([
    call([], a, b, '0x5'),
    call([0], b, c, '0x0'),
    call([1], b, c, '0x2'),
    {
      ...shared,
      type: 'create',
      action: { from: b, value: '0x3', init: '0x' },
      result: { address: c },
      traceAddress: [2],
    },
    {
      ...shared,
      type: 'suicide',
      action: { address: c, refundAddress: a, balance: '0x3' },
      result: null,
      traceAddress: [2, 0],
    },
    {
      type: 'reward',
      action: { author: a, value: '0x9', rewardType: 'block' },
      blockHash,
      transactionHash: null,
      traceAddress: [],
    },
  ])
  expect(traced?.blockHash).toBe(blockHash)
  expect([...(traced?.senders ?? [])]).toEqual([[transactionHash, a]])
  expect(amounts(traced)).toEqual([
    [5n, true],
    [2n, false],
    [3n, false],
    [3n, false],
  ])
})

test('flat traces: a failed call and all calls below it move nothing', () => {
  expect(
    amounts(
      flat([
        call([], a, b, '0x5'),
        call([0], b, c, '0x1', { error: 'Reverted' }),
        call([0, 0], c, a, '0x1'),
        call([0, 0, 0], c, a, '0x1'),
        call([1], b, c, '0x2'),
        call([10], b, c, '0x3'),
      ]),
    ),
  ).toEqual([
    [5n, true],
    [2n, false],
    [3n, false],
  ])
  expect(amounts(flat([call([], a, b, '0x5', { error: 'Out of gas' }), call([0], b, c, '0x1')]))).toEqual([])
})

test('flat traces: a delegate call does not move the value that it names', () => {
  for (const callType of ['delegatecall', 'staticcall', 'callcode']) {
    const inner = call([0], b, c, '0x5')
    expect(amounts(flat([call([], a, b, '0x5'), { ...inner, action: { ...inner.action, callType } }]))).toEqual([
      [5n, true],
    ])
  }
})

/** go-ethereum, eth/tracers/native/call.go. */
const frame = (type: string, from: string, to: string, value: string | undefined, rest: object = {}) => ({
  type,
  from,
  to,
  gas: '0x0',
  gasUsed: '0x0',
  input: '0x',
  ...(value === undefined ? {} : { value }),
  ...rest,
})

test('call trees give the same movements as flat traces', () => {
  const result = frame('CALL', a, b, '0x5', {
    calls: [
      frame('STATICCALL', b, c, undefined),
      frame('DELEGATECALL', b, c, '0x5', { calls: [frame('CALL', b, a, '0x1')] }),
      frame('CALL', b, c, '0x2', { error: 'execution reverted', calls: [frame('CALL', c, a, '0x2')] }),
      frame('CREATE2', b, c, '0x3', { calls: [frame('SELFDESTRUCT', c, a, '0x3')] }),
      frame('CALLCODE', b, c, '0x4'),
    ],
  })
  const traced = tree([{ txHash: transactionHash, result }])
  expect([...(traced?.senders ?? [])]).toEqual([[transactionHash, a]])
  expect(amounts(traced)).toEqual([
    [5n, true],
    [1n, false],
    [3n, false],
    [3n, false],
  ])
})

test('a transaction whose trace is an error counts as not traced', () => {
  const traced = tree([{ txHash: transactionHash, error: 'execution timeout' }])
  expect(traced?.moves.has(transactionHash)).toBe(false)
})

test('unreadable traces count as no traces', () => {
  for (const value of [
    null,
    {},
    [null],
    [{}],
    [{ ...call([], a, b, '0x5'), action: null }],
    [call([], 'x', b, '0x5')],
  ]) {
    expect(flat(value)).toBeNull()
  }
  for (const value of [null, {}, [null], [{ txHash: 'x', result: {} }], [{ txHash: transactionHash, result: 5 }]]) {
    expect(tree(value)).toBeNull()
  }
})
