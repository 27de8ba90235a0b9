import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { dataInUri, MAX_URI_CHARACTERS, metadataInUri } from '../../src/assets/metadata/data-uri.ts'
import { isLong } from '../support/long.ts'

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
    ['with "utf8" for a parameter', `data:application/json;utf8,${JSON.stringify(DOOR)}`],
    [
      'with "utf8" for its character set',
      `data:application/json;charset=utf8,${encodeURIComponent(JSON.stringify(DOOR))}`,
    ],
    ['with a quoted parameter', `data:application/json;charset="UTF-8";base64,${base64(JSON.stringify(DOOR))}`],
    ['with unknown parameters', `data:application/json;x;y=1;;ENC=utf8;base64,${base64(JSON.stringify(DOOR))}`],
    [
      'with spaces around its type',
      `data: application/json ; charset=utf-8 ,${encodeURIComponent(JSON.stringify(DOOR))}`,
    ],
    ['of another JSON type', `data:text/json,${encodeURIComponent(JSON.stringify(DOOR))}`],
    ['of a type that is made of JSON', `data:application/ld+json;base64,${base64(JSON.stringify(DOOR))}`],
    [
      'in base64 with line breaks',
      `data:application/json;base64,${base64(JSON.stringify(DOOR)).replace(/.{20}/g, '$&\r\n')}`,
    ],
    [
      'in base64 with escaped line breaks',
      `data:application/json;base64,${base64(JSON.stringify(DOOR)).replace(/.{20}/g, '$&%0A')}`,
    ],
    [
      'in base64 without its padding',
      `data:application/json;base64,${base64(JSON.stringify(DOOR)).replace(/=+$/, '')}`,
    ],
    [
      'in base64 with its padding escaped',
      `data:application/json;base64,${base64(`${JSON.stringify(DOOR)} `).replaceAll('=', '%3D')}`,
    ],
    ['with a fragment behind it', `data:application/json,${encodeURIComponent(JSON.stringify(DOOR))}#1`],
    ['with spaces around it', ` data:application/json,${encodeURIComponent(JSON.stringify(DOOR))}\n`],
    ['with a byte order mark', `data:application/json,%EF%BB%BF${encodeURIComponent(JSON.stringify(DOOR))}`],
  ])('is read %s', (_, uri) => {
    expect(metadataInUri(uri)).toEqual(DOOR)
  })

  test('has empty text for fields that are missing or no text', () => {
    const uri = `data:application/json,${encodeURIComponent('{"name":1,"image":null,"attributes":[]}')}`
    expect(metadataInUri(uri)).toEqual({ name: '', description: '', image: '' })
  })

  test('is limited in length', () => {
    const long = { name: 'n'.repeat(1_000), description: 'd'.repeat(10_000), image: 'i' }
    const read = metadataInUri(`data:application/json;base64,${base64(JSON.stringify(long))}`)
    expect([read?.name.length, read?.description.length]).toEqual([256, 4_096])
    const longer = `data:application/json,{"name":"${'n'.repeat(MAX_URI_CHARACTERS)}"}`
    expect(metadataInUri(longer)).toBeNull()
  })

  test('stays well-formed if the limit cuts a character', () => {
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
    'data:application/jsonp,{}',
    'data:application/json%20,{}',
    'data:application/,{}',
    'data:json,{}',
    'data:;charset=utf8,{}',
    'data:application/json;base64,e30===',
    'data:application/json;base64;x,e30=',
    'data:application/json;%62ase64,e30=',
    'blob:application/json,{}',
    '',
  ])('%j contains none', (uri) => {
    expect(metadataInUri(uri)).toBeNull()
  })

  test('never throws, and returns texts or nothing', () => {
    // The table of all characters takes two seconds.
    const unit = isLong ? 'binary' : 'binary-ascii'
    const data = fc.oneof(fc.string(), fc.json(), fc.json().map(base64), fc.string({ unit }))
    const prefix = fc.constantFrom('data:application/json,', 'data:application/json;base64,', '')
    fc.assert(
      fc.property(prefix, data, (start, rest) => {
        const read = metadataInUri(start + rest)
        if (read !== null) expect(Object.values(read).every((each) => typeof each === 'string')).toBe(true)
      }),
      { seed: 7, numRuns: isLong ? 500 : 25 },
    )
  })
})

describe('the data of a URI', () => {
  // Inputs and bytes from web-platform-tests, fetch/data-urls/resources/data-urls.json. The standard has since allowed
  // spaces in `; base64`, so that case expects what the standard says.
  const published: readonly (readonly [string, readonly number[] | null])[] = [
    ['data://test/,X', [88]],
    ['data://test:test/,X', null],
    ['data:,X', [88]],
    ['data:,X#X', [88]],
    ['data:,%FF', [255]],
    ['data:text/plain ,X', [88]],
    ['data:text/plain\f,X', [88]],
    ['data:text/plain;charset=windows-1252,%C2%B1', [194, 177]],
    ['data:\u0000,%FF', [255]],
    ['data:†/†,X', [88]],
    ['data:image/png,X X', [88, 32, 88]],
    ['data:text/plain;a=",",X', [34, 44, 88]],
    ['data:text/plain;a=%2C,X', [88]],
    ['data:;base64;base64,WA', [88]],
    ['data:x/x;base64;charset=x,WA', [87, 65]],
    ['data:x/x;base64;charset=x;base64,WA', [88]],
    ['data:x/x;base64;base64x,WA', [87, 65]],
    ['data:;base64,W%20A', [88]],
    ['data:;base64,W%0CA', [88]],
    ['data:x;base64;x,WA', [87, 65]],
    ['data:x;base64=x,WA', [87, 65]],
    ['data:; base64,WA', [88]],
    ['data:;base64;,WA', [87, 65]],
    ['data:;base64 ,WA', [88]],
    ['data:;base 64,WA', [87, 65]],
    ['data:;BASe64,WA', [88]],
    ['data:;%62ase64,WA', [87, 65]],
    ['data:%3Bbase64,WA', [87, 65]],
  ]
  test.each(published)('%j gives the published result', (uri, bytes) => {
    const data = dataInUri(uri)
    expect(data && [...data.bytes]).toEqual(bytes === null ? null : [...bytes])
    expect(metadataInUri(uri)).toBeNull()
  })

  // Inputs and bytes from web-platform-tests, fetch/data-urls/resources/base64.json.
  const inBase64: readonly (readonly [string, readonly number[] | null])[] = [
    ['', []],
    [' abcd', [105, 183, 29]],
    ['abcd ===', null],
    ['a', null],
    ['ab', [105]],
    ['abc', [105, 183]],
    ['abcde', null],
    ['𐀀', null],
    ['=', null],
    ['a==', null],
    ['ab=', null],
    ['ab==', [105]],
    ['ab===', null],
    ['abc=', [105, 183]],
    ['abcd=', null],
    ['abcde===', null],
    ['=a', null],
    ['ab=c', null],
    ['ab\u00a0cd', null],
    ['ab\t\n\f\r cd', [105, 183, 29]],
    ['ab\t\n\f\r =\t\n\f\r =\t\n\f\r ', [105]],
    ['///A', [255, 255, 192]],
    ['////A', null],
    ['AAA/', [0, 0, 63]],
    ['\u0000nonsense', null],
  ]
  test.each(inBase64)('%j in base64 gives the published result', (text, bytes) => {
    const data = dataInUri(`data:;base64,${text}`)
    expect(data && [...data.bytes]).toEqual(bytes === null ? null : [...bytes])
  })
})
