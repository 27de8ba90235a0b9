import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { canonicalJson } from '../../src/platform/canonical-json.ts'

describe('the examples of RFC 8785', () => {
  test('literals, numbers and texts (§3.2.2)', () => {
    const input = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`
    expect(canonicalJson(JSON.parse(input))).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )
  })

  test('names are sorted by their UTF-16 code units (§3.2.3)', () => {
    const input = String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`
    const names = [...canonicalJson(JSON.parse(input)).matchAll(/"([^"]*)":/g)].map(([, name]) => name)
    expect(names).toEqual(['\\r', '1', '\u0080', '\u00f6', '\u20ac', '\u{1f600}', '\ufb33'])
  })

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('the number %s (appendix B)', (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text)
  })
})

/** Any character. The library's own unit 'binary' first sorts all of them, which takes two seconds. */
const character = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))

test('any JSON survives a round trip and has the same text in any order of names', () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, each]) => [name, reversed(each)]),
    )
  }
  fc.assert(
    fc.property(fc.json({ stringUnit: character }), (json) => {
      const value: unknown = JSON.parse(json)
      const text = canonicalJson(value)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
      expect(canonicalJson(reversed(value))).toBe(text)
    }),
    { seed: 8785 },
  )
})

test('an undefined field is left out, and values that JSON cannot express are refused', () => {
  expect(canonicalJson({ b: 1, a: undefined })).toBe('{"b":1}')
  const bad = [
    undefined,
    [undefined],
    new Array(1),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1n,
    '\ud800',
    { '\udc00': 1 },
  ]
  for (const value of [...bad, new Date(0), new Map(), new Uint8Array(1), Symbol('s'), () => {}, Object(1)]) {
    expect(() => canonicalJson(value)).toThrow('cannot be written as JSON')
  }
})
