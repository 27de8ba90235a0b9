// Reading an imported private key or phrase. No error contains anything of it.

import type { ChainFamily } from '../../../../db/words.ts'
import { AppError } from '../../../platform/errors.ts'
import { copyOf, HeldKeys, type SecretText, utf8Of, zeros } from '../../../platform/sealing/bytes.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { KEY_TYPES } from './key-types.ts'
import { parsePhrase } from './phrase.ts'

/** Exactly one of the two, as it came in a request's body. */
export type ImportedText = { readonly privateKey: SecretText } | { readonly mnemonicPhrase: SecretText }

export type Imported = {
  readonly kind: 'phrase' | 'key'
  /** The phrase's entropy, or the key: zeroed by the caller. */
  readonly secret: Uint8Array
}

const HEX_DIGITS = '0123456789abcdef'
const WHITE_SPACE = ' \t\n\v\f\r'

/** The index of an ASCII character in a text, ignoring case, or -1. A string of one character reveals nothing. */
const placeIn = (text: string, code = 0xff): number => text.indexOf(String.fromCharCode(code).toLowerCase())

/** Reads 32 bytes in hex, with 0x or without, between white space. @returns null for anything else. */
const keyIn = (text: SecretText): Uint8Array | null => {
  using keys = new HeldKeys()
  const bytes = utf8Of(text)
  let [from, to] = [0, bytes.length]
  while (from < to && placeIn(WHITE_SPACE, bytes[from]) >= 0) from += 1
  while (from < to && placeIn(WHITE_SPACE, bytes[to - 1]) >= 0) to -= 1
  if (to - from === 2 * KEY_BYTES + 2 && placeIn('0', bytes[from]) === 0 && placeIn('x', bytes[from + 1]) === 0)
    from += 2
  if (to - from !== 2 * KEY_BYTES) return null
  const key = keys.hold(zeros(KEY_BYTES))
  for (let index = 0; index < KEY_BYTES; index += 1) {
    const high = placeIn(HEX_DIGITS, bytes[from + 2 * index])
    const low = placeIn(HEX_DIGITS, bytes[from + 2 * index + 1])
    if (high < 0 || low < 0) return null
    key[index] = high * HEX_DIGITS.length + low
  }
  return copyOf(key)
}

/** A key as 0x and 64 hex digits in lower case. @returns bytes that the caller zeroes. */
export const encodeKeyAsHex = (key: Uint8Array): Uint8Array => {
  const text = zeros(2 + 2 * key.length)
  text.set([HEX_DIGITS.charCodeAt(0), 'x'.charCodeAt(0)])
  for (const [index, byte] of key.entries()) {
    text[2 + 2 * index] = HEX_DIGITS.charCodeAt(byte >> 4)
    text[3 + 2 * index] = HEX_DIGITS.charCodeAt(byte & 0xf)
  }
  return text
}

const SENTENCE = {
  phrase: 'Field "mnemonic_phrase" must be 12, 15, 18, 21 or 24 English words (BIP-39) with a valid checksum.',
  evm: 'Field "private_key" must be 32 bytes in hex, from 1 to the order of secp256k1 less one.',
  substrate: 'Field "private_key" must be a mini-secret of sr25519: 32 bytes in hex, not all of them zero.',
} as const

export const readImported = (input: { readonly family: ChainFamily; readonly text: ImportedText }): Imported => {
  const { family, text } = input
  if ('mnemonicPhrase' in text) {
    const secret = parsePhrase(text.mnemonicPhrase)
    if (secret === null) throw new AppError('invalid_key', SENTENCE.phrase)
    return { kind: 'phrase', secret }
  }
  const secret = keyIn(text.privateKey)
  if (secret === null || !KEY_TYPES[family].isPrivateKey(secret)) throw new AppError('invalid_key', SENTENCE[family])
  return { kind: 'key', secret }
}
