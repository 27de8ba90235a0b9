import { expect, test } from 'bun:test'
import { encodeAbiParameters, encodeErrorResult, type Hex, parseAbi } from 'viem'
import type { AbiInput, AbiItem } from '../../../src/chains/chain.ts'
import { selectorOf, signatureOf } from '../../../src/chains/evm/abi-types.ts'
import {
  cannotSimulateCreation,
  isBlockMissing,
  isExecutionFailure,
  isHistoryPruned,
  isMethodMissing,
  isNoFunds,
  isPendingMissing,
  isRangeTooWide,
  isRevert,
  isStateMissing,
} from '../../../src/chains/evm/node-errors.ts'
import { describeFailure, informativeness, REASON_LIMIT, revertReason } from '../../../src/chains/evm/reverts.ts'
import { RpcError } from '../../../src/chains/node/rpc.ts'
import { cleanText } from '../../../src/chains/text.ts'

const alice = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const error = (message: string, code = -32000, data?: unknown): RpcError =>
  new RpcError({ method: 'eth_call', code, message, data })

const text = (reason: string): Hex => `0x08c379a0${encodeAbiParameters([{ type: 'string' }], [reason]).slice(2)}`

test('reads texts, panics and known errors', () => {
  const abi = parseAbi([
    'error OwnableUnauthorizedAccount(address account)',
    'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
    'error EnforcedPause()',
    'error Strange(uint256 number)',
  ])
  // The selectors of OpenZeppelin Contracts 5.
  expect(encodeErrorResult({ abi, errorName: 'OwnableUnauthorizedAccount', args: [alice] })).toStartWith('0x118cdaa7')
  const cases: [Hex, string][] = [
    ['0x', 'no reason given'],
    ['0x08c379', 'no reason given'],
    [text('no way'), 'no way'],
    [text(''), 'an empty reason'],
    ['0x08c379a0', 'a reason that cannot be read'],
    [`0x08c379a0${'ff'.repeat(64)}`, 'a reason that cannot be read'],
    [`0x4e487b71${'01'.padStart(64, '0')}`, 'panic: assertion failed (0x01)'],
    [`0x4e487b71${'11'.padStart(64, '0')}`, 'panic: arithmetic overflow or underflow (0x11)'],
    [`0x4e487b71${'99'.padStart(64, '0')}`, 'panic: unknown panic (0x99)'],
    ['0x4e487b71', 'a panic that cannot be read'],
    [
      encodeErrorResult({ abi, errorName: 'OwnableUnauthorizedAccount', args: [alice] }),
      `OwnableUnauthorizedAccount(account: ${alice})`,
    ],
    [
      encodeErrorResult({ abi, errorName: 'ERC20InsufficientBalance', args: [alice, 1n, 2n] }),
      `ERC20InsufficientBalance(sender: ${alice}, balance: 1, needed: 2)`,
    ],
    [encodeErrorResult({ abi, errorName: 'EnforcedPause' }), 'EnforcedPause()'],
    [encodeErrorResult({ abi, errorName: 'Strange', args: [1n] }).slice(0, 10) as Hex, 'custom error 0x'],
    ['0x118cdaa7', 'custom error 0x118cdaa7'],
  ]
  for (const [data, reason] of cases) expect(revertReason(data)).toStartWith(reason)
})

// Solidity documentation, "Panic via assert and Error via require".
test.each([
  ['00', 'unspecified panic'],
  ['01', 'assertion failed'],
  ['11', 'arithmetic overflow or underflow'],
  ['12', 'division or modulo by zero'],
  ['21', 'conversion to an enum value that does not exist'],
  ['22', 'storage byte array encoded incorrectly'],
  ['31', 'pop on an empty array'],
  ['32', 'array index out of bounds'],
  ['41', 'too much memory allocated'],
  ['51', 'call of a function variable that was never set'],
  ['f'.repeat(64), 'unknown panic'],
])('a panic is told in words and by its code: 0x%s', (code, words) => {
  expect(revertReason(`0x4e487b71${code.padStart(64, '0')}`)).toBe(`panic: ${words} (0x${code})`)
})

