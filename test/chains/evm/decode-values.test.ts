// Arguments in readable form: published encodings, agreement with another implementation, and encodings that are
// refused.

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type AbiParameter, encodeAbiParameters, getAddress } from 'viem'
import type { AbiInput, AbiItem, Hex } from '../../../src/chains/chain.ts'
import { selectorOf, signatureOf } from '../../../src/chains/evm/abi-types.ts'
import { readArguments } from '../../../src/chains/evm/abi-values.ts'
import { decodeCall } from '../../../src/chains/evm/decode.ts'
import { roundsOf } from '../../support/long.ts'

const contract = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

const input = (type: string, name = '', components?: readonly AbiInput[]): AbiInput =>
  components === undefined ? { name, type } : { name, type, components }

const decodeBy = (item: AbiItem, data: Hex) =>
  decodeCall({ to: contract, input: data }, undefined, { bound: [], general: [item] })

/** The bytes of several words; a short word is a number. */
const words = (...each: readonly string[]): string => each.map((word) => word.padStart(64, '0')).join('')
const padded = (hex: string): string => hex.padEnd(64, '0')

describe('decodes published encodings', () => {
  /** Solidity documentation, "Contract ABI Specification", Examples and Use of Dynamic Types. */
  const SOLIDITY: readonly (readonly [AbiItem, Hex, Record<string, unknown>])[] = [
    [
      { name: 'baz', inputs: [input('uint32', 'x'), input('bool', 'y')] },
      `0xcdcd77c0${words('45', '1')}`,
      { x: '69', y: true },
    ],
    [
      { name: 'bar', inputs: [input('bytes3[2]')] },
      `0xfce353f6${padded('616263')}${padded('646566')}`,
      { 0: ['0x616263', '0x646566'] },
    ],
    [
      { name: 'sam', inputs: [input('bytes'), input('bool'), input('uint256[]')] },
      `0xa5643bf2${words('60', '1', 'a0', '4')}${padded('64617665')}${words('3', '1', '2', '3')}`,
      { 0: '0x64617665', 1: true, 2: ['1', '2', '3'] },
    ],
    [
      { name: 'f', inputs: [input('uint256'), input('uint32[]'), input('bytes10'), input('bytes')] },
      `0x8be65246${words('123', '80')}${padded('31323334353637383930')}${words('e0', '2', '456', '789', 'd')}${padded('48656c6c6f2c20776f726c6421')}`,
      { 0: '291', 1: ['1110', '1929'], 2: '0x31323334353637383930', 3: '0x48656c6c6f2c20776f726c6421' },
    ],
    [
      { name: 'g', inputs: [input('uint256[][]'), input('string[]')] },
      `0x2289b18c${words('40', '140', '2', '40', 'a0', '2', '1', '2', '1', '3', '3', '60', 'a0', 'e0', '3')}${padded('6f6e65')}${words('3')}${padded('74776f')}${words('5')}${padded('7468726565')}`,
      { 0: [['1', '2'], ['3']], 1: ['one', 'two', 'three'] },
    ],
  ]

  test.each(SOLIDITY)('in the documentation of Solidity: $name', (item, data, named) => {
    expect(selectorOf(signatureOf(item))).toBe(data.slice(0, 10) as Hex)
    expect(decodeBy(item, data)).toEqual({ functionName: item.name, arguments: named })
  })

  test('on Ethereum: a multicall of SwapRouter02, 0x688c0f7e…581d in block 14420905', () => {
    const swap = `472b43f3${words('1edd40a09ca2037a8ce4', '8e6053de0d6216', '80', '2', '2', 'fc09c7cfd9c175dd9423ca02ae1249579ab12f12', 'c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2')}`
    const unwrap = `49404b7c${words('8e6053de0d6216', 'fcf9c19841cd8c6cd7114e638b02e62189a89601')}`
    const data: Hex = `0x5ae401dc${words('6236a988', '40', '2', '40', '160', 'e4')}${swap}${'00'.repeat(28)}${words('44')}${unwrap}${'00'.repeat(28)}`
    expect(decodeCall({ to: contract, input: data })).toEqual({
      functionName: 'multicall',
      arguments: { deadline: '1647749512', data: [`0x${swap}`, `0x${unwrap}`] },
    })
    expect(decodeCall({ to: contract, input: `0x${swap}` })).toEqual({
      functionName: 'swapExactTokensForTokens',
      arguments: {
        amountIn: '145752381820613525408996',
        amountOutMin: '40075360016884246',
        path: ['0xfc09c7cFD9c175DD9423ca02aE1249579AB12F12', '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'],
        to: '0x0000000000000000000000000000000000000002',
      },
    })
  })

  test('on Arbitrum: an execution of the UniversalRouter, 0xfd288567…c6fd', () => {
    const wrap = words('2', '2386f26fc10000')
    const path = '82af49447d8a07e3bd95bd0d56f35241523fbab1002710602eb0d99a5e3e76d1510372c4d2020e12eaea8a'
    const swap = `${words('1', '2386f26fc10000', 'b2c73eba', 'a0', '0', '2b')}${path}${'00'.repeat(21)}`
    const data: Hex = `0x3593564c${words('60', 'a0', '63e15792', '2')}${padded('0b00')}${words('2', '40', 'a0', '40')}${wrap}${words('100')}${swap}`
    expect(decodeCall({ to: contract, input: data })).toEqual({
      functionName: 'execute',
      arguments: { commands: '0x0b00', inputs: [`0x${wrap}`, `0x${swap}`], deadline: '1675712402' },
    })
  })
})

