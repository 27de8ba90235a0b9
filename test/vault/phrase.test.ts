import { describe, expect, test } from 'bun:test'
import { entropyToMnemonic, mnemonicToEntropy } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import fc from 'fast-check'
import { encodePhrase, parsePhrase } from '../../src/vault/rooms/keys/phrase.ts'
import { isLong, longTest, roundsOf } from '../support/long.ts'
import { bytesOf, hexOf, textOf } from './support.ts'
import { BIP_39 } from './vectors.ts'

const entropies = fc
  .constantFrom(16, 20, 24, 28, 32)
  .chain((length) => fc.uint8Array({ minLength: length, maxLength: length }))

/** What the other implementation reads, once NFKD, capitals and spacing are out of the way. */
const entropyBy = (phrase: string): string | null => {
  const words = phrase.normalize('NFKD').trim().toLowerCase().split(/\s+/)
  try {
    return hexOf(mnemonicToEntropy(words.join(' '), wordlist))
  } catch {
    return null
  }
}

/** The same of a text and of its UTF-8. */
const entropyIn = (phrase: string): string | null => {
  const [ofText, ofBytes] = [parsePhrase(phrase), parsePhrase(Buffer.from(phrase))].map((each) => each && hexOf(each))
  expect(ofText).toBe(ofBytes)
  return ofText ?? null
}

describe('a phrase', () => {
  test.each(BIP_39)('agrees with the published phrase of $entropy, in both directions', ({ entropy, phrase }) => {
    expect(textOf(encodePhrase(bytesOf(entropy)))).toBe(phrase)
    expect(entropyIn(phrase)).toBe(entropy)
  })

  test('agrees with another implementation, in both directions', () => {
    fc.assert(
      fc.property(entropies, (entropy) => {
        const phrase = textOf(encodePhrase(entropy))
        expect(phrase).toBe(entropyToMnemonic(entropy, wordlist))
        expect(entropyIn(phrase)).toBe(hexOf(entropy))
      }),
      { numRuns: isLong ? 500 : 30, seed: 39 },
    )
  })

  longTest('of any words is read or refused as another implementation does', () => {
    const words = fc.array(fc.constantFrom(...wordlist), { minLength: 11, maxLength: 25 })
    let read = 0
    fc.assert(
      fc.property(words, (each) => {
        const phrase = each.join(' ')
        const entropy = entropyIn(phrase)
        expect(entropy).toBe(entropyBy(phrase))
        if (entropy !== null) read += 1
      }),
      { numRuns: 1_000, seed: 39 },
    )
    // A checksum of 4 bits holds by chance once in 16 times.
    expect(read).toBeGreaterThan(10)
  })

  test('in any characters is read or refused as another implementation does', () => {
    const odd = fc.constantFrom(
      ...'ＡｂﬁﬃＫK²½﷐﷽⑽㎢İſ\u00ad\u0301\u00a0\u1680\u2028\u3000\ufeff\u0000\v\t\n  ',
      '𝐚',
      '𝔟',
      '😀',
      '',
    )
    let taken = 0
    fc.assert(
      fc.property(entropies, fc.nat(), odd, fc.boolean(), (entropy, at, character, isInstead) => {
        const phrase = entropyToMnemonic(entropy, wordlist)
        const place = at % phrase.length
        const changed = phrase.slice(0, place) + character + phrase.slice(place + (isInstead ? 1 : 0))
        const read = entropyIn(changed)
        expect(read).toBe(entropyBy(changed))
        if (read !== null) taken += 1
      }),
      { numRuns: roundsOf(1_000), seed: 39 },
    )
    expect(taken).toBeGreaterThan(10)
  })

  test.each([
    ['half of a surrogate pair', 'abandon \ud800'],
    ['more than a phrase has', ' '.repeat(1025)],
  ])('is refused if it has %s', (_what, phrase) => expect(parsePhrase(phrase)).toBeNull())

  test('is refused if its bytes are not UTF-8', () => {
    for (const bytes of [[0xff], [0xc3], [0xe3, 0x80], [0xed, 0xa0, 0x80]]) {
      expect(parsePhrase(Uint8Array.from(bytes))).toBeNull()
    }
  })

  test('does not change its input', () => {
    const entropy = new Uint8Array(16).fill(7)
    const phrase = Buffer.from(encodePhrase(entropy))
    parsePhrase(phrase)
    expect([hexOf(entropy), phrase.toString()]).toEqual(['07'.repeat(16), entropyToMnemonic(entropy, wordlist)])
  })
})
