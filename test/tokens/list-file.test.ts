import { describe, expect, test } from 'bun:test'
import defaultList from '@uniswap/default-token-list'
import schema from '@uniswap/token-lists/src/tokenlist.schema.json'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { getAddress } from 'viem'
import type { EvmNetwork } from '../../db/words.ts'
import { parseTokenListFile } from '../../src/tokens/list-file.ts'

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const TOKEN = { chainId: 1, address: USDC, name: 'USD Coin', symbol: 'USDC', decimals: 6 }
const LIST = { name: 'A list', version: { major: 1, minor: 2, patch: 3 }, timestamp: '2026-01-01T00:00:00Z' }
const networks = new Map<number, EvmNetwork>([
  [1, 'Ethereum'],
  [137, 'Polygon'],
])

const parse = (list: unknown) =>
  parseTokenListFile({ text: typeof list === 'string' ? list : JSON.stringify(list), networks })
const withTokens = (...tokens: readonly unknown[]) => ({ ...LIST, tokens })
const withToken = (changes: object) => withTokens({ ...TOKEN, ...changes })

describe('a token list', () => {
  test('is read; tokens of other chains are counted and not judged', () => {
    const file = parse(
      withTokens(
        {
          ...TOKEN,
          address: USDC.toLowerCase(),
          logoURI: 'ipfs://logo',
          extensions: { displayDecimals: 2, other: [] },
        },
        { ...TOKEN, chainId: 137, tags: ['stable'], logoURI: '' },
        { chainId: 10, address: 'elsewhere' },
      ),
    )
    const read = { address: USDC, name: 'USD Coin', symbol: 'USDC' }
    expect(file).toEqual({
      name: 'A list',
      version: '1.2.3',
      skipped: 1,
      refused: [],
      tokens: [
        { ...read, network: 'Ethereum', logoUrl: 'ipfs://logo', displayDecimals: 2 },
        { ...read, network: 'Polygon', logoUrl: '', displayDecimals: null },
      ],
    })
  })

  test('has names that are bounded and cleaned as those from the chain are', () => {
    const hostile = `\u202eGood\u0000\n Token${'x'.repeat(100_000)}`
    const [token] = parse(withToken({ name: hostile, symbol: `A\u200b${'B'.repeat(99)}` })).tokens
    expect(token).toMatchObject({ name: `Good Token${'x'.repeat(54)}`, symbol: `A${'B'.repeat(31)}` })
    expect(parse({ ...withToken({}), name: '\u202e name ' }).name).toBe('name')
  })

  const refused: readonly (readonly [string, unknown, string])[] = [
    ['no JSON', '{', 'The file must be JSON.'],
    ['a list of tokens alone', [TOKEN], 'A token list must be an object.'],
    ['no name', { ...withToken({}), name: '\u0000' }, 'name must be a text with visible characters.'],
    ['no version', { name: 'x', tokens: [TOKEN] }, 'version must be an object.'],
    ['half a version', { ...withToken({}), version: { major: 1, minor: 2 } }, 'version.patch must be a whole number'],
    ['no tokens', LIST, 'tokens must be a list of 1 to 50000 tokens.'],
    ['empty tokens', withTokens(), 'tokens must be a list of 1 to 50000 tokens.'],
    ['too many tokens', withTokens(...Array(50_001).fill(0)), 'tokens must be a list of 1 to 50000 tokens.'],
    [
      'no token that can be taken',
      withTokens(null, 1),
      'No token of the list can be taken: tokens.0 must be an object.',
    ],
  ]
  test.each(refused)('is refused with %s', (_, list, sentence) => {
    expect(() => parse(list)).toThrow(sentence)
  })

  const OTHER = { ...TOKEN, address: '0x39AA39c021dfbaE8faC545936693aC917d5E7563' }
  const named: readonly (readonly [string, unknown, string])[] = [
    ['a token that is none', null, 'tokens.1 must be an object.'],
    ['a chain id in text', { chainId: '1' }, 'tokens.1.chainId must be a whole number'],
    ['no address', { address: undefined }, 'tokens.1.address must be an address'],
    ['a short address', { address: '0x12' }, '"tokens.1.address" must be an address'],
    ['a wrong checksum', { address: USDC.replace('A0b', 'a0b') }, '"tokens.1.address" has a wrong checksum'],
    ['no name', { name: undefined }, 'tokens.1.name must be a text.'],
    ['a symbol of numbers', { symbol: 1 }, 'tokens.1.symbol must be a text.'],
    ['a broken number of decimals', { decimals: 6.5 }, 'tokens.1.decimals must be a whole number from 0 to 255.'],
    ['decimals beyond a byte', { decimals: 256 }, 'tokens.1.decimals must be a whole number from 0 to 255.'],
    [
      'a token twice, in other letters',
      { address: OTHER.address.toLowerCase() },
      'tokens.1.address is in the list twice',
    ],
  ]
  test.each(named)('is taken without a token with %s, which it names', (_, changes, sentence) => {
    const wrong = changes === null ? null : { ...TOKEN, ...Object(changes) }
    const file = parse(withTokens(OTHER, wrong, { ...TOKEN, chainId: 137 }))
    expect(file.tokens.map((token) => [token.network, token.address])).toEqual([
      ['Ethereum', OTHER.address],
      ['Polygon', USDC],
    ])
    expect(file.refused).toEqual([expect.stringContaining(sentence)])
  })

  const without: readonly (readonly [string, object, string])[] = [
    ['a logo by http', { logoURI: 'http://example.com/l.png' }, 'tokens.0.logoURI must be a URI'],
    ['a logo that is code', { logoURI: 'javascript:alert(1)' }, 'tokens.0.logoURI must be a URI'],
    ['a logo with a line', { logoURI: 'https://a\nb' }, 'tokens.0.logoURI must be a URI'],
    ['an endless logo', { logoURI: `https://${'a'.repeat(2_048)}` }, 'tokens.0.logoURI must be a URI'],
    ['extensions of text', { extensions: 'x' }, 'tokens.0.extensions must be an object.'],
    ['odd decimals to show', { extensions: { displayDecimals: -1 } }, 'tokens.0.extensions.displayDecimals'],
  ]
  test.each(without)('has a token with %s without that, and names it', (_, changes, sentence) => {
    const file = parse(withToken(changes))
    expect(file.tokens).toEqual([
      { network: 'Ethereum', address: USDC, name: 'USD Coin', symbol: 'USDC', logoUrl: '', displayDecimals: null },
    ])
    expect(file.refused).toEqual([expect.stringContaining(sentence)])
  })
})

