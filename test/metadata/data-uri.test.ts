import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MAX_URI_CHARACTERS, metadataInUri } from '../../src/metadata/data-uri.ts'

const DOOR = { name: 'Door #1', description: 'Rot: 100%, "ja" 🚪', image: 'data:image/svg+xml;base64,PHN2Zy8+' }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

describe('metadata in a URI', () => {
  test.each([
    ['in base64', `data:application/json;base64,${base64(JSON.stringify(DOOR))}`],
    ['in base64, with its character set', `data:application/json;charset=utf-8;base64,${base64(JSON.stringify(DOOR))}`],
    ['escaped', `data:application/json,${encodeURIComponent(JSON.stringify(DOOR))}`],
    [
      'escaped, with its character set',
      `data:application/json;charset=utf-8,${encodeURIComponent(JSON.stringify(DOOR))}`,
    ],
    ['as it is', `data:application/json,${JSON.stringify(DOOR)}`],
    ['in other letters', `DATA:Application/JSON;BASE64,${base64(JSON.stringify(DOOR))}`],
  ])('is read %s', (_, uri) => {
    expect(metadataInUri(uri)).toEqual(DOOR)
  })

  test('has what is missing, or no text, as empty text', () => {
    const uri = `data:application/json,${encodeURIComponent('{"name":1,"image":null,"attributes":[]}')}`
    expect(metadataInUri(uri)).toEqual({ name: '', description: '', image: '' })
  })

  test('is bounded', () => {
    const long = { name: 'n'.repeat(1_000), description: 'd'.repeat(10_000), image: 'i' }
    const read = metadataInUri(`data:application/json;base64,${base64(JSON.stringify(long))}`)
    expect([read?.name.length, read?.description.length]).toEqual([256, 4_096])
    const longer = `data:application/json,{"name":"${'n'.repeat(MAX_URI_CHARACTERS)}"}`
    expect(metadataInUri(longer)).toBeNull()
  })

  test('is well-formed where a bound falls into a character', () => {
    const read = metadataInUri(
      `data:application/json;base64,${base64(JSON.stringify({ name: `${'n'.repeat(255)}🚪` }))}`,
    )
    expect(read?.name.isWellFormed()).toBe(true)
  })

  test.each([
    'https://example.com/1.json',
    'data:text/html,<script>alert(1)</script>',
    'data:application/json',
    'data:application/json,',
    'data:application/json,[]',
    'data:application/json,null',
    'data:application/json,"text"',
    'data:application/json,{',
    'data:application/json;base64,{}',
    'data:application/json;base64,!!!!',
    `data:application/json;base64,${Buffer.from([0x22, 0xff, 0x22]).toString('base64')}`,
    'data:application/json,%FF',
    ' data:application/json,{}',
    'data:application/jsonp,{}',
    '',
  ])('%j carries none', (uri) => {
    expect(metadataInUri(uri)).toBeNull()
  })

  test('never throws, and answers texts or nothing', () => {
    const data = fc.oneof(fc.string(), fc.json(), fc.json().map(base64), fc.string({ unit: 'binary' }))
    const prefix = fc.constantFrom('data:application/json,', 'data:application/json;base64,', '')
    fc.assert(
      fc.property(prefix, data, (start, rest) => {
        const read = metadataInUri(start + rest)
        if (read !== null) expect(Object.values(read).every((each) => typeof each === 'string')).toBe(true)
      }),
      { seed: 7, numRuns: 500 },
    )
  })
})
