import { describe, expect, test } from 'bun:test'
import { decode as decodeByPackage, encode as encodeByPackage } from '@msgpack/msgpack'
import fc from 'fast-check'
import { Refused } from '../../src/vault/client/data.ts'
import { decode } from '../../src/vault/client/decode.ts'
import { createWriter, encode as encodeWith } from '../../src/vault/client/encode.ts'
import { roundsOf } from '../support/long.ts'

const RUNS = { seed: 20261123, numRuns: roundsOf(1_000) }

const encode = (value: unknown) => {
  const writer = createWriter()
  encodeWith(writer, value, { headBytes: 0, bytesMax: 64 * 1024 * 1024 })
  return writer.bytes.subarray(0, writer.at)
}
const fromHex = (hex: string) => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const refusal = (act: () => unknown): string => {
  try {
    act()
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
  return 'accepted'
}

/** All that can cross. Names of fields that JavaScript's objects have already are among them. */
const data = fc.letrec((tie) => ({
  leaf: fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.double(),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.bigInt({ min: -(2n ** 300n), max: 2n ** 300n }),
    fc.date({ noInvalidDate: true }),
    fc.uint8Array({ maxLength: 400 }),
  ),
  value: fc.oneof(
    { weight: 4, arbitrary: tie('leaf') },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 20 }) },
    {
      weight: 1,
      arbitrary: fc.dictionary(
        fc
          .oneof(fc.string({ maxLength: 40 }), fc.constantFrom('toString', 'constructor', 'hasOwnProperty'))
          .filter((name) => name !== '__proto__'),
        tie('value'),
        { maxKeys: 20, noNullPrototype: true },
      ),
    },
  ),
})).value

describe('what is written', () => {
  // github.com/msgpack/msgpack/blob/master/spec.md, "Formats"; the first is the example of msgpack.org.
  test.each<[unknown, string]>([
    [{ compact: true, schema: 0 }, '82 a7 636f6d70616374 c3 a6 736368656d61 00'],
    [null, 'c0'],
    [false, 'c2'],
    [true, 'c3'],
    [0, '00'],
    [127, '7f'],
    [-1, 'ff'],
    [-32, 'e0'],
    [128, 'cc 80'],
    [255, 'cc ff'],
    [256, 'cd 0100'],
    [65_535, 'cd ffff'],
    [65_536, 'ce 00010000'],
    [4_294_967_295, 'ce ffffffff'],
    [4_294_967_296, 'cf 0000000100000000'],
    [Number.MAX_SAFE_INTEGER, 'cf 001fffffffffffff'],
    [-33, 'd0 df'],
    [-128, 'd0 80'],
    [-129, 'd1 ff7f'],
    [-32_768, 'd1 8000'],
    [-32_769, 'd2 ffff7fff'],
    [-2_147_483_648, 'd2 80000000'],
    [-2_147_483_649, 'd3 ffffffff7fffffff'],
    [1.5, 'cb 3ff8000000000000'],
    [-0, 'cb 8000000000000000'],
    [Number.POSITIVE_INFINITY, 'cb 7ff0000000000000'],
    ['', 'a0'],
    ['a'.repeat(31), `bf ${'61'.repeat(31)}`],
    ['a'.repeat(32), `d9 20 ${'61'.repeat(32)}`],
    ['a'.repeat(256), `da 0100 ${'61'.repeat(256)}`],
    ['a'.repeat(65_536), `db 00010000 ${'61'.repeat(65_536)}`],
    [new Uint8Array(), 'c4 00'],
    [new Uint8Array(256), `c5 0100 ${'00'.repeat(256)}`],
    [new Uint8Array(65_536), `c6 00010000 ${'00'.repeat(65_536)}`],
    [[], '90'],
    [[1, [2]], '92 01 91 02'],
    [Array(15).fill(0), `9f ${'00'.repeat(15)}`],
    [Array(16).fill(0), `dc 0010 ${'00'.repeat(16)}`],
    [Array(65_536).fill(0), `dd 00010000 ${'00'.repeat(65_536)}`],
    [{}, '80'],
    [{ a: 1 }, '81 a1 61 01'],
    [
      Object.fromEntries(Array.from({ length: 16 }, (_, index) => [String.fromCharCode(97 + index), 0])),
      `de 0010 ${Array.from({ length: 16 }, (_, index) => `a1 ${(97 + index).toString(16)} 00`).join('')}`,
    ],
    // Our extension types.
    [0n, 'c7 01 00 00'],
    [1n, 'c7 02 00 00 01'],
    [-1n, 'c7 02 00 01 01'],
    [256n, 'c7 03 00 00 0100'],
    [2n ** 256n - 1n, `c7 21 00 00 ${'ff'.repeat(32)}`],
    [new Date(1_000), 'd7 01 408f400000000000'],
  ])('%# has the bytes of the specification, and is read from them', (value, hex) => {
    const bytes = fromHex(hex)
    expect(hexOf(encode(value))).toBe(hexOf(bytes))
    expect(decode(bytes)).toEqual(value)
  })

  test('any data arrives as it was', () => {
    fc.assert(
      fc.property(data, (value) => {
        expect(decode(encode(value))).toStrictEqual(value)
      }),
      RUNS,
    )
  })

  test('what the common package writes is read, and it reads what is written', () => {
    // By JSON, because the package writes -0 as 0.
    const json = fc.json({ depthSize: 'medium', stringUnit: 'grapheme' }).map((text) => ({ value: JSON.parse(text) }))
    fc.assert(
      fc.property(json, (value) => {
        expect(decode(encodeByPackage(value))).toEqual(value)
        expect(hexOf(encode(value))).toBe(hexOf(encodeByPackage(value)))
        expect(decodeByPackage(encode(value))).toEqual(value)
      }),
      RUNS,
    )
  })

  test('a text keeps its byte order mark, whatever its length', () => {
    const text = `\ufeff${'long '.repeat(100)}`
    expect(decode(encode(text))).toBe(text)
    // Which is why the common package does not read what is signed.
    expect(decodeByPackage(encode(text))).not.toBe(text)
  })

  test('undefined fields are left out, and an undefined value is null', () => {
    expect(decode(encode({ a: undefined, b: 1 }))).toStrictEqual({ b: 1 })
    expect(decode(encode([undefined]))).toStrictEqual([null])
    expect(decode(encode(undefined))).toBeNull()
  })

  test('bytes are plain views of the message, so that they are zeroed with it', () => {
    const message = encode({ key: new Uint8Array([1, 2, 3]), more: [new Uint8Array([4])] })
    const { key, more } = decode(message) as { key: Uint8Array; more: Uint8Array[] }
    expect(Object.getPrototypeOf(key)).toBe(Uint8Array.prototype)
    message.fill(0)
    expect([...key, ...(more[0] ?? [])]).toEqual([0, 0, 0, 0])
  })
})

