import { describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { MetadataBody, UriField } from '../../src/assets/metadata/schema.ts'

const DOOR = { name: 'Door #1', description: 'A red door.', image: 'https://example.com/door.png' }
const accepts = (value: unknown): boolean => Value.Check(MetadataBody, value)
const takesUri = (uri: string): boolean => Value.Check(UriField('A URI.'), uri)

describe('metadata to host', () => {
  test.each([
    ['as it should be', DOOR],
    ['without a description to speak of', { ...DOOR, description: '' }],
    ['at its bounds', { ...DOOR, name: 'n'.repeat(256), description: 'd'.repeat(4096) }],
  ])('is accepted %s', (_, value) => {
    expect(accepts(value)).toBe(true)
  })

  test.each([
    ['no name', { description: '', image: DOOR.image }],
    ['an empty name', { ...DOOR, name: '' }],
    ['a name that is too long', { ...DOOR, name: 'n'.repeat(257) }],
    ['a description that is too long', { ...DOOR, description: 'd'.repeat(4097) }],
    ['no description', { name: 'x', image: DOOR.image }],
    ['no image', { name: 'x', description: '' }],
    ['an image that is no URI', { ...DOOR, image: 'door.png' }],
    ['a name that is a number', { ...DOOR, name: 1 }],
    ['a field that it does not have', { ...DOOR, attributes: [] }],
    ['a list', [DOOR]],
  ])('is refused with %s', (_, value) => {
    expect(accepts(value)).toBe(false)
  })
})

describe('a URI', () => {
  test.each([
    'https://example.com/a.json',
    'https://example.com/{id}.json',
    'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/1.json',
    'ar://bNbA3TEQVL60xlgCcqdz4ZPHFZ711cZ3hmkpGttDt_U',
    'https://example.com/tür.png',
    'https://example.com/@door?by=a@b.example#@',
    `https://${'a'.repeat(2040)}`,
  ])('%s is accepted', (uri) => {
    expect(takesUri(uri)).toBe(true)
  })

  test.each([
    '',
    'https://',
    'http://example.com/a.json',
    'HTTPS://example.com',
    ' https://example.com',
    'https://example.com/a b',
    'https://example.com/a\n',
    'https://example.com/\u0000',
    'https://example.com/\u00a0',
    'javascript:alert(1)//https://',
    'file:///etc/passwd',
    'data:application/json,{}',
    '//example.com/a.json',
    'ipfs:bafy',
    'https:///example.com',
    'https://?a',
    'https://user:password@example.com/a.png',
    'https://example.com@evil.example/a.png',
    'https://@example.com',
    'https://evil.example\\@example.com',
    'ar://user@x',
    'data:image/png;base64,AAAA',
    `https://${'a'.repeat(2041)}`,
  ])('%j is refused', (uri) => {
    expect(takesUri(uri)).toBe(false)
  })
})
