import { describe, expect, test } from 'bun:test'
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
    ['a token that is none', withTokens(TOKEN, null), 'tokens.1 must be an object.'],
    ['a chain id in text', withToken({ chainId: '1' }), 'tokens.0.chainId must be a whole number'],
    ['no address', withToken({ address: undefined }), 'tokens.0.address must be an address'],
    ['a short address', withToken({ address: '0x12' }), '"tokens.0.address" must be an address'],
    ['a wrong checksum', withToken({ address: USDC.replace('A0b', 'a0b') }), '"tokens.0.address" has a wrong checksum'],
    ['an invisible symbol', withToken({ symbol: '\u200b' }), 'tokens.0.symbol must be a text with visible characters.'],
    [
      'a broken number of decimals',
      withToken({ decimals: 6.5 }),
      'tokens.0.decimals must be a whole number from 0 to 255.',
    ],
    ['decimals beyond a byte', withToken({ decimals: 256 }), 'tokens.0.decimals must be a whole number from 0 to 255.'],
    ['a logo by http', withToken({ logoURI: 'http://example.com/l.png' }), 'tokens.0.logoURI must be a URI'],
    ['a logo that is code', withToken({ logoURI: 'javascript:alert(1)' }), 'tokens.0.logoURI must be a URI'],
    ['a logo with a line', withToken({ logoURI: 'https://a\nb' }), 'tokens.0.logoURI must be a URI'],
    ['an endless logo', withToken({ logoURI: `https://${'a'.repeat(2_048)}` }), 'tokens.0.logoURI must be a URI'],
    ['extensions of text', withToken({ extensions: 'x' }), 'tokens.0.extensions must be an object.'],
    ['odd decimals to show', withToken({ extensions: { displayDecimals: -1 } }), 'tokens.0.extensions.displayDecimals'],
    [
      'a token twice, in other letters',
      withTokens(TOKEN, { ...TOKEN, address: USDC.toLowerCase() }),
      'tokens.1.address is in the list twice on Ethereum',
    ],
  ]
  test.each(refused)('is refused with %s', (_, list, sentence) => {
    expect(() => parse(list)).toThrow(sentence)
  })
})
