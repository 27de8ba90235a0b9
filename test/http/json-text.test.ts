import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { AppError } from '../../src/platform/errors.ts'
import { parseJsonText } from '../../src/platform/http/json-text.ts'
import { roundsOf } from '../support/long.ts'

const refusalOf = (text: string): string => {
  try {
    parseJsonText(text)
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_input') return error.message
    throw error
  }
  throw new Error(`taken: ${text}`)
}

/** Parses and removes nulls in the simplest way. */
const withoutNulls = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutNulls)
  const fields = Object.entries(value).filter(([, item]) => item !== null)
  return Object.fromEntries(fields.map(([name, item]) => [name, withoutNulls(item)]))
}

const escaped = (character: string): string =>
  [...Array(character.length).keys()]
    .map((unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`)
    .join('')

/** Writes JSON with white space between all tokens, and every nth character of its strings as an escape. */
const written = (value: unknown, everyNth: number): string => {
  const text = (plain: string) =>
    `"${[...plain].map((each, index) => (index % everyNth === 0 ? escaped(each) : JSON.stringify(each).slice(1, -1))).join('')}"`
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[ ${value.map((item) => written(item, everyNth)).join(' ,\n')} ]`
  const fields = Object.entries(value).map(([name, item]) => `${text(name)}\t: ${written(item, everyNth)}`)
  return `{ ${fields.join(' , ')} }`
}

const taken = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((text) => !text.includes('\0') && text.isWellFormed())
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
    taken,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(taken, tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
})).value

describe('the text of a body', () => {
  test('gives its value without null fields, in every way to write it', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 20 }), (value, everyNth) => {
        const expected = withoutNulls(value)
        expect(parseJsonText(JSON.stringify(value))).toEqual(expected)
        expect(parseJsonText(written(value, everyNth))).toEqual(expected)
      }),
      { seed: 1, numRuns: roundsOf(500) },
    )
  })

  test('that is cut off or changed is refused, or gives the value that JSON.parse gives', () => {
    fc.assert(
      fc.property(
        values,
        fc.nat(),
        fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', 'n', '0'),
        (value, at, put) => {
          const whole = written(value, 7)
          const place = at % (whole.length + 1)
          const text = whole.slice(0, place) + put + (put === '' ? '' : whole.slice(place + 1))
          try {
            expect(parseJsonText(text)).toEqual(withoutNulls(JSON.parse(text)))
          } catch (error) {
            expect(error).toBeInstanceOf(AppError)
          }
        },
      ),
      { seed: 2, numRuns: roundsOf(2_000) },
    )
  })

  test('must not name a field twice, at any depth and in any spelling', () => {
    const twice = 'The body must not name a field twice.'
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '{"\\u0061":1,"a":null}',
      '{"x":[{"b":{"c":1,"d":{},"c":2}}]}',
      '{"":1,"":2}',
      '{"__proto__":1,"__proto__":2}',
      '{"a\\"":1,"a\\u0022":2}',
    ]) {
      expect({ text, refusal: refusalOf(text) }).toEqual({ text, refusal: twice })
    }
  })

  test('may repeat a name in another object, and may contain what looks like a field in a string', () => {
    for (const text of [
      '{"a":{"a":{"a":1}}}',
      '{"x":[{"a":1},{"a":2}],"a":3}',
      '{"a":"a","b":"a"}',
      '{"a":"\\",\\"a\\":1,","b":"{\\"b\\":"}',
      '{"a":["a","a","a"]}',
    ]) {
      expect(parseJsonText(text)).toEqual(JSON.parse(text))
    }
  })

  test('must not contain NUL or a lone surrogate; the error names the field', () => {
    const cases = [
      ['{"name":"a\\u0000b"}', 'Field "name" must not contain the NUL character.'],
      ['{"a":{"b":[0,{"c":"\\u0000"}]}}', 'Field "a.b.1.c" must not contain the NUL character.'],
      ['{"n\\u0061me":"\\u0000"}', 'Field "name" must not contain the NUL character.'],
      ['{"4711":"\\u0000"}', 'A field must not contain the NUL character.'],
      ['{"\\u0000":1}', 'Field "body" must not contain the NUL character.'],
      ['{"a":1,"b":"\\ud83d"}', 'Field "b" must be well-formed Unicode.'],
      ['{"b":"\\uDE00"}', 'Field "b" must be well-formed Unicode.'],
      ['{"b":"\\ud83d\\ud83d\\ude00"}', 'Field "b" must be well-formed Unicode.'],
      ['{"b":"\\ud83d😀"}', 'Field "b" must be well-formed Unicode.'],
      ['{"b":"\\ud83d\\n"}', 'Field "b" must be well-formed Unicode.'],
      ['{"\\ude00":1}', 'Field "body" must be well-formed Unicode.'],
    ] as const
    for (const [text, refusal] of cases) expect({ text, refusal: refusalOf(text) }).toEqual({ text, refusal })
    expect(parseJsonText('{"b":"\\ud83d\\uDE00 \\\\u0000 \\\\ud83d"}')).toEqual({ b: '😀 \\u0000 \\ud83d' })
  })

  test('is limited in depth and number of items before anything is built', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    expect(parseJsonText(nested(32))).toBeArray()
    expect(refusalOf(nested(33))).toBe('The body must not be nested deeper than 32.')
    // It need not even be JSON, because it is not read to its end.
    expect(refusalOf('{"a":'.repeat(100_000))).toBe('The body must not be nested deeper than 32.')
    const list = (items: number) => `[${Array(items).fill('0').join(',')}]`
    expect(parseJsonText(list(10_000))).toHaveLength(10_000)
    const tooMany = 'The body must not hold more than 10000 fields and list items.'
    expect(refusalOf(list(10_001))).toBe(tooMany)
    expect(refusalOf(`[${'{},'.repeat(1_000_000)}`)).toBe(tooMany)
    expect(refusalOf(`{"a":0${',"b":0'.repeat(10_001)}`)).toBe('The body must not name a field twice.')
  })
})
