// BIP-39 in English, from bytes to bytes. A phrase is never a string here, because a string cannot be erased. Each word
// stands for 11 bits of the entropy and then of the first bits of its SHA-256, one for each four bytes.

import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { copyOf, HeldKeys, type SecretText, utf8Of, zeros } from '../../../platform/sealing/bytes.ts'

const BITS_A_WORD = 11
/** Three words encode four bytes of entropy and one bit of the checksum. */
const WORDS_A_GROUP = 3
const BYTES_A_GROUP = 4
const GROUPS_MIN = 4
const GROUPS_MAX = 8
const WORDS_MAX = WORDS_A_GROUP * GROUPS_MAX
/** English words have 3 to 8 letters. */
const WORD_BYTES_MAX = 8
/** In UTF-8. 24 words of 8 letters have 215 characters. */
const PHRASE_BYTES_MAX = 1024
/** A character of three bytes can become four ASCII characters (U+247D: "(10)"). */
const PLAIN_BYTES_A_BYTE_MAX = 4
const SPACE = 0x20
const ASCII_END = 0x80

/** `at` counts from the highest bit of the first byte. */
const bitAt = (bytes: Uint8Array, at: number): number => ((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1

const setBit = (bytes: Uint8Array, at: number): void => {
  bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (1 << (7 - (at & 7)))
}

/** The first byte of the SHA-256. No checksum has more than 8 bits. */
const checksumOf = (entropy: Uint8Array): number => {
  const hashed = hash('sha256', entropy, 'buffer')
  const [first = 0] = hashed
  hashed.fill(0)
  return first
}

/** The phrase of 16, 20, 24, 28 or 32 bytes, in ASCII. @returns bytes that the caller zeroes. */
export const encodePhrase = (entropy: Uint8Array): Uint8Array => {
  using keys = new HeldKeys()
  const bits = keys.hold(zeros(entropy.length + 1))
  bits.set(entropy)
  bits[entropy.length] = checksumOf(entropy)
  const phrase = keys.hold(zeros(WORDS_MAX * (WORD_BYTES_MAX + 1)))
  let length = 0
  for (let word = 0; word < (entropy.length / BYTES_A_GROUP) * WORDS_A_GROUP; word += 1) {
    let number = 0
    for (let bit = 0; bit < BITS_A_WORD; bit += 1) number = number * 2 + bitAt(bits, word * BITS_A_WORD + bit)
    const letters = wordlist[number] ?? ''
    if (word > 0) phrase[length++] = SPACE
    for (let index = 0; index < letters.length; index += 1) phrase[length++] = letters.charCodeAt(index)
  }
  return copyOf(phrase.subarray(0, length))
}

/** The length of a character in UTF-8, by its first byte. */
const lengthBy = (first: number): number => (first < ASCII_END ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4)

const isSpace = (code: number): boolean => code === SPACE || (code >= 0x09 && code <= 0x0d)
const inLowerCase = (code: number): number => (code >= 0x41 && code <= 0x5a ? code + 0x20 : code)

/** One character, which may be a string, as it reveals nothing. @returns null if no English word has it. */
const plainOf = (text: string): readonly number[] | null => {
  const codes: number[] = []
  for (const character of text.normalize('NFKD').toLowerCase()) {
    const code = /\s/.test(character) ? SPACE : character.charCodeAt(0)
    if (code >= ASCII_END) return null
    codes.push(code)
  }
  return codes
}

/** In NFKD and lower case, with a space for each white space. @returns false if the result is not ASCII. */
const writePlain = (bytes: Buffer, plain: Uint8Array): boolean => {
  let length = 0
  for (let at = 0; at < bytes.length; at += lengthBy(bytes[at] ?? 0)) {
    const first = bytes[at] ?? 0
    if (first < ASCII_END) {
      plain[length++] = isSpace(first) ? SPACE : inLowerCase(first)
      continue
    }
    const codes = plainOf(bytes.toString('utf8', at, at + lengthBy(first)))
    if (codes === null) return false
    for (const code of codes) plain[length++] = code
  }
  plain.fill(SPACE, length)
  return true
}

const compare = (word: Uint8Array, letters: string): number => {
  for (let index = 0; index < letters.length; index += 1) {
    const difference = (word[index] ?? 0) - letters.charCodeAt(index)
    if (difference !== 0) return difference
  }
  return word.length - letters.length
}

const numberOf = (word: Uint8Array): number => {
  let [from, to] = [0, wordlist.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const order = compare(word, wordlist[middle] ?? '')
    if (order === 0) return middle
    if (order < 0) to = middle
    else from = middle + 1
  }
  return -1
}

/** Writes the numbers of the words. @returns how many words there are, or null if they cannot be a phrase. */
const writeBits = (plain: Uint8Array, bits: Uint8Array): number | null => {
  let words = 0
  let start = 0
  for (let at = 0; at < plain.length; at += 1) {
    if (plain[at] !== SPACE) continue
    if (at > start) {
      const number = words < WORDS_MAX ? numberOf(plain.subarray(start, at)) : -1
      if (number < 0) return null
      for (let bit = 0; bit < BITS_A_WORD; bit += 1) {
        if ((number >> (BITS_A_WORD - 1 - bit)) & 1) setBit(bits, words * BITS_A_WORD + bit)
      }
      words += 1
    }
    start = at + 1
  }
  return words
}

/** Ignores spacing and capitals (NFKD). @returns bytes that the caller zeroes; null if it is not a valid phrase. */
export const parsePhrase = (phrase: SecretText): Uint8Array | null => {
  using keys = new HeldKeys()
  if (phrase.length > PHRASE_BYTES_MAX) return null
  const bytes = utf8Of(phrase)
  if (!isUtf8(bytes)) return null
  const plain = keys.hold(zeros(bytes.length * PLAIN_BYTES_A_BYTE_MAX + 1))
  const bits = keys.hold(zeros(Math.ceil((WORDS_MAX * BITS_A_WORD) / 8)))
  const words = writePlain(bytes, plain) ? writeBits(plain, bits) : null
  if (words === null) return null
  const groups = words / WORDS_A_GROUP
  if (!Number.isInteger(groups) || groups < GROUPS_MIN || groups > GROUPS_MAX) return null
  const entropyBytes = groups * BYTES_A_GROUP
  const entropy = copyOf(bits.subarray(0, entropyBytes))
  if ((bits[entropyBytes] ?? 0) >> (8 - groups) === checksumOf(entropy) >> (8 - groups)) return entropy
  entropy.fill(0)
  return null
}
