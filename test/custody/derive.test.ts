import { describe, expect, test } from 'bun:test'
import { pbkdf2Sync } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { HARDENED_OFFSET, HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToEntropy } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { mnemonicToAccount } from 'viem/accounts'
import { derivationOf, ENTROPY_BYTES, privateKeyAt, seedOf } from '../../src/custody/derive.ts'
import { bytesOf, hexOf } from './support.ts'
import { ANVIL, BIP_32, BIP_32_INVALID, BIP_39 } from './vectors.ts'

const indicesOf = (path: string): number[] =>
  path
    .split('/')
    .slice(1)
    .map((part) => Number.parseInt(part, 10) + (part.endsWith("'") ? HARDENED_OFFSET : 0))

const addressOf = (publicKey: Uint8Array): string => hexOf(keccak_256(publicKey.subarray(1)).subarray(12))

describe('BIP-39', () => {
  test.each(BIP_39)('makes the published phrase of $entropy, and reads it', ({ entropy, phrase }) => {
    expect(entropyToMnemonic(bytesOf(entropy), wordlist)).toBe(phrase)
    expect(hexOf(mnemonicToEntropy(phrase, wordlist))).toBe(entropy)
  })

  test.each(BIP_39)('makes the published seed of $entropy', ({ phrase, seed }) => {
    const derived = pbkdf2Sync(phrase.normalize('NFKD'), 'mnemonicTREZOR', 2048, 64, 'sha512')
    expect(derived.toString('hex')).toBe(seed)
  })

  test.each(BIP_39)('makes the seed of $entropy without a passphrase as its phrase says', ({ entropy, phrase }) => {
    expect(hexOf(seedOf(bytesOf(entropy)))).toBe(pbkdf2Sync(phrase, 'mnemonic', 2048, 64, 'sha512').toString('hex'))
  })

  test('a new seed has twelve words', () => {
    expect(entropyToMnemonic(new Uint8Array(ENTROPY_BYTES), wordlist).split(' ').length).toBe(12)
  })
})

describe('BIP-32', () => {
  test.each(BIP_32)('derives the published key at $path of $seed', ({ seed, path, extended }) => {
    const published = HDKey.fromExtendedKey(extended).privateKey
    expect(published).not.toBeNull()
    expect(hexOf(privateKeyAt({ seed: bytesOf(seed), path: indicesOf(path) }))).toBe(
      hexOf(published ?? new Uint8Array()),
    )
  })

  test.each(BIP_32_INVALID)('refuses an extended key with: $why', ({ extended }) => {
    expect(() => HDKey.fromExtendedKey(extended)).toThrow()
  })
})

describe("a wallet's key pair", () => {
  test('of the phrase of anvil is its first account', () => {
    const { privateKey, publicKey } = derivationOf('evm')(mnemonicToEntropy(ANVIL.phrase, wordlist))
    expect(hexOf(privateKey)).toBe(ANVIL.privateKey)
    expect(addressOf(publicKey)).toBe(ANVIL.address)
  })

  test.each(BIP_39.slice(0, 8))('of $entropy is what another library derives', ({ entropy, phrase }) => {
    const { publicKey } = derivationOf('evm')(bytesOf(entropy))
    expect(`0x${addressOf(publicKey)}`).toBe(mnemonicToAccount(phrase).address.toLowerCase())
  })

  test('leaves the entropy as it was, as its owner zeroes it', () => {
    const entropy = new Uint8Array(16).fill(1)
    derivationOf('evm')(entropy)
    expect(hexOf(entropy)).toBe('01'.repeat(16))
  })

  test('on Substrate is not implemented yet', () => {
    expect(() => derivationOf('substrate')).toThrow(expect.objectContaining({ code: 'not_implemented' }))
  })
})
