import { expect, test } from 'bun:test'
import { ENVIRONMENTS } from '../../db/words.ts'
import { parseAddress } from '../../src/chains/evm/address.ts'
import { networkRows } from '../../src/platform/networks.ts'

const rows = ENVIRONMENTS.flatMap((environment) => networkRows({ environment, devnet: false }))

test('each known token’s address has a valid checksum, and each logo is a file of one repository', () => {
  const entries = rows.flatMap(({ knownTokens }) => [...knownTokens])
  expect(entries.length).toBeGreaterThan(40)
  for (const [address, { logoUrl, displayDecimals }] of entries) {
    expect(parseAddress(address, 'address')).toBe(address)
    expect(logoUrl).toMatch(/^(?:|https:\/\/raw\.githubusercontent\.com\/trustwallet\/assets\/master\/.*\/logo\.png)$/)
    expect(displayDecimals).toBeWithin(2, 9)
    const [, inLogo] = /\/assets\/(0x\w+)\//.exec(logoUrl) ?? []
    if (inLogo !== undefined) expect(parseAddress(inLogo, 'logo')).toBe(inLogo)
  }
})

test('all coins but one have logos', () => {
  const without = networkRows({ environment: 'mainnet', devnet: false })
    .filter(({ coin }) => !coin.logoUrl.startsWith('https://'))
    .map(({ network, coin }) => [network, coin.logoUrl])
  expect(without).toEqual([['Vara', '']])
})