describe('agrees with viem', () => {
  type Case = { readonly parameter: AbiInput; readonly value: unknown; readonly shown: unknown }
  const bytesOf = (size: number) =>
    fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => Buffer.from(bytes).toString('hex'))
  const integer = fc.tuple(fc.integer({ min: 1, max: 32 }), fc.boolean()).chain(([size, signed]) =>
    fc
      .bigInt(
        signed
          ? { min: -(2n ** BigInt(size * 8 - 1)), max: 2n ** BigInt(size * 8 - 1) - 1n }
          : { min: 0n, max: 2n ** BigInt(size * 8) - 1n },
      )
      // viem takes numbers where they fit.
      .map((value): Case => {
        const type = `${signed ? 'int' : 'uint'}${size * 8}`
        return { parameter: input(type), value: size <= 6 ? Number(value) : value, shown: String(value) }
      }),
  )
  const same = (type: string, value: unknown): Case => ({ parameter: input(type), value, shown: value })
  const leaf: fc.Arbitrary<Case> = fc.oneof(
    integer,
    fc.boolean().map((value) => same('bool', value)),
    bytesOf(20).map((hex) => same('address', getAddress(`0x${hex}`))),
    fc.integer({ min: 1, max: 32 }).chain((size) => bytesOf(size).map((hex) => same(`bytes${size}`, `0x${hex}`))),
    fc.uint8Array({ maxLength: 70 }).map((bytes) => same('bytes', `0x${Buffer.from(bytes).toString('hex')}`)),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => same('string', text)),
    fc.constantFrom('\u0000', '\ufeffx', 'a\u202eb', '').map((text) => same('string', text)),
  )
  const arrayOf = (each: fc.Arbitrary<Case>, fixed: boolean): fc.Arbitrary<Case> =>
    // The same case several times: all items of an array have one type.
    fc.tuple(each, fc.integer({ min: fixed ? 1 : 0, max: 4 })).map(([{ parameter, value, shown }, length]) => ({
      parameter: { ...parameter, type: `${parameter.type}[${fixed ? length : ''}]` },
      value: Array(length).fill(value),
      shown: Array(length).fill(shown),
    }))
  const tupleOf = (each: fc.Arbitrary<Case>): fc.Arbitrary<Case> =>
    fc.array(each, { minLength: 1, maxLength: 4 }).map((cases) => ({
      parameter: input(
        'tuple',
        '',
        cases.map(({ parameter }, index) => ({ ...parameter, name: `_m${index}` })),
      ),
      value: Object.fromEntries(cases.map(({ value }, index) => [`_m${index}`, value])),
      shown: Object.fromEntries(cases.map(({ shown }, index) => [`m${index}`, shown])),
    }))
  const { any } = fc.letrec<{ any: Case }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      leaf,
      arrayOf(tie('any'), false),
      arrayOf(tie('any'), true),
      tupleOf(tie('any')),
    ),
  }))
  const encoded = (cases: readonly Case[]): string =>
    encodeAbiParameters(
      cases.map(({ parameter }) => parameter as AbiParameter),
      cases.map(({ value }) => value),
    ).slice(2)

  test('for any types and values, by position', () => {
    fc.assert(
      fc.property(fc.array(any, { maxLength: 5 }), (cases) => {
        const shown = Object.fromEntries(cases.map((each, index) => [String(index), each.shown]))
        expect(
          readArguments(
            cases.map(({ parameter }) => parameter),
            encoded(cases),
          ),
        ).toEqual(shown)
      }),
      { numRuns: roundsOf(1_500), seed: 11 },
    )
  })

  test('and accepts no other bytes for the same arguments', () => {
    fc.assert(
      fc.property(
        fc.array(any, { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (cases, at, change) => {
          const inputs = cases.map(({ parameter }) => parameter)
          const bytes = Buffer.from(encoded(cases), 'hex')
          const before = JSON.stringify(readArguments(inputs, bytes.toString('hex')))
          const place = at % bytes.length
          bytes.writeUInt8(bytes.readUInt8(place) ^ change, place)
          const after = readArguments(inputs, bytes.toString('hex'))
          if (after !== null) expect(JSON.stringify(after)).not.toBe(before)
          expect(readArguments(inputs, `${encoded(cases)}00`)).toBeNull()
          expect(readArguments(inputs, encoded(cases).slice(2))).toBeNull()
        },
      ),
      { numRuns: roundsOf(1_000), seed: 12 },
    )
  })
})

