import { describe, expect, test } from 'bun:test'
import defaultList from '@uniswap/default-token-list'
import schema from '@uniswap/token-lists/src/tokenlist.schema.json'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { getAddress } from 'viem'
import { parseTokenListFile } from '../../src/assets/tokens/lists.ts'
import { createNodelessEvmChain } from '../../src/chains/evm/nodeless.ts'
import { networkRows } from '../../src/platform/networks.ts'

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const TOKEN = { chainId: 1, address: USDC, name: 'USD Coin', symbol: 'USDC', decimals: 6 }
const LIST = { name: 'A list', version: { major: 1, minor: 2, patch: 3 }, timestamp: '2026-01-01T00:00:00Z' }
const chains = networkRows({ environment: 'mainnet', devnet: false }).flatMap((row) =>
  row.family === 'evm' && ['Ethereum', 'Polygon'].includes(row.network) ? [createNodelessEvmChain(row)] : [],
)

const parse = (list: unknown) =>
  parseTokenListFile({ text: typeof list === 'string' ? list : JSON.stringify(list), chains })
const withTokens = (...tokens: readonly unknown[]) => ({ ...LIST, tokens })
const withToken = (changes: object) => withTokens({ ...TOKEN, ...changes })

/** Numbered fields: `f1`, `f2` and so on. */
const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at + 1}`, at]))

describe('a token list', () => {
  test('is read; tokens of other chains are counted but not validated', () => {
    const file = parse(
      withTokens(
        {
          ...TOKEN,
          address: USDC.toLowerCase(),
          logoURI: 'ipfs://logo',
          extensions: { displayDecimals: 2, other: 'x' },
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

  test('has its names cleaned like names from the chain', () => {
    const [token] = parse(withToken({ name: '\u202eGood\u0000  Token', symbol: 'A\u200bB' })).tokens
    expect(token).toMatchObject({ name: 'Good Token', symbol: 'AB' })
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
    ['no token that can be taken', withTokens(null, 1), 'The list has no valid token: tokens.0 must be an object.'],
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
    ['a name beyond 60 characters', { name: 'é'.repeat(61) }, 'tokens.1.name must have at most 60 characters, without'],
    ['an endless name', { name: 'x'.repeat(1_000_000) }, 'tokens.1.name must have at most 60 characters'],
    [
      'a name in two lines',
      { name: 'USD\nCoin' },
      'tokens.1.name must have at most 60 characters, without line breaks.',
    ],
    ['a symbol beyond 20 characters', { symbol: 'U'.repeat(21) }, 'tokens.1.symbol must have at most 20 characters'],
    ['a symbol of two words', { symbol: 'US DC' }, 'tokens.1.symbol must have at most 20 characters, without spaces.'],
    [
      'a token twice, in other letters',
      { address: OTHER.address.toLowerCase() },
      'tokens.1.address is in the list twice',
    ],
  ]
  test.each(named)('is imported without a token with %s, which is reported', (_, changes, sentence) => {
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
    ['tags of text', { tags: 'stable' }, 'tokens.0.tags must be a list'],
    ['a tag of eleven characters', { tags: ['stablecoins'] }, 'tokens.0.tags must be a list'],
    ['extensions of lists', { extensions: { abc: ['1234'] } }, 'tokens.0.extensions must have at most 10 fields'],
    ['eleven extensions', { extensions: numbered(11) }, 'tokens.0.extensions must have at most 10 fields'],
  ]
  test.each(without)('has a token with %s imported without that, which is reported', (_, changes, sentence) => {
    const file = parse(withToken(changes))
    expect(file.tokens).toEqual([
      { network: 'Ethereum', address: USDC, name: 'USD Coin', symbol: 'USDC', logoUrl: '', displayDecimals: null },
    ])
    expect(file.refused).toEqual([expect.stringContaining(sentence)])
  })
})

// Cases named after files of test/schema in github.com/Uniswap/token-lists hold the content of that file. Each case is
// also checked with the official schema.
describe('the official format', () => {
  const ajv = new Ajv({ strict: false })
  addFormats(ajv)
  const isOfficial = ajv.compile(schema)

  const CUSDC = { ...TOKEN, address: '0x39AA39c021dfbaE8faC545936693aC917d5E7563', symbol: 'cUSDC', decimals: 8 }
  const tagged = { tags: { stablecoin: { name: 'Stablecoin', description: 'One US dollar, e.g. by law' } } }
  const keywords = ['audited', 'special tokens']
  const logoURI = 'ipfs://QmXfzKRvjZz3u5JRgC4v5mGVbm9ahrUiB4DgzHBsnWbTMM'
  const bridge = (chain: string) => ({ [chain]: { tokenAddress: USDC, originBridgeAddress: CUSDC.address } })
  const primitives = { abc: '1234', def: 1234, isBoolean: false, isNull: null }
  const named = (...labels: readonly (readonly [symbol: string, name: string])[]) =>
    labels.map(([symbol, name], at) => ({ ...TOKEN, address: `0x${String(at + 1).padStart(40, '0')}`, symbol, name }))

  const official: readonly (readonly [string, Record<string, unknown> & { readonly tokens: readonly unknown[] }])[] = [
    ['exampleminimum', withTokens(TOKEN, CUSDC)],
    [
      'example',
      { ...withTokens({ ...TOKEN, logoURI, tags: ['stablecoin'] }, CUSDC), ...tagged, ...{ keywords, logoURI } },
    ],
    ['example, with its tokenMap', { ...withTokens(TOKEN), tokenMap: { [`1_${USDC}`]: TOKEN } }],
    ['bigexample', withTokens(...named(...Array.from({ length: 60 }, (_, at) => [`T${at}`, `Token ${at}`] as const)))],
    ['empty-name-symbol', withTokens({ ...TOKEN, chainId: 137, name: '', symbol: '', decimals: 0 })],
    [
      'example-name-symbol-special-characters',
      withTokens(
        ...named(
          ['USD++', 'PieDAO USD++ Pool'],
          ['UNI-USDC/ETH+50/50%', 'Uniswap V2-USDC/ETH+50/50%'],
          ['DIACRITIC', 'Ázertíyuöp'],
          ['DMG', 'DMM: Governance'],
          ['$TRDL', 'Strudel Finance'],
          ['symbol', '[brackets]&(parenthesis)'],
          ['天津神', 'Amatsukami'],
          ['∞-waUSDC-xPYT', 'Timeless ERC4626-Wrapped'],
        ),
      ),
    ],
    ['tokenwithperiodsymbol', withToken({ symbol: 'USDC.e' })],
    ['extensions-valid', withToken({ extensions: { ...primitives, justRightAddress: USDC } })],
    ['extensions-valid-object', withToken({ extensions: { ...primitives, withObject: { 1: primitives } } })],
    ['example-crosschain', withToken({ extensions: { bridgeInfo: { ...bridge('10'), ...bridge('42161') } } })],
    ['a field of its own', { ...withToken({}), unknownField: 'foo' }],
    ['a large version', { ...withToken({}), version: { major: 999_999, minor: 1_000_000, patch: 0 } }],
    ['an address in one letter case', withToken({ address: USDC.toLowerCase() })],
    ['names as long as can be', withToken({ name: '天'.repeat(60), symbol: '∞'.repeat(20) })],
    [
      'tags and extensions, as many as can be',
      withToken({ tags: Array(10).fill('a234567890'), extensions: numbered(10) }),
    ],
  ]
  test.each(official)('is accepted: %s', (_, list) => {
    expect([isOfficial(list), isOfficial.errors]).toEqual([true, null])
    const file = parse(list)
    expect(file).toMatchObject({ skipped: 0, refused: [] })
    expect(file.tokens).toHaveLength(list.tokens.length)
  })

  const tooDeep = { withObject: { 1: { tokenAddress: 'abc', another: { test: 123 } } } }
  const notOfficial: readonly (readonly [string, object, string, 'not taken' | 'taken without'])[] = [
    [
      'bigwords',
      { name: `blah ${'blah '.repeat(11)}b.` },
      'tokens.1.name must have at most 60 characters',
      'not taken',
    ],
    ['invaliddecimals.1', { decimals: 256 }, 'tokens.1.decimals must be a whole number from 0 to 255', 'not taken'],
    ['invaliddecimals.2', { decimals: -1 }, 'tokens.1.decimals must be a whole number from 0 to 255', 'not taken'],
    ['invalidtokenaddress', { address: `0x${'0'.repeat(38)}_0` }, '"tokens.1.address" must be an address', 'not taken'],
    ['invalidlogouri.1', { logoURI: 'hello' }, 'tokens.1.logoURI must be a URI', 'taken without'],
    ['invalidNumTags', { tags: [...'abcdefghijk'] }, 'tokens.1.tags must be a list of at most 10', 'taken without'],
    [
      'extensions-invalid',
      { extensions: { abc: ['1234'], isNull: { thing: null }, tooLong: `0x${'0'.repeat(40)}1` } },
      'tokens.1.extensions must have at most 10 fields',
      'taken without',
    ],
    ['extensions-invalid-object-too-deep', { extensions: tooDeep }, 'tokens.1.extensions must have', 'taken without'],
  ]
  test.each(notOfficial)(
    'with an invalid token is imported without it, and reports it: %s',
    (_, changes, sentence, end) => {
      const list = withTokens(CUSDC, { ...TOKEN, ...changes }, { ...TOKEN, chainId: 137 })
      expect(isOfficial(list)).toBe(false)
      const file = parse(list)
      const broken = end === 'not taken' ? [] : [['Ethereum', USDC, '', null]]
      expect(file.tokens.map((token) => [token.network, token.address, token.logoUrl, token.displayDecimals])).toEqual([
        ['Ethereum', CUSDC.address, '', null],
        ...broken,
        ['Polygon', USDC, '', null],
      ])
      expect(file.refused).toEqual([expect.stringContaining(sentence)])
    },
  )

  const broken: readonly (readonly [string, object, string])[] = [
    ['empty', withTokens(), 'tokens must be a list of 1 to 50000 tokens.'],
    ['nothing', {}, 'name must be a text with visible characters.'],
    ...(['patch', 'minor', 'major'] as const).map((part, at) => {
      const version = { ...LIST.version, [part]: -1 }
      return [
        `invalidversion.${at + 1}`,
        { ...withToken({}), version },
        `version.${part} must be a whole number`,
      ] as const
    }),
  ]
  test.each(broken)('is refused as a whole: %s', (_, list, sentence) => {
    expect(isOfficial(list)).toBe(false)
    expect(() => parse(list)).toThrow(sentence)
  })

  const unused: readonly (readonly [string, object])[] = [
    ['invalidtimestamp', { ...withToken({}), timestamp: 'abc' }],
    ['invalidlogouri.2', { ...withToken({}), logoURI: 'hello-world' }],
    [
      'more than 10,000 tokens',
      withTokens(...Array.from({ length: 10_001 }, (_, at) => ({ ...TOKEN, chainId: 1_000 + at })), TOKEN),
    ],
  ]
  test.each(unused)('is accepted with mistakes in unused fields: %s', (_, list) => {
    expect(isOfficial(list)).toBe(false)
    expect(parse(list)).toMatchObject({ tokens: [{ address: USDC }], refused: [] })
  })

  test('is accepted with addresses of other kinds of chains', () => {
    const solana = { ...TOKEN, chainId: 101, address: 'So11111111111111111111111111111111111111112' }
    const list = withTokens(solana, TOKEN)
    expect(isOfficial(list)).toBe(true)
    expect(parse(list)).toMatchObject({ tokens: [{ address: USDC }], skipped: 1, refused: [] })
  })

  test('is accepted with a duplicate token', () => {
    const list = withTokens(TOKEN, { ...TOKEN, name: 'Again' })
    expect(isOfficial(list)).toBe(true)
    expect(parse(list)).toMatchObject({ tokens: [{ name: 'USD Coin' }], refused: [expect.stringContaining('twice')] })
  })

  test('is accepted as the most popular list is written, with every token of our networks', () => {
    expect([isOfficial(defaultList), isOfficial.errors]).toEqual([true, null])
    const here = defaultList.tokens.filter(({ chainId }) => chains.some((chain) => chain.chainId === chainId))
    expect(here.length).toBeGreaterThan(300)
    const file = parse(defaultList)
    expect(file.refused).toEqual([])
    expect(file.tokens.map(({ address }) => address)).toEqual(here.map(({ address }) => getAddress(address)))
    expect(file.skipped).toBe(defaultList.tokens.length - here.length)
  })
})
