import { describe, expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import fc from 'fast-check'
import { displayAmount } from '../../src/platform/amount.ts'
import { nameUuid } from '../../src/platform/name-uuid.ts'
import { EVM_NETWORKS, NETWORKS, networkRows } from '../../src/platform/networks.ts'
import { Token } from '../../src/signing/schema.ts'
import { nativeToken, tokenOf } from '../../src/signing/token.ts'

const DNS = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
const rows = networkRows({ environment: 'mainnet', devnet: false })
const rowOf = (network: string) => {
  const row = rows.find((each) => each.network === network)
  if (row === undefined) throw new Error(`no row of ${network}`)
  return row
}

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

describe('nameUuid', () => {
  // The first is RFC 9562, appendix A.4; the others are Python 3's uuid.uuid5.
  test.each([
    ['www.example.com', '2ed6657d-e927-568b-95e1-2665a8aea6a2'],
    ['bücher.example', '849d4d8f-6c8e-59fa-9721-89ccba396bf9'],
    ['', '4ebd0208-8328-5d69-8c44-ec50939c0967'],
  ])('of %j', (name, uuid) => {
    expect(nameUuid({ namespace: DNS, name })).toBe(uuid)
  })
})

describe('the uuid of a token', () => {
  // Clients store these UUIDs, so the namespace and the names must never change. From Python 3's uuid.uuid5.
  test.each([
    ['Ethereum', 'bb1eaa4e-977b-534d-bd81-2143b1c9e3ab'],
    ['Base', '04203642-9a04-5928-95ed-1cbebcd2a156'],
    ['Polygon', '7719e490-8905-570e-a9fa-af66920b6228'],
  ] as const)('for the coin of %s', (network, uuid) => {
    expect(nativeToken(rowOf(network)).uuid).toBe(uuid)
  })

  test('for a contract', () => {
    const facts = { name: 'USD Coin', symbol: 'USDC', decimals: 6 }
    expect(tokenOf({ network: 'Ethereum', address: USDC, facts }).uuid).toBe('a97650ce-59fb-5523-815a-eb9d8bdcc442')
  })

  test('differs between networks for the same address', () => {
    const facts = { name: '', symbol: '', decimals: 0 }
    const uuids = EVM_NETWORKS.map((network) => tokenOf({ network, address: USDC, facts }).uuid)
    expect(new Set(uuids).size).toBe(EVM_NETWORKS.length)
  })
})

describe('a Token', () => {
  test.each([
    ['Ethereum', 'ETH', 'ETH', 18],
    ['Polygon', 'MATIC', 'POL', 18],
    ['Base', 'ETH', 'ETH', 18],
    ['Avalanche', 'AVAX', 'AVAX', 18],
    ['Polkadot', 'DOT', 'DOT', 10],
    ['Vara', 'VARA', 'VARA', 12],
  ] as const)('for the coin of %s has a word instead of an address', (network, word, symbol, decimals) => {
    expect(nativeToken(rowOf(network))).toMatchObject({ network, contract_address: word, symbol, decimals })
  })

  test('fits its schema, for coins and contracts', () => {
    const facts = { name: 'USD Coin', symbol: 'USDC', decimals: 6 }
    for (const network of NETWORKS) {
      expect(Value.Check(Token, nativeToken(rowOf(network)))).toBe(true)
      expect(Value.Check(Token, tokenOf({ network, address: USDC, facts }))).toBe(true)
    }
  })

  test('never displays more decimals than the token has', () => {
    const shown = (decimals: number) =>
      tokenOf({ network: 'Base', address: USDC, facts: { name: '', symbol: '', decimals } }).display_decimals
    expect([0, 2, 4, 18, 255].map(shown)).toEqual([0, 2, 4, 4, 4])
  })
})

describe('displayAmount', () => {
  test.each([
    [0n, 18, '0'],
    [1n, 18, '0.000000000000000001'],
    [1_000_000_000_000_000_000n, 18, '1'],
    [1_500_000_000_000_000_000n, 18, '1.5'],
    [1_000_000n, 6, '1'],
    [1_234_567n, 6, '1.234567'],
    [10n, 0, '10'],
    [100n, 1, '10'],
    [100n, 2, '1'],
    [100n, 3, '0.1'],
    [2n ** 256n - 1n, 18, '115792089237316195423570985008687907853269984665640564039457.584007913129639935'],
    [2n ** 256n - 1n, 0, (2n ** 256n - 1n).toString()],
    [1n, 255, `0.${'0'.repeat(254)}1`],
  ])('of %p with %p decimals is %p', (raw, decimals, text) => {
    expect(displayAmount(raw, decimals)).toBe(text)
  })

  test('is exact, plain and as short as possible for every amount', () => {
    const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })
    fc.assert(
      fc.property(uint256, fc.integer({ min: 0, max: 255 }), (raw, decimals) => {
        const text = displayAmount(raw, decimals)
        expect(text).toMatch(/^(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?$/)
        const [whole = '', fraction = ''] = text.split('.')
        expect(BigInt(whole + fraction.padEnd(decimals, '0'))).toBe(raw)
      }),
      { seed: 7 },
    )
  })

  test('refuses an invalid amount', () => {
    expect(() => displayAmount(-1n, 18)).toThrow()
    expect(() => displayAmount(1n, -1)).toThrow()
    expect(() => displayAmount(1n, 1.5)).toThrow()
  })
})
