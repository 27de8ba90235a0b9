// From a keyring's secret to a wallet's key pair.
//
// EVM: phrase → BIP-39 seed → BIP-32 → m/44'/60'/0'/0/0, as every common wallet derives its first account.
// Substrate: the mini-secret of the phrase without a path, sr25519, as the common wallets there do.
// An imported private key is the wallet's own. None of this happens when signing: a wallet's key is sealed by itself.

import { pbkdf2Sync } from 'node:crypto'
import { HARDENED_OFFSET, HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToEntropy } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import type { ChainFamily, KeyringKind } from '../../../db/words.ts'
import { unreachable } from '../../errors.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { KEY_BYTES } from '../sealing/kdf.ts'
import { KEY_TYPES } from './key-types.ts'

// Phrases (BIP-39, English): entropy as words, and the seed that is stretched from either.
//
// A new seed is 16 random bytes, 12 words: 128 bits are what secp256k1 itself offers (its best attack takes 2^128
// steps), so 24 words would guard a key no better, and 12 are what people's wallets make, show and accept. An imported
// phrase keeps its own length. What is sealed is the entropy: it is the phrase, without the words.

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

const EVM_PATH = [HARDENED_OFFSET + 44, HARDENED_OFFSET + 60, HARDENED_OFFSET, 0, 0]

export type KeyPair = {
  /** 32 bytes, zeroed by the caller: a scalar of secp256k1, or a mini-secret of sr25519. */
  readonly privateKey: Uint8Array
  /** secp256k1: 65 bytes, uncompressed. sr25519: 32 bytes. */
  readonly publicKey: Uint8Array
}

/** BIP-32, private keys only. @returns 32 bytes; the nodes on the way are zeroed. */
export const privateKeyAt = (input: { readonly seed: Uint8Array; readonly path: readonly number[] }): Uint8Array => {
  let node = HDKey.fromMasterSeed(input.seed)
  for (const index of input.path) {
    const child = node.deriveChild(index)
    node.wipePrivateData()
    node = child
  }
  if (node.privateKey === null) throw new Error('a derived node has no private key')
  const privateKey = Uint8Array.from(node.privateKey)
  node.wipePrivateData()
  return privateKey
}

type FromSecret = { readonly family: ChainFamily; readonly kind: KeyringKind; readonly secret: Uint8Array }

const privateKeyOf = ({ family, kind, secret }: FromSecret): Uint8Array => {
  using keys = new HeldKeys()
  if (kind === 'key') return Uint8Array.from(secret)
  switch (family) {
    case 'evm':
      return privateKeyAt({ seed: keys.hold(seedOf(secret)), path: EVM_PATH })
    case 'substrate':
      return Uint8Array.from(keys.hold(substrateSeedOf(secret)).subarray(0, KEY_BYTES))
    default:
      return unreachable(family)
  }
}

/** A wallet's key pair in a family. @param from.secret the entropy of a phrase, or an imported key; zeroed by the caller. */
export const keyPairOf = (from: FromSecret): KeyPair => {
  const privateKey = privateKeyOf(from)
  return { privateKey, publicKey: KEY_TYPES[from.family].publicKeyOf(privateKey) }
}