test('a value of a function type is its address and selector in hex', () => {
  const callee = '70997970c51812dc3a010c7d01b50e0d17dc79c8a9059cbb'
  expect(readArguments([input('function', 'next')], padded(callee))).toEqual({ next: `0x${callee}` })
  expect(readArguments([input('function', 'next')], padded(`${callee}01`))).toBeNull()
})

describe('refuses', () => {
  const refused: readonly (readonly [string, readonly string[], string])[] = [
    ['an integer that is too wide', ['uint8'], words('100')],
    ['a negative integer without sign extension', ['int8'], words('ff')],
    ['a boolean of 2', ['bool'], words('2')],
    ['an address with other bytes before it', ['address'], `01${'00'.repeat(31)}`],
    ['fixed bytes with other bytes after them', ['bytes4'], padded('1234567801')],
    ['padding that is not zero', ['bytes'], words('20', '1') + padded('aa01')],
    ['a gap before the tail', ['bytes'], words('40', '0', '0')],
    ['tails in another order', ['bytes', 'bytes'], words('60', '40', '0', '0')],
    ['two tails at the same position', ['bytes', 'bytes'], words('40', '40', '0')],
    ['an offset beyond the end', ['bytes'], words('ffffffff', '0')],
    ['an offset of more than 32 bits', ['bytes'], words('100000000000000020', '0')],
    ['a length beyond the end', ['uint256[]'], words('20', 'ffffffff')],
    ['text that is no UTF-8', ['string'], words('20', '1') + padded('ff')],
    ['text with half a surrogate', ['string'], words('20', '3') + padded('eda080')],
    ['an array that is longer than the data', ['uint256[100000000][100000000]'], words('1')],
    ['an unknown type', ['uint257'], words('1')],
    ['an array of nothing', ['uint256[0]'], ''],
  ]
  test.each(refused)('%s', (_, types, data) => {
    expect(
      readArguments(
        types.map((type) => input(type)),
        data,
      ),
    ).toBeNull()
  })
})

