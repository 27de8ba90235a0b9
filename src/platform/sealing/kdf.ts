// Keys from keys: HMAC (RFC 2104) and HKDF (RFC 5869).

import { hash } from 'node:crypto'
import { encodeFields, HeldKeys, moved, type SecretText, utf8Of, zeros } from './bytes.ts'

export const KEY_BYTES = 32
const HASH_BYTES = 32
/** HKDF counts its blocks in one byte. */
const HKDF_BYTES_MAX = 255 * HASH_BYTES
const NOTHING = new Uint8Array(0)

type Hash = { readonly name: 'sha256' | 'sha512'; readonly blockBytes: number }
const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** What is hashed comes here, one after the other, and is zeroed: an array for each took longer than the hash. */
const SCRATCH = zeros(4096)

type Padded = { readonly key: Uint8Array; readonly pad: number; readonly parts: readonly Uint8Array[] }

/** The hash of the padded key and the parts behind it. */
const hashPadded = ({ name, blockBytes }: Hash, { key, pad, parts }: Padded): Buffer => {
  let length = blockBytes
  for (const part of parts) length += part.length
  const bytes = length <= SCRATCH.length ? SCRATCH.subarray(0, length) : zeros(length)
  try {
    bytes.fill(pad, 0, blockBytes)
    for (let at = 0; at < key.length; at += 1) bytes[at] = (key[at] ?? 0) ^ pad
    let at = blockBytes
    for (const part of parts) {
      bytes.set(part, at)
      at += part.length
    }
    return hash(name, bytes, 'buffer')
  } finally {
    bytes.fill(0)
  }
}

/**
 * HMAC (RFC 2104) with the platform's one-shot hash, which keeps nothing. The platform's HMAC and HKDF keep a copy of
 * the key that cannot be zeroed, and its incremental hash object keeps the result.
 */
const authenticate = (by: Hash, given: SecretText, parts: readonly Uint8Array[]): Uint8Array => {
  using keys = new HeldKeys()
  const text = utf8Of(given)
  const key = text.length > by.blockBytes ? keys.hold(hash(by.name, text, 'buffer')) : text
  const inner = keys.hold(hashPadded(by, { key, pad: INNER_PAD, parts }))
  return moved(hashPadded(by, { key, pad: OUTER_PAD, parts: [inner] }))
}

const SHA_256: Hash = { name: 'sha256', blockBytes: 64 }
const SHA_512: Hash = { name: 'sha512', blockBytes: 128 }

type Authenticated = { readonly key: SecretText; readonly message: Uint8Array }

/** HMAC-SHA-256: 32 bytes. The caller zeroes the results of all functions here. */
export const hmac = ({ key, message }: Authenticated): Uint8Array => authenticate(SHA_256, key, [message])
/** HMAC-SHA-512, 64 bytes. */
export const hmacSha512 = ({ key, message }: Authenticated): Uint8Array => authenticate(SHA_512, key, [message])

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
  const expanded = zeros(input.length)
  let block: Uint8Array = NOTHING
  for (let at = 0; at < input.length; at += HASH_BYTES) {
    const count = Uint8Array.of(at / HASH_BYTES + 1)
    block = keys.hold(authenticate(SHA_256, extracted, [block, input.info, count]))
    expanded.set(block.subarray(0, input.length - at), at)
  }
  return expanded
}

/** A key of 32 bytes for one list of labels. It needs no salt, as every input key is uniformly random. */
export const deriveKey = (key: Uint8Array, labels: readonly string[]): Uint8Array =>
  hkdf({ key, salt: NOTHING, info: encodeFields(labels), length: KEY_BYTES })
