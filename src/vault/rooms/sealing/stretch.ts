// A key from six digits (argon2id, RFC 9106).
//
// 19 MiB, t = 2, p = 1: OWASP's Password Storage Cheat Sheet lists settings of equal strength; this one needs little
// memory, for many verifications at once. No setting makes six digits strong: a million tries take hours. The guess
// limit protects a PIN, and a root key that is kept elsewhere. argon2id only makes it more expensive for a thief who
// has database and root key.

import { availableParallelism } from 'node:os'
import { hashRaw } from '@node-rs/argon2'
import type { SecretText } from '../../../platform/sealing/bytes.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'

const ARGON2ID = 2
const ARGON2_MEMORY_KIB = 19 * 1024
const ARGON2_PASSES = 2
const ARGON2_LANES = 1

export const PIN_SALT_BYTES = 16

/** One for each core, as more would only slow each other down. At most 8, so that PINs take at most 8 × 19 MiB. */
export const ARGON2_CONCURRENCY_MAX = Math.min(availableParallelism(), 8)

/** PINs that are under way: while some are stretched, the guesses of the others are charged and settled. */
export const PIN_TURNS_MAX = 2 * ARGON2_CONCURRENCY_MAX

/** Needs a turn in `RoomCtx.stretching`. Frees its copy of the PIN: the allocator overwrites its first eight bytes. */
export const stretchPin = (input: { readonly pin: SecretText; readonly salt: Uint8Array }): Promise<Uint8Array> =>
  hashRaw(input.pin, {
    algorithm: ARGON2ID,
    memoryCost: ARGON2_MEMORY_KIB,
    timeCost: ARGON2_PASSES,
    parallelism: ARGON2_LANES,
    outputLen: KEY_BYTES,
    salt: input.salt,
  })
