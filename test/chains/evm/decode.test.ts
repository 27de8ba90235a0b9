import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeFunctionData, parseAbi } from 'viem'
import type { Hex } from '../../../src/chains/chain.ts'
import { decodeCall, dependsOnStandard } from '../../../src/chains/evm/decode.ts'
import { roundsOf } from '../../support/long.ts'

const contract = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const alice = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const bob = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const max = 2n ** 256n - 1n

const encode = (declaration: string, args: readonly unknown[]): Hex => {
  const declarations: readonly string[] = [declaration]
  const abi = parseAbi(declarations)
  return encodeFunctionData({ abi, args })
}
const decode = (input: Hex, standard?: 'erc20' | 'erc721' | 'erc1155') => decodeCall({ to: contract, input }, standard)

/** Selectors from the EIPs and 4byte.directory. */
const SELECTORS: readonly (readonly [Hex, string, string, readonly unknown[], Record<string, unknown>])[] = [
  ['0xa9059cbb', 'transfer', 'function transfer(address,uint256)', [alice, max], { to: alice, value: String(max) }],
  ['0x095ea7b3', 'approve', 'function approve(address,uint256)', [alice, 0n], { spender: alice, value: '0' }],
  [
    '0x23b872dd',
    'transferFrom',
    'function transferFrom(address,address,uint256)',
    [alice, bob, 7n],
    { from: alice, to: bob, value: '7' },
  ],
  [
    '0x42842e0e',
    'safeTransferFrom',
    'function safeTransferFrom(address,address,uint256)',
    [alice, bob, 7n],
    { from: alice, to: bob, tokenId: '7' },
  ],
  [
    '0xb88d4fde',
    'safeTransferFrom',
    'function safeTransferFrom(address,address,uint256,bytes)',
    [alice, bob, 7n, '0xabcd'],
    { from: alice, to: bob, tokenId: '7', data: '0xabcd' },
  ],
  [
    '0xf242432a',
    'safeTransferFrom',
    'function safeTransferFrom(address,address,uint256,uint256,bytes)',
    [alice, bob, 7n, 2n, '0x'],
    { from: alice, to: bob, id: '7', value: '2', data: '0x' },
  ],
  [
    '0x2eb2c2d6',
    'safeBatchTransferFrom',
    'function safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)',
    [alice, bob, [1n, 2n], [3n, 4n], '0x'],
    { from: alice, to: bob, ids: ['1', '2'], values: ['3', '4'], data: '0x' },
  ],
  [
    '0xa22cb465',
    'setApprovalForAll',
    'function setApprovalForAll(address,bool)',
    [alice, true],
    { operator: alice, approved: true },
  ],
  [
    '0xd505accf',
    'permit',
    'function permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
    [alice, bob, 5n, 6n, 27, `0x${'11'.repeat(32)}`, `0x${'22'.repeat(32)}`],
    {
      owner: alice,
      spender: bob,
      value: '5',
      deadline: '6',
      v: '27',
      r: `0x${'11'.repeat(32)}`,
      s: `0x${'22'.repeat(32)}`,
    },
  ],
  ['0x6e553f65', 'deposit', 'function deposit(uint256,address)', [5n, alice], { assets: '5', receiver: alice }],
  [
    '0xba087652',
    'redeem',
    'function redeem(uint256,address,address)',
    [5n, alice, bob],
    { shares: '5', receiver: alice, owner: bob },
  ],
  ['0xd0e30db0', 'deposit', 'function deposit()', [], {}],
  ['0x2e1a7d4d', 'withdraw', 'function withdraw(uint256)', [9n], { wad: '9' }],
  ['0xf2fde38b', 'transferOwnership', 'function transferOwnership(address)', [bob], { newOwner: bob }],
  ['0xd204c45e', 'safeMint', 'function safeMint(address,string)', [bob, 'ipfs://ü'], { to: bob, uri: 'ipfs://ü' }],
  [
    '0x82ad56cb',
    'aggregate3',
    'function aggregate3((address,bool,bytes)[])',
    [
      [
        [alice, true, '0x01'],
        [bob, false, '0x'],
      ],
    ],
    {
      calls: [
        { target: alice, allowFailure: true, callData: '0x01' },
        { target: bob, allowFailure: false, callData: '0x' },
      ],
    },
  ],
  [
    '0x6a761202',
    'execTransaction',
    'function execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)',
    [bob, 1n, '0xaa', 1, 2n, 3n, 4n, alice, bob, '0xbb'],
    {
      to: bob,
      value: '1',
      data: '0xaa',
      operation: '1',
      safeTxGas: '2',
      baseGas: '3',
      gasPrice: '4',
      gasToken: alice,
      refundReceiver: bob,
      signatures: '0xbb',
    },
  ],
]