describe('names', () => {
  test('have no leading underscores; an empty or repeated name is replaced by its position', () => {
    const inputs = ['a', '_a', '', '__', '__proto__', 'constructor', ''].map((name) => input('uint8', name))
    const values = readArguments(inputs, words('1', '2', '3', '4', '5', '6', '7'))
    expect(JSON.parse(JSON.stringify(values))).toEqual({
      a: '1',
      1: '2',
      2: '3',
      3: '4',
      proto__: '5',
      constructor: '6',
      6: '7',
    })
    const within = [input('tuple', 's', [input('uint8'), input('uint8', 'x'), input('uint8', 'x')])]
    expect(readArguments(within, words('1', '2', '3'))).toEqual({ s: { 0: '1', x: '2', 2: '3' } })
  })
})

describe('needs time only in proportion to the data', () => {
  const timed = (inputs: readonly AbiInput[], data: string): number => {
    const started = performance.now()
    expect(readArguments(inputs, data)).toBeNull()
    return performance.now() - started
  }

  test('if a thousand offsets point to the same bytes', () => {
    const count = 1_500
    const offsets = Array.from({ length: count }, () => (count * 32).toString(16))
    const data = words('20', count.toString(16), ...offsets, (60_000).toString(16)) + '61'.repeat(60_000)
    expect(timed([input('bytes[]')], data)).toBeLessThan(100)
  })

  test('if nested lists claim to be longer', () => {
    const type = `uint256${'[]'.repeat(8)}`
    expect(timed([input(type)], words(...Array.from({ length: 4_000 }, () => '20')))).toBeLessThan(100)
    expect(timed([input('uint8[999999999]')], words('1'))).toBeLessThan(100)
  })
})

describe('if several declarations have the same selector', () => {
  // EIP-1967's well-known clash, OpenZeppelin's "Transparent Proxy Pattern": both have 0x42966c68.
  const burn: AbiItem = { name: 'burn', inputs: [input('uint256', 'amount')] }
  const clash: AbiItem = { name: 'collate_propagate_storage', inputs: [input('bytes16', 'data')] }
  const to = contract
  const dirty: Hex = `0x42966c68${words('5')}`
  const bytes16: Hex = `0x42966c68${padded('aa'.repeat(16))}`
  const both: Hex = `0x42966c68${words('0')}`
  const none = { bound: [], general: [] }

  test('the declarations of these tests have the same selector', () => {
    expect([burn, clash].map(signatureOf).map(selectorOf)).toEqual(['0x42966c68', '0x42966c68'])
  })

  test('the one that the data fits exactly is used; if two fit, neither is', () => {
    const declared = { ...none, general: [clash] }
    expect(decodeCall({ to, input: dirty }, 'other', declared)).toEqual({
      functionName: 'burn',
      arguments: { value: '5' },
    })
    expect(decodeCall({ to, input: both }, 'other', declared)).toBeNull()
    const general = { ...none, general: [burn, clash] }
    expect(decodeCall({ to, input: both }, 'other', general)).toBeNull()
    // These 16 leading bytes are also a valid number.
    expect(decodeCall({ to, input: bytes16 }, 'other', declared)).toBeNull()
  })

  test('a declaration bound to the contract decides, and no other is tried', () => {
    const declared = { bound: [clash], general: [burn] }
    expect(decodeCall({ to, input: both }, 'erc20', declared)?.functionName).toBe('collate_propagate_storage')
    expect(decodeCall({ to, input: dirty }, 'erc20', declared)).toBeNull()
  })

  test('built-in parameter names are shown, by the contract’s standard; names of a bound declaration come first', () => {
    const general = { ...none, general: [burn] }
    expect(decodeCall({ to, input: dirty }, 'erc20', general)?.arguments).toEqual({ value: '5' })
    expect(decodeCall({ to, input: dirty }, 'erc721', general)?.arguments).toEqual({ tokenId: '5' })
    expect(decodeCall({ to, input: dirty }, 'erc721', { ...none, bound: [burn] })?.arguments).toEqual({ amount: '5' })
  })
})