describe('the official format', () => {
  const ajv = new Ajv({ strict: false })
  addFormats(ajv)
  const isOfficial = ajv.compile(schema)

  // The cases of the format's own fixtures, each judged by its schema as well.
  const official: readonly (readonly [string, unknown])[] = [
    ['as small as can be', withToken({})],
    ['without names and symbols', withToken({ name: '', symbol: '', decimals: 0 })],
    ['with special signs', withToken({ name: 'Ünï+cødé $TOKEN™ 中文 / v2.0', symbol: 'ÜÑ+$™.e' })],
    ['with a period in a symbol', withToken({ symbol: 'USDC.e' })],
    ['with tags and keywords', { ...withToken({ tags: ['stable'] }), keywords: ['audited'], logoURI: 'ipfs://list' }],
    ['with extensions', withToken({ extensions: { color: '#000000', is_verified: true, rank: 1, none: null } })],
    ['with addresses on other chains', withToken({ extensions: { bridgeInfo: { '10': { tokenAddress: USDC } } } })],
    ['with a token map', { ...withToken({}), tokenMap: { [`1_${USDC}`]: TOKEN } }],
    ['with fields of its own', { ...withToken({}), unknownField: 'foo' }],
    ['with addresses in one letter case', withToken({ address: USDC.toLowerCase() })],
  ]
  test.each(official)('is taken %s', (_, list) => {
    expect([isOfficial(list), isOfficial.errors]).toEqual([true, null])
    expect(parse(list)).toMatchObject({ tokens: [{ network: 'Ethereum', address: USDC }], skipped: 0, refused: [] })
  })

  test('is taken with addresses of other kinds of chains', () => {
    const solana = { ...TOKEN, chainId: 101, address: 'So11111111111111111111111111111111111111112' }
    const list = withTokens(solana, TOKEN)
    expect(isOfficial(list)).toBe(true)
    expect(parse(list)).toMatchObject({ tokens: [{ address: USDC }], skipped: 1, refused: [] })
  })

  test('is taken with a token that is there twice', () => {
    const list = withTokens(TOKEN, { ...TOKEN, name: 'Again' })
    expect(isOfficial(list)).toBe(true)
    expect(parse(list)).toMatchObject({ tokens: [{ name: 'USD Coin' }], refused: [expect.stringContaining('twice')] })
  })

  test('is taken as the list that is used most is written: each token of these networks', () => {
    expect([isOfficial(defaultList), isOfficial.errors]).toEqual([true, null])
    const here = defaultList.tokens.filter(({ chainId }) => networks.has(chainId))
    expect(here.length).toBeGreaterThan(300)
    const file = parse(defaultList)
    expect(file.refused).toEqual([])
    expect(file.tokens.map(({ address }) => address)).toEqual(here.map(({ address }) => getAddress(address)))
    expect(file.skipped).toBe(defaultList.tokens.length - here.length)
  })
})
