// Keys from keys: HMAC (RFC 2104) and HKDF (RFC 5869).

import { hash } from 'node:crypto'
import { copyOf, encodeFields, HeldKeys, moved, type SecretText, utf8Of, zeros } from './bytes.ts'

export const KEY_BYTES = 32
const HASH_BYTES = 32
/** HKDF counts its blocks in one byte. */
const HKDF_BYTES_MAX = 255 * HASH_BYTES
const NOTHING = new Uint8Array(0)

type Hash = { readonly name: 'sha256' | 'sha512'; readonly blockBytes: number }
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

type Authenticated = { readonly key: SecretText; readonly message: Uint8Array }

/**
 * HMAC (RFC 2104) with the platform's one-shot hash, which keeps nothing. The platform's HMAC and HKDF keep a copy of
 * the key that cannot be zeroed, and its incremental hash object keeps the result.
 */
const hmacBy =
  ({ name, blockBytes }: Hash) =>
  ({ key: given, message }: Authenticated): Uint8Array => {
    using keys = new HeldKeys()
    const hashed = (bytes: Uint8Array): Uint8Array => moved(hash(name, bytes, 'buffer'))
    const text = utf8Of(given)
    const key = text.length > blockBytes ? keys.hold(hashed(text)) : text
    const padded = (pad: number, content: Uint8Array): Uint8Array => {
      const bytes = keys.hold(zeros(blockBytes + content.length))
      for (let at = 0; at < blockBytes; at += 1) bytes[at] = (key[at] ?? 0) ^ pad
      bytes.set(content, blockBytes)
      return bytes
    }
    return hashed(padded(OUTER_PAD, keys.hold(hashed(padded(INNER_PAD, message)))))
  }

/** HMAC-SHA-256: 32 bytes. The caller zeroes the results of all functions here. */
export const hmac = hmacBy({ name: 'sha256', blockBytes: 64 })
/** HMAC-SHA-512, 64 bytes. */
export const hmacSha512 = hmacBy({ name: 'sha512', blockBytes: 128 })

/** HKDF with SHA-256 (RFC 5869). @throws Error for more than it can give. */
export const hkdf = (input: {
  readonly key: Uint8Array
  readonly salt: Uint8Array
  readonly info: Uint8Array
  readonly length: number
}): Uint8Array => {
  using keys = new HeldKeys()
  if (input.length > HKDF_BYTES_MAX) throw new Error(`HKDF gives at most ${HKDF_BYTES_MAX} bytes`)
  const extracted = keys.hold(hmac({ key: input.salt, message: input.key }))
  const expanded = keys.hold(zeros(Math.ceil(input.length / HASH_BYTES) * HASH_BYTES))
  let block: Uint8Array = NOTHING
  for (let at = 0; at < input.length; at += HASH_BYTES) {
    const message = keys.hold(zeros(block.length + input.info.length + 1))
    message.set(block)
    message.set(input.info, block.length)
    message[message.length - 1] = at / HASH_BYTES + 1
    block = keys.hold(hmac({ key: extracted, message }))
    expanded.set(block, at)
  }
  return copyOf(expanded.subarray(0, input.length))
}

/** A key of 32 bytes for one list of labels. It needs no salt, as every input key is uniformly random. */
export const deriveKey = (key: Uint8Array, labels: readonly string[]): Uint8Array =>
  hkdf({ key, salt: NOTHING, info: encodeFields(labels), length: KEY_BYTES })
