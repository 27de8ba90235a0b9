// Reading an imported private key or phrase. No error contains anything of it.

import type { ChainFamily } from '../../../db/words.ts'
import { AppError } from '../../errors.ts'
import { HeldKeys, moved } from '../sealing/bytes.ts'
import { KEY_BYTES } from '../sealing/kdf.ts'
import { entropyOf, keyPairOf } from './derive.ts'
import { KEY_TYPES } from './key-types.ts'

/** Exactly one of the two, as it came in a request's body. */
export type ImportedText = { readonly privateKey: string } | { readonly mnemonicPhrase: string }

export type Imported = {
  readonly kind: 'phrase' | 'key'
  /** The phrase's entropy, or the key: zeroed by the caller. */
  readonly secret: Uint8Array
}

const HEX_KEY = /^(?:0x)?([0-9a-f]{64})$/i

const SENTENCE = {
  phrase: 'Field "mnemonic_phrase" must be 12, 15, 18, 21 or 24 English words (BIP-39) with a valid checksum.',
  evm: 'Field "private_key" must be 32 bytes in hex, from 1 to the order of secp256k1 less one.',
  substrate: 'Field "private_key" must be a mini-secret of sr25519: 32 bytes in hex, not all of them zero.',
} as const

export const readImported = (input: { readonly family: ChainFamily; readonly text: ImportedText }): Imported => {
  const { family, text } = input
  if ('mnemonicPhrase' in text) {
    const secret = entropyOf(text.mnemonicPhrase)
    if (secret === null) throw new AppError('invalid_key', SENTENCE.phrase)
    return { kind: 'phrase', secret }
  }
  const [, digits = ''] = HEX_KEY.exec(text.privateKey.trim()) ?? []
  const secret = moved(Buffer.from(digits, 'hex'))
  if (secret.length !== KEY_BYTES || !KEY_TYPES[family].isPrivateKey(secret))
    throw new AppError('invalid_key', SENTENCE[family])
  return { kind: 'key', secret }
}

/** The public key that an import would have, as `Vault.publicKeyOf` says. */
export const publicKeyOfImported = (input: {
  readonly family: ChainFamily
  readonly imported: ImportedText
}): Uint8Array => {
  using keys = new HeldKeys()
  const { family } = input
  const { kind, secret } = readImported({ family, text: input.imported })
  const { privateKey, publicKey } = keyPairOf({ family, kind, secret: keys.hold(secret) })
  keys.hold(privateKey)
  return publicKey
}