describe('what is refused', () => {
  test.each<[string, unknown]>([
    ['a text is not Unicode', 'half a pair: \ud800'],
    ['a text is not Unicode', { '\udc00': 1 }],
    ['a value is not plain data', () => 1],
    ['a value is not plain data', Symbol('a')],
    ['a value is not plain data', new Map()],
    ['a value is not plain data', new (class Thing {})()],
    ['a value is not plain data', [new Error('a')]],
    ['a date is invalid', new Date(Number.NaN)],
    ['a number is too large', 1n << 9_000n],
    ['a number is too large', -(1n << 9_000n)],
    ['an object has a field that no object may have', JSON.parse('{"__proto__":1}')],
    ['lists and objects are nested too deeply', Array.from({ length: 70 }).reduce<unknown>((inner) => [inner], 0)],
    ['there are too many values', Array(500_001).fill(0)],
    ['the message is too large', new Uint8Array(64 * 1024 * 1024)],
  ])('to write: %s', (why, value) => {
    expect(refusal(() => encode(value))).toBe(why)
  })

  test('a circle is not written', () => {
    const circle: unknown[] = []
    circle.push(circle)
    expect(refusal(() => encode(circle))).toBe('lists and objects are nested too deeply')
  })

  test.each<[string, string]>([
    ['the message ends too early', ''],
    ['the message ends too early', 'c4 02 01'],
    ['the message ends too early', 'dd ffffffff'],
    ['the message ends too early', 'df ffffffff'],
    ['the message ends too early', 'c6 ffffffff'],
    ['the message ends too early', 'db ffffffff 61'],
    ['the message ends too early', 'c7 05 00 00'],
    ['the message ends too early', 'cf 00'],
    ['there is something after the message', '00 00'],
    ['a value is of a type that is never written', 'c1'],
    ['a value is of a type that is never written', 'ca 3fc00000'],
    ['an integer is beyond what a number can say', 'cf 0020000000000000'],
    ['an integer is beyond what a number can say', 'd3 8000000000000000'],
    ['a text is not UTF-8', 'a1 ff'],
    // Surrogates, and a longer form of "/": RFC 3629, section 3.
    ['a text is not UTF-8', 'a3 eda080'],
    ['a text is not UTF-8', 'a2 c0af'],
    ["a field's name is not a text", '81 01 01'],
    ["a field's name is not a text", '81 90 01'],
    ['an object has a field twice, or one that no object may have', '82 a1 61 01 a1 61 02'],
    ['an object has a field twice, or one that no object may have', '81 a9 5f5f70726f746f5f5f 80'],
    // The package's own extension type for times.
    ['an extension type is unknown', 'd6 ff 00000000'],
    ['an extension type is unknown', 'd4 02 00'],
    ['a number is not in its one form', 'c7 00 00'],
    ['a number is not in its one form', 'd4 00 01'],
    ['a number is not in its one form', 'd4 00 02'],
    ['a number is not in its one form', 'd5 00 00 00'],
    ['a number is not in its one form', 'c7 03 00 00 0001'],
    ['a number is too large', `c8 0401 00 00 ${'01'.repeat(1_024)}`],
    ['a date is invalid', 'd6 01 00000000'],
    ['a date is invalid', 'd7 01 7ff8000000000000'],
    ['lists and objects are nested too deeply', `${'91'.repeat(70)} 00`],
    ['lists and objects are nested too deeply', `${'81 a0'.repeat(70)} 00`],
  ])('to read: %s (%s)', (why, hex) => {
    expect(refusal(() => decode(fromHex(hex)))).toBe(why)
  })

  test('a list of more values than any message has', () => {
    const many = new Uint8Array(600_005)
    many.set(fromHex('dd 000927c0'))
    expect(refusal(() => decode(many))).toBe('there are too many values')
  })

  test('any other bytes are read as what is written again the same, or refused', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      // A message with one byte changed.
      fc.tuple(data, fc.nat(), fc.nat({ max: 255 })).map(([value, at, byte]) => {
        const changed = encode(value)
        changed[at % changed.length] = byte
        return new Uint8Array(changed)
      }),
    )
    fc.assert(
      fc.property(bytes, (given) => {
        let value: unknown
        if (
          refusal(() => {
            value = decode(given)
          }) !== 'accepted'
        )
          return
        expect(decode(encode(value))).toStrictEqual(value)
      }),
      { ...RUNS, numRuns: roundsOf(10_000) },
    )
  })
})