test('decodes the functions of the standards with the parameter names of the EIPs', () => {
  for (const [selector, functionName, declaration, args, named] of SELECTORS) {
    const input = encode(declaration, args)
    expect(input.slice(0, 10)).toBe(selector)
    expect(decode(input)).toEqual({ functionName, arguments: named })
  }
})

test('decodes call data in upper case too', () => {
  const input = encode('function transfer(address,uint256)', [alice, 1n])
  expect(decode(`0x${input.slice(2).toUpperCase()}`)).toEqual(decode(input))
})

test('a selector of two standards is decoded by the contract’s standard', () => {
  const move = encode('function transferFrom(address,address,uint256)', [alice, bob, 7n])
  expect(decode(move, 'erc20')?.arguments).toEqual({ from: alice, to: bob, value: '7' })
  expect(decode(move, 'erc721')?.arguments).toEqual({ from: alice, to: bob, tokenId: '7' })
  const approve = encode('function approve(address,uint256)', [alice, 7n])
  expect(decode(approve, 'erc721')?.arguments).toEqual({ approved: alice, tokenId: '7' })
  expect(dependsOnStandard(approve)).toBe(true)
  expect(dependsOnStandard(encode('function transfer(address,uint256)', [alice, 7n]))).toBe(false)
  expect(dependsOnStandard('0x')).toBe(false)
})

test('returns null for unknown or malformed call data', () => {
  const good = encode('function transfer(address,uint256)', [alice, 1n])
  const wrong: Hex[] = [
    '0x',
    '0xa9',
    '0xa9059cbb',
    '0x12345678',
    good.slice(0, -2) as Hex,
    `${good}00`,
    `${good}${'00'.repeat(32)}`,
    // The upper bytes of the address are not zero.
    `0xa9059cbb${'ff'.repeat(12)}${good.slice(34)}`,
    // A boolean of 2.
    `0xa22cb465${alice.slice(2).toLowerCase().padStart(64, '0')}${'2'.padStart(64, '0')}`,
    // A string that begins after the end.
    `0xd204c45e${bob.slice(2).toLowerCase().padStart(64, '0')}${'f'.repeat(64)}`,
    `0xd0e30db0${'00'.repeat(32)}`,
  ]
  for (const input of wrong) expect([input, decode(input)]).toEqual([input, null])
  expect(decodeCall({ to: null, input: good })).toBeNull()
})

test('spends little time on a megabyte of arguments', () => {
  const ids = Array.from({ length: 20_000 }, (_, index) => BigInt(index))
  const input = encode('function safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)', [
    alice,
    bob,
    ids,
    ids,
    '0x',
  ])
  const started = performance.now()
  expect(decode(input)).toBeNull()
  expect(performance.now() - started).toBeLessThan(50)
})

test('never throws, whatever bytes follow a known selector', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SELECTORS.map(([selector]) => selector)),
      fc.uint8Array({ maxLength: 400 }),
      (selector, bytes) => {
        decode(`${selector}${Buffer.from(bytes).toString('hex')}`)
      },
    ),
    { numRuns: roundsOf(2_000), seed: 7 },
  )
})
