// Phrases (BIP-39, English): entropy as words, and the seed that is stretched from either.
//
// A new seed is 16 random bytes, 12 words: 128 bits are what secp256k1 itself offers (its best attack takes 2^128
// steps), so 24 words would guard a key no better, and 12 are what people's wallets make, show and accept. An imported
// phrase keeps its own length. What is sealed is the entropy: it is the phrase, without the words.

import { pbkdf2Sync } from 'node:crypto'
import { entropyToMnemonic, mnemonicToEntropy } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'

export const ENTROPY_BYTES = 16

const STRETCH_ROUNDS = 2048
const STRETCH_BYTES = 64
/** 24 words of 8 letters are 215 characters; the rest is room for white space. */
const PHRASE_CHARACTERS_MAX = 1024

/** The phrase of 16, 20, 24, 28 or 32 bytes; a string, which cannot be zeroed. */
export const phraseOf = (entropy: Uint8Array): string => entropyToMnemonic(entropy, wordlist)

/**
 * The entropy of 12, 15, 18, 21 or 24 words whose checksum holds, however they are spaced and capitalised (NFKD).
 * @returns bytes that the caller zeroes, or null: the library's own error would name the word that is wrong.
 */
export const entropyOf = (phrase: string): Uint8Array | null => {
  if (phrase.length > PHRASE_CHARACTERS_MAX) return null
  const words = phrase.normalize('NFKD').trim().toLowerCase().split(/\s+/)
  try {
    return mnemonicToEntropy(words.join(' '), wordlist)
  } catch {
    return null
  }
}

/** BIP-39's seed: 64 bytes, from the phrase without a passphrase. */
export const seedOf = (entropy: Uint8Array): Uint8Array =>
  pbkdf2Sync(phraseOf(entropy).normalize('NFKD'), 'mnemonic', STRETCH_ROUNDS, STRETCH_BYTES, 'sha512')

/** Substrate's seed: likewise, but from the entropy itself (substrate-bip39). */
export const substrateSeedOf = (entropy: Uint8Array): Uint8Array =>
  pbkdf2Sync(entropy, 'mnemonic', STRETCH_ROUNDS, STRETCH_BYTES, 'sha512')
