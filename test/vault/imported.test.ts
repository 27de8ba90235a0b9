import { describe, expect, test } from 'bun:test'
import { entropyToMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import type { ChainFamily } from '../../db/words.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createQueue } from '../../src/platform/queue.ts'
import { deriveKeyPair } from '../../src/vault/rooms/keys/derive.ts'
import { type ImportedText, readImported } from '../../src/vault/rooms/keys/imported.ts'
import { encodePhrase, parsePhrase } from '../../src/vault/rooms/keys/phrase.ts'
import { bytesOf, hexOf, textOf } from './support.ts'
import { ANVIL, BIP_39, SR25519 } from './vectors.ts'

/** The order of secp256k1 (SEC 2, version 2.0, §2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const hex = (number: bigint, bytes = 32) => number.toString(16).padStart(bytes * 2, '0')

const read = (family: ChainFamily, text: ImportedText) => readImported({ family, text })
const key = (family: ChainFamily, privateKey: string) => hexOf(read(family, { privateKey }).secret)

/** Expects a refusal with one sentence. Neither the sentence nor the log may repeat the text. */
const refuses = (family: ChainFamily, text: ImportedText) => {
  try {
    read(family, text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect([error.code, error.status, error.cause]).toEqual(['invalid_key', 400, undefined])
    const given = Object.values(text).join('').trim()
    for (const part of given.split(/\s+/)) if (part.length > 3) expect(error.message).not.toContain(part)
    return
  }
  throw new Error('it was taken')
}

const ONE = hex(1n)

describe('a private key of an EVM network', () => {
  test.each([
    ['without 0x', ANVIL.privateKey],
    ['with 0x', `0x${ANVIL.privateKey}`],
    ['with 0X', `0X${ANVIL.privateKey}`],
    ['in upper case', ANVIL.privateKey.toUpperCase()],
    ['in both cases', `0x${ANVIL.privateKey.slice(0, 32).toUpperCase()}${ANVIL.privateKey.slice(32)}`],
    ['between white space', ` \n0x${ANVIL.privateKey}\t`],
  ])('is taken %s', (_how, text) => {
    expect(key('evm', text)).toBe(ANVIL.privateKey)
    expect(read('evm', { privateKey: text }).kind).toBe('key')
  })

  test.each([
    ['1', ONE],
    ['n − 1', hex(ORDER - 1n)],
  ])('may be %s', (_name, text) => {
    expect(key('evm', text)).toBe(text)
  })

  test.each([
    ['0', hex(0n)],
    ['n', hex(ORDER)],
    ['n + 1', hex(ORDER + 1n)],
    ['2^256 − 1', 'f'.repeat(64)],
    ['n with 0x', `0x${hex(ORDER)}`],
    ['31 bytes', hex(1n, 31)],
    ['33 bytes', hex(1n, 33)],
    ['32 bytes and a half', `${ONE}0`],
    ['31 bytes and a half', ONE.slice(1)],
    ['64 bytes', ONE.repeat(2)],
    ['nothing', ''],
    ['white space', '   '],
    ['0x alone', '0x'],
    ['0x twice', `0x0x${ONE}`],
    ['no hex', `${'0'.repeat(63)}g`],
    ['a space in between', `${ONE.slice(0, 32)} ${ONE.slice(32)}`],
    ['a minus', `-${ONE.slice(1)}`],
    ['digits of another script', '١'.repeat(64)],
    ['full-width digits', '１'.repeat(64)],
    ['NUL at its end', `${ONE}\u0000`],
    ['base64', Buffer.from(bytesOf(ONE)).toString('base64')],
    ['a phrase', ANVIL.phrase],
    ['very long', '1'.repeat(1_000_000)],
  ])('is refused as %s', (_name, privateKey) => refuses('evm', { privateKey }))
})

describe('a mini-secret of a Substrate network', () => {
  test.each(SR25519)('is accepted and has the published public key: $publicKey', async ({ miniSecret, publicKey }) => {
    for (const text of [miniSecret, `0x${miniSecret}`, miniSecret.toUpperCase()]) {
      expect(key('substrate', text)).toBe(miniSecret)
      const { kind, secret } = read('substrate', { privateKey: text })
      if (kind !== 'key') throw new Error('it is a key')
      const pair = await deriveKeyPair(
        { argon2: createQueue(), stretching: createQueue() },
        { family: 'substrate', kind, secret },
      )
      expect(hexOf(pair.publicKey)).toBe(publicKey)
    }
  })

  test('may be any 32 bytes except zeroes, also above the order of secp256k1', () => {
    for (const text of [ONE, hex(ORDER), 'f'.repeat(64)]) expect(key('substrate', text)).toBe(text)
  })

  test.each([
    ['0', hex(0n)],
    ['31 bytes', hex(1n, 31)],
    ['33 bytes', hex(1n, 33)],
    ['64 bytes, an expanded key', ONE.repeat(2)],
    ['nothing', ''],
    ['no hex', `${'0'.repeat(63)}z`],
    ['a development path', '//Alice'],
  ])('is refused as %s', (_name, privateKey) => refuses('substrate', { privateKey }))
})

describe('a phrase', () => {
  test.each(BIP_39)('of $entropy is read as its entropy and written back', ({ entropy, phrase }) => {
    const { kind, secret } = read('evm', { mnemonicPhrase: phrase })
    expect([kind, hexOf(secret)]).toEqual(['phrase', entropy])
    expect(textOf(encodePhrase(secret))).toBe(phrase)
  })

  test.each([12, 15, 18, 21, 24])('may have %d words', (words) => {
    const entropy = new Uint8Array((words / 3) * 4).fill(7)
    const phrase = entropyToMnemonic(entropy, wordlist)
    expect(phrase.split(' ').length).toBe(words)
    for (const family of ['evm', 'substrate'] as const) {
      expect(hexOf(read(family, { mnemonicPhrase: phrase }).secret)).toBe(hexOf(entropy))
    }
  })

  const words = ANVIL.phrase.split(' ')
  test.each([
    ['between white space', `  ${ANVIL.phrase}\n`],
    ['with much white space', words.join('  \t\n ')],
    ['with no-break spaces', words.join('\u00a0')],
    ['with ideographic spaces, which NFKD makes plain', words.join('\u3000')],
    ['capitalised', words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join(' ')],
    ['in full-width letters, which NFKD makes plain', ANVIL.phrase.replaceAll('t', 'ｔ')],
  ])('is taken %s', (_how, phrase) => {
    expect(textOf(encodePhrase(read('evm', { mnemonicPhrase: phrase }).secret))).toBe(ANVIL.phrase)
  })

  const zeroes = (count: number, last: string) => [...Array(count - 1).fill('abandon'), last].join(' ')
  test.each([
    ['nothing', ''],
    ['white space', ' \n '],
    ['one word', 'abandon'],
    ['a checksum that is wrong', zeroes(12, 'abandon')],
    ['two words swapped', ['junk', ...words.slice(1, 11), 'test'].join(' ')],
    ['a word that is in no list', zeroes(12, 'marmalady')],
    ['a word of another language', zeroes(12, 'ábaco')],
    ['the first four letters of words', words.map((word) => word.slice(0, 3)).join(' ')],
    ['11 words', words.slice(1).join(' ')],
    ['13 words', `${ANVIL.phrase} test`],
    ['9 words, though their checksum holds', entropyToMnemonicOfAnyLength(12)],
    ['27 words, though their checksum holds', entropyToMnemonicOfAnyLength(36)],
    ['words with commas', words.join(', ')],
    ['words run together', words.join('')],
    ['a key', ANVIL.privateKey],
    ['a path behind it', `${ANVIL.phrase}//0`],
    ['very long', `${ANVIL.phrase} `.repeat(10_000)],
    ['hidden by more white space than a phrase has', `${ANVIL.phrase}${' '.repeat(2_000)}`],
  ])('is refused as %s', (_name, mnemonicPhrase) => {
    for (const family of ['evm', 'substrate'] as const) refuses(family, { mnemonicPhrase })
    expect(parsePhrase(mnemonicPhrase)).toBeNull()
  })
})

/** Makes words like BIP-39, for lengths that it does not allow: 12 or 36 bytes. */
function entropyToMnemonicOfAnyLength(bytes: number): string {
  const entropy = new Uint8Array(bytes).fill(5)
  const checksum = new Bun.CryptoHasher('sha256').update(entropy).digest()
  const bits = [...entropy, ...checksum].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const length = bytes * 8 + bytes / 4
  return Array.from(
    { length: length / 11 },
    (_, at) => wordlist[Number.parseInt(bits.slice(at * 11, at * 11 + 11), 2)],
  ).join(' ')
}
