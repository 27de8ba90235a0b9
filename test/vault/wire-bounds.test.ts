// Whatever an API sends, its size is bounded: by the schemas of messages, and by what a row of the audit may have.

import { expect, test } from 'bun:test'
import { Kind, KindGuard, type TSchema } from '@sinclair/typebox'
import type { AnyMethod } from '../../src/vault/contract/method.ts'
import * as keys from '../../src/vault/contract/methods.ts'

const { KEY_METHODS, METHODS, OPERATOR_METHODS } = keys
const methods: readonly AnyMethod[] = Object.values({ ...KEY_METHODS, ...METHODS, ...OPERATOR_METHODS })

/** What has no bound, by its path. */
const unboundedIn = (schema: TSchema, path: string): readonly string[] => {
  const has = (bound: string) => (typeof schema[bound] === 'number' ? [] : [path])
  if (KindGuard.IsString(schema)) return has('maxLength')
  if (KindGuard.IsUint8Array(schema)) return has('maxByteLength')
  if (KindGuard.IsArray(schema)) return [...has('maxItems'), ...unboundedIn(schema.items, `${path}[]`)]
  if (KindGuard.IsTuple(schema)) return schema.items?.flatMap((item) => unboundedIn(item, `${path}[]`)) ?? []
  if (KindGuard.IsUnion(schema)) return schema.anyOf.flatMap((each) => unboundedIn(each, path))
  if (KindGuard.IsRecord(schema))
    return [
      ...has('maxProperties'),
      ...Object.values(schema.patternProperties).flatMap((each) => unboundedIn(each, `${path}{}`)),
    ]
  if (KindGuard.IsObject(schema))
    return Object.entries(schema.properties).flatMap(([name, of]) => unboundedIn(of, `${path}.${name}`))
  const others = ['Literal', 'Integer', 'Number', 'BigInt', 'Boolean', 'Date', 'Null', 'Undefined', 'Never', 'Details']
  // A value of typed data: of its message's size.
  return others.includes(schema[Kind]) || path.endsWith('typedData.message{}') ? [] : [`${path}: ${schema[Kind]}`]
}

test('every text, list and record of every method has a bound', () => {
  const all = methods.flatMap(({ name, input, output, progress }) => [
    ...unboundedIn(input.schema, `${name} in`),
    ...unboundedIn(output.schema, `${name} out`),
    ...unboundedIn(progress.schema, `${name} progress`),
  ])
  expect([methods.length > 40, all]).toEqual([true, []])
})

test.each<[string, object, boolean]>([
  ['none', {}, true],
  ['4 KB', { a: 'x'.repeat(4_095) }, true],
  ['a byte more', { a: 'x'.repeat(4_096) }, false],
  ['4 KB in characters of three bytes', { a: '€'.repeat(1_366) }, false],
  ['more in many small ones', Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`n${at}`, 'x'])), false],
  ['a number', { a: 1 }, false],
  ['NUL in a text', { a: '\0' }, false],
  ['NUL in a name', { 'a\0': '' }, false],
  ['a list', ['a'], false],
])('details of %s', (_, details, fits) => {
  const use = { action: 'transaction_signed', details, payloads: [] }
  expect(keys.KEY_METHODS.sign.input.fits({ handle: 1, uses: [use] })).toBe(fits)
})

test.each([
  ['uses', { uses: 129 }],
  ['payloads', { payloads: 17 }],
])('too many %s', (_, { uses = 1, payloads = 1 }: { uses?: number; payloads?: number }) => {
  const payload = { kind: 'evm_message', message: new Uint8Array() }
  const use = { action: 'message_signed', details: {}, payloads: Array(payloads).fill(payload) }
  expect(keys.KEY_METHODS.sign.input.fits({ handle: 1, uses: Array(uses).fill(use) })).toBe(false)
  expect(keys.KEY_METHODS.sign.input.fits({ handle: 1, uses: [{ ...use, payloads: [payload] }] })).toBe(true)
})
