// Keys from keys (HKDF, HMAC), and keys from six digits (argon2id).
//
// argon2id runs with 19 MiB, t = 2, p = 1. Of the settings of equal strength in OWASP's Password Storage Cheat Sheet this one
// needs little memory, which suits many verifications at once. No setting makes six digits strong: a million tries take
// hours. The guess limit protects a PIN, and a root key that is kept elsewhere. argon2id only makes it more expensive for a
// thief who has database and root key.

import { createHmac, hkdfSync } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { hashRaw } from '@node-rs/argon2'
import { encodeFields, type SecretText } from './bytes.ts'

export const KEY_BYTES = 32
const NO_SALT = new Uint8Array(0)

/** HKDF with SHA-256 (RFC 5869). */
export const hkdf = (input: {
  readonly key: Uint8Array
  readonly salt: Uint8Array
  readonly info: Uint8Array
  readonly length: number
}): Uint8Array => new Uint8Array(hkdfSync('sha256', input.key, input.salt, input.info, input.length))

/** A key of 32 bytes for one list of labels. It needs no salt, as every input key is uniformly random. */
export const deriveKey = (key: Uint8Array, labels: readonly string[]): Uint8Array =>
  hkdf({ key, salt: NO_SALT, info: encodeFields(labels), length: KEY_BYTES })

/** HMAC-SHA-256 (RFC 2104), 32 bytes. */
export const hmac = (input: { readonly key: SecretText; readonly message: Uint8Array }): Uint8Array =>
  createHmac('sha256', input.key).update(input.message).digest()

const ARGON2ID = 2
const ARGON2_MEMORY_KIB = 19 * 1024
const ARGON2_PASSES = 2
const ARGON2_LANES = 1

export const PIN_SALT_BYTES = 16

/** One for each core, as more would only slow each other down. At most 8, so that PINs take at most 8 × 19 MiB. */
export const ARGON2_CONCURRENCY_MAX = Math.min(availableParallelism(), 8)

/** argon2id (RFC 9106) of a PIN: 32 bytes that the caller zeroes. Call it only with a turn in `CustodyCtx.argon2`. */
export const stretchPin = (input: { readonly pin: SecretText; readonly salt: Uint8Array }): Promise<Uint8Array> =>
  hashRaw(input.pin, {
    algorithm: ARGON2ID,
    memoryCost: ARGON2_MEMORY_KIB,
    timeCost: ARGON2_PASSES,
    parallelism: ARGON2_LANES,
    outputLen: KEY_BYTES,
    salt: input.salt,
  })