test('a hostile reason becomes one line of limited length', () => {
  const reason = revertReason(text(`a\nb\u0000\u202ec${'x'.repeat(100_000)}`))
  expect(reason).toStartWith('a bcx')
  expect([...reason].length).toBe(REASON_LIMIT)
})

test('reads a failure from every place where nodes put it', () => {
  const cases: [RpcError, string][] = [
    [error('execution reverted: no way', 3, text('no way')), 'execution reverted: no way'],
    // nethermind and OpenEthereum.
    [error('VM execution error.', -32015, `Reverted ${text('no way')}`), 'execution reverted: no way'],
    // hardhat.
    [
      error('VM Exception while processing transaction: reverted', -32603, { data: text('no way') }),
      'execution reverted: no way',
    ],
    [error('execution reverted: no way', -32000), 'execution reverted: no way'],
    [error('execution reverted', 3, '0x'), 'execution reverted: no reason given'],
    [error('Execution reverted', -32000), 'execution reverted: no reason given'],
    [error('out of gas'), 'execution failed: out of gas'],
    [error('invalid opcode: INVALID'), 'execution failed: invalid opcode: INVALID'],
    [error('insufficient funds for gas * price + value: address 0x1 have 0 want 5'), 'insufficient funds for transfer'],
    [error('err: insufficient funds for transfer (supplied gas 1)', -38014), 'insufficient funds for transfer'],
  ]
  for (const [from, failure] of cases) {
    expect(describeFailure(from)).toBe(failure)
    expect(isExecutionFailure(from)).toBe(true)
  }
})

test('an error of the node is not mistaken for a failure of the call', () => {
  for (const each of [
    error('rate limit exceeded', -32005),
    error('header not found'),
    error('method not found', -32601),
    error('internal error', -32603),
    error('missing trie node'),
    error('execution aborted (timeout = 5s)'),
    error(''),
  ]) {
    expect([each.message, isExecutionFailure(each)]).toEqual([each.message, false])
  }
})

test('recognises messages about missing methods', () => {
  for (const each of [
    error('the method trace_block does not exist/is not available', -32601),
    error('Method not found', -32601),
    error('Unsupported method: trace_block', -32600),
    error('trace_block is not available on the Free tier - upgrade to Pay As You Go', -32600),
    error('rpc method is not whitelisted', -32001),
    error('method not supported', -32004),
  ]) {
    expect([each.message, isMethodMissing(each)]).toEqual([each.message, true])
  }
  for (const each of [error('execution reverted', 3), error('header not found'), error('block not found')]) {
    expect(isMethodMissing(each)).toBe(false)
  }
})

test('recognises messages about ranges that are too wide', () => {
  // The messages of the providers; their sources are next to the patterns.
  for (const message of [
    'query returned more than 10000 results. Try with this block range [0xBDE5F8, 0x102DBCC].',
    'range 1000000 exceeds limit of 10000',
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size',
    'You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1, 0x2]',
    'eth_getLogs is limited to a 10,000 range',
    'eth_getLogs is limited to 1024 block range. Please check the parameter requirements',
    'eth_getLogs is limited to 0 - 10000 blocks range',
    'block range is too wide',
    'block range too large',
    'Block range limit exceeded.',
    'exceed maximum block range: 50000',
    'maximum block range: 50000',
    'Maximum allowed number of requested blocks is 3500',
    'requested too many blocks from 1 to 5000, maximum is set to 2048',
    'please limit the query to at most 1000 blocks',
    'query exceeds max results 20000, retry with the range 24383075-24383096',
    'query exceeds max block range 100000',
    'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range',
    'backend response too large',
    'logs matched by query exceeds limit of 10000',
    'query timeout exceeded',
  ]) {
    expect([message, isRangeTooWide(error(message))]).toEqual([message, true])
  }
  for (const message of [
    'rate limit exceeded',
    'limited to 10 requests per second',
    'header not found',
    'unknown block',
  ]) {
    expect([message, isRangeTooWide(error(message))]).toEqual([message, false])
  }
})

test('recognises messages about pruned state', () => {
  for (const message of [
    'missing trie node 1d3b (path ) state 0x is not available',
    'historical state abc is not available',
    'required historical state unavailable (reexec=128)',
    'state at block #1 is pruned',
    'Required data unavailable',
  ]) {
    expect([message, isStateMissing(error(message))]).toEqual([message, true])
  }
  expect(isStateMissing(error('too many requests'))).toBe(false)
})

