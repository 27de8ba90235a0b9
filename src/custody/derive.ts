// From a seed's entropy to a wallet's key pair.
//
// A new seed is 16 random bytes, 12 words: 128 bits are what secp256k1 itself offers (its best attack takes 2^128
// steps), so 24 words would guard a key no better, and 12 are what people's wallets make, show and accept.
// EVM: BIP-39 phrase (English, no passphrase) → seed → BIP-32 → m/44'/60'/0'/0/0, as every common wallet derives its
// first account. None of this happens when signing: a wallet's derived key is sealed by itself.

import { pbkdf2Sync } from 'node:crypto'
import { HARDENED_OFFSET, HDKey } from '@scure/bip32'
import { entropyToMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import type { ChainFamily } from '../../db/words.ts'
import { AppError, unreachable } from '../errors.ts'
import { HeldKeys } from './held-keys.ts'
import { curve } from './secp256k1.ts'

export const ENTROPY_BYTES = 16

const SEED_ROUNDS = 2048
const SEED_BYTES = 64
const EVM_PATH = [HARDENED_OFFSET + 44, HARDENED_OFFSET + 60, HARDENED_OFFSET, 0, 0]

export type KeyPair = {
  /** 32 bytes, zeroed by the caller. */
  readonly privateKey: Uint8Array
  /** secp256k1: 65 bytes, uncompressed. */
  readonly publicKey: Uint8Array
}

/** The BIP-39 seed, 64 bytes, of the English phrase for this entropy; the phrase is a string and cannot be zeroed. */
export const seedOf = (entropy: Uint8Array): Uint8Array =>
  pbkdf2Sync(entropyToMnemonic(entropy, wordlist).normalize('NFKD'), 'mnemonic', SEED_ROUNDS, SEED_BYTES, 'sha512')

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

const deriveEvm = (entropy: Uint8Array): KeyPair => {
  using keys = new HeldKeys()
  const privateKey = privateKeyAt({ seed: keys.hold(seedOf(entropy)), path: EVM_PATH })
  return { privateKey, publicKey: curve.publicKeyOf(privateKey) }
}

/** How a family's wallets come from a seed's entropy. @throws not_implemented, before any credential is looked at. */
export const derivationOf = (family: ChainFamily): ((entropy: Uint8Array) => KeyPair) => {
  switch (family) {
    case 'evm':
      return deriveEvm
    case 'substrate':
      throw new AppError('not_implemented', 'Wallets on Polkadot and Vara are not served yet.')
    default:
      return unreachable(family)
  }
}