// What nodes say of themselves, each as the text of a contract: the contract may be the caller's, or an attacker's.
const CONTRACT_WORDS = [
  'Insufficient balance',
  'insufficient funds for gas * price + value',
  'InsufficientFunds',
  'overdraws from account',
  'method not found',
  'missing trie node',
  'query returned more than 10000 results',
  'pending block is not available',
  'header not found',
  'state at block #1 is pruned',
  'out of gas',
  'missing keys: ["to"]',
]

// Three ways in which nodes tell a revert: go-ethereum, hardhat, nethermind; and by the words or the data alone.
const tellings: readonly (readonly [string, (words: string) => RpcError])[] = [
  ['go-ethereum', (words) => error(`execution reverted: ${words}`, 3, text(words))],
  ['code 3 alone', (words) => error(words, 3)],
  ['the words alone', (words) => error(`execution reverted: ${words}`)],
  [
    'hardhat',
    (words) =>
      error(`VM Exception while processing transaction: reverted with reason string '${words}'`, -32603, {
        data: text(words),
      }),
  ],
  ['nethermind', (words) => error('VM execution error.', -32015, `Reverted ${text(words)}`)],
  ['the data alone', (words) => error(words, -32000, text(words))],
]

test.each(tellings)('the words of a contract are not taken for those of the node: %s', (_, tell) => {
  const ofNode = {
    cannotSimulateCreation,
    isBlockMissing,
    isHistoryPruned,
    isMethodMissing,
    isNoFunds,
    isPendingMissing,
    isRangeTooWide,
    isStateMissing,
  }
  for (const words of CONTRACT_WORDS) {
    const told = tell(words)
    const taken = Object.entries(ofNode).flatMap(([name, is]) => (is(told) ? [name] : []))
    expect([words, isRevert(told), isExecutionFailure(told), taken]).toEqual([words, true, true, []])
    expect(describeFailure(told)).toStartWith('execution reverted: ')
    expect(describeFailure(told)).toContain(words)
  }
})

test('the code of a revert without any bytes of a contract hides no words of the node', () => {
  // zksync-era core/node/api_server: SubmitTransactionError
  expect(isNoFunds(error('insufficient funds for gas + value. balance: 1, fee: 2, value: 3', 3, '0x'))).toBe(true)
  expect(isNoFunds(error('execution reverted: insufficient funds', 3, '0x'))).toBe(false)
})

test('the words of a node are not a revert', () => {
  expect(isRevert(error('insufficient funds for transfer'))).toBe(false)
  expect(isRevert(error('execution aborted (timeout = 5s)', -32000, '0x'))).toBe(false)
  expect(isRevert(error('rate limited', -32005, { see: 'https://example.com/limits' }))).toBe(false)
})

test('a reason that a contract passes on from another one is shown without its encoding', () => {
  const bytes = (hex: Hex): string => Buffer.from(hex.slice(2), 'hex').toString('latin1')
  // `string.concat("caught: ", string(reason))`: the text of a reason is the bytes of an error.
  const passedOn = (before: string, reason: Hex): Hex =>
    `0x08c379a0${encodeAbiParameters([{ type: 'bytes' }], [`0x${Buffer.from(before + bytes(reason), 'latin1').toString('hex')}`]).slice(2)}`
  expect(revertReason(passedOn('caught: ', text('no way')))).toBe('caught: no way')
  expect(revertReason(passedOn('', text('no way')))).toBe('no way')
  expect(revertReason(passedOn('outer: ', passedOn('inner: ', text('no way'))))).toBe('outer: inner: no way')
  expect(revertReason(passedOn('caught: ', `0x4e487b71${'11'.padStart(64, '0')}`))).toBe(
    'caught: panic: arithmetic overflow or underflow (0x11)',
  )
  // A text that only has the four bytes in it stays as it is.
  expect(revertReason(passedOn('caught: ', '0x08c379a0'))).toStartWith('caught: ')
  let deep = text('no way')
  for (let at = 0; at < 300; at += 1) deep = passedOn('', deep)
  expect([...revertReason(deep)].length).toBeLessThanOrEqual(REASON_LIMIT)
})

test('prefers a custom error or a text to a panic, and a panic to no reason', () => {
  const ordered = [
    'execution reverted: OwnableUnauthorizedAccount(0x1)',
    'execution reverted: custom error 0x12345678',
    'execution reverted: panic: assertion failed (0x01)',
    'execution reverted: no reason given',
    'execution failed: out of gas',
  ]
  expect(ordered.toReversed().toSorted((one, other) => informativeness(other) - informativeness(one))).toEqual(ordered)
})

test('texts lose invisible and reordering characters, and keep every script', () => {
  expect(cleanText('  a\u0000b\u202e\u200b \n\t c\u2028d  ', 64)).toBe('ab cd'.replace('cd', 'c d'))
  expect(cleanText('日本語 ‘π’ 🦄 ﷽', 64)).toBe('日本語 ‘π’ 🦄 ﷽')
  // Cleaned once or twice, it is the same.
  expect(cleanText('a \u200b b', 64)).toBe('a b')
  expect(cleanText('🦄'.repeat(100), 64)).toBe('🦄'.repeat(64))
  expect(cleanText('\ud800x\udfff', 64)).toBe('x')
  const started = performance.now()
  expect(cleanText(' \n'.repeat(5_000_000), 64)).toBe('')
  expect(performance.now() - started).toBeLessThan(200)
})

const custom = (name: string, inputs: readonly AbiInput[], values: string): { error: AbiItem; data: Hex } => {
  const error = { name, inputs }
  return { error, data: `${selectorOf(signatureOf(error))}${values}` }
}
const word = (hex: string): string => hex.padStart(64, '0')

test('an error that the operator declared is shown with the names of its parameters', () => {
  const inputs: AbiInput[] = [
    { name: '_who', type: 'address' },
    { name: '', type: 'int8' },
    { name: 'why', type: 'string' },
    {
      name: 'doors',
      type: 'tuple[]',
      components: [
        { name: 'open', type: 'bool' },
        { name: '', type: 'bytes4' },
      ],
    },
  ]
  const text = Buffer.from('a)", b\n\u202e')
  const values = [
    word(alice.slice(2).toLowerCase()),
    'f'.repeat(64),
    word('80'),
    word('c0'),
    word(text.length.toString(16)),
    text.toString('hex').padEnd(64, '0'),
    word('1'),
    word('1'),
    'aabbccdd'.padEnd(64, '0'),
  ].join('')
  const { error, data } = custom('Barred', inputs, values)
  const told = `Barred(who: ${alice}, -1, why: "a)\\", b\\n", doors: [{open: true, 0xaabbccdd}])`
  expect(revertReason(data, { bound: [], general: [error] })).toBe(told)
  expect(revertReason(data, { bound: [error], general: [] })).toBe(told)
  expect(revertReason(data)).toBe(`custom error ${data.slice(0, 10)}`)
  // One byte more than it declares.
  expect(revertReason(`${data}00`, { bound: [error], general: [] })).toBe(`custom error ${data.slice(0, 10)}`)
})

test('the parameters of an error are shown in one line of limited length, and are read quickly', () => {
  const long = 'x'.repeat(120_000)
  const values = word('20') + word(long.length.toString(16)) + Buffer.from(long).toString('hex')
  const { error, data } = custom('Long', [{ name: 'text', type: 'string' }], values)
  const started = performance.now()
  const reason = revertReason(data, { bound: [], general: [error] })
  expect(performance.now() - started).toBeLessThan(100)
  expect(reason).toStartWith('Long(text: "xxx')
  expect([...reason].length).toBe(REASON_LIMIT)
})

test('a declaration of an operator does not change how texts and panics are read', () => {
  const declared = (name: string, type: string) => ({
    bound: [{ name, inputs: [{ name: 'fooled', type }] }],
    general: [],
  })
  expect(revertReason(text('no way'), declared('Error', 'string'))).toBe('no way')
  expect(revertReason(`0x4e487b71${word('12')}`, declared('Panic', 'uint256'))).toBe(
    'panic: division or modulo by zero (0x12)',
  )
})
