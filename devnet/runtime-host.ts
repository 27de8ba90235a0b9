import {
  blake2AsU8a,
  ed25519Verify,
  keccakAsU8a,
  secp256k1Recover,
  sha256AsU8a,
  sr25519Verify,
  xxhashAsU8a,
} from '@polkadot/util-crypto'
import type { Changes, Hex } from './runtime-changes.ts'
import type { RuntimeMemory } from './runtime-memory.ts'

/** What the functions work on. */
type Ground = { readonly memory: RuntimeMemory; readonly changes: Changes }
type Functions = Readonly<Record<string, (...values: never[]) => unknown>>

const NONE = Uint8Array.of(0)
const SOME = Uint8Array.of(1)

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const bytesOf = (hex: Hex): Buffer => Buffer.from(hex.slice(2), 'hex')

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

/** A number below 2^30 as SCALE's compact form, in one, two or four bytes; the lowest two bits say which. */
const compact = (value: number): Buffer => {
  if (value < 2 ** 6) return Buffer.of(value << 2)
  if (value < 2 ** 14) return u32((value << 2) | 1).subarray(0, 2)
  return u32((value << 2) | 2)
}

/** @returns the number at the start of a sequence, and what follows it */
const readCompact = (bytes: Buffer): readonly [number, Buffer] => {
  const length = [1, 2, 4][(bytes[0] ?? 0) & 3]
  if (length === undefined) throw new Error('A sequence in storage is longer than 2^30.')
  return [bytes.readUIntLE(0, length) >>> 2, bytes.subarray(length)]
}

const optional = (bytes: Uint8Array | null): Uint8Array =>
  bytes === null ? NONE : Buffer.concat([SOME, compact(bytes.length), bytes])

/** At most so many keys are removed; None: all. */
const limitOf = (option: Buffer): number => (option[0] === 1 ? option.readUInt32LE(1) : Number.POSITIVE_INFINITY)

/** Functions on the storage. Its root is asked for by the header alone, where chopsticks puts none. */
const storageFunctions = ({ memory, changes }: Ground): Functions => {
  const keyOf = (key: bigint) => hexOf(memory.read(key))
  const storedAt = (key: bigint): Buffer | null => {
    const value = changes.get(keyOf(key))
    return value === null ? null : bytesOf(value)
  }
  const append = (key: bigint, item: bigint): void => {
    const [count, items] = readCompact(storedAt(key) ?? Buffer.of(0))
    changes.set(keyOf(key), hexOf(Buffer.concat([compact(count + 1), items, memory.read(item)])))
  }
  const readInto = (key: bigint, target: bigint, offset: number): bigint => {
    const rest = storedAt(key)?.subarray(offset)
    if (rest === undefined) return memory.give(NONE)
    const space = memory.read(target)
    space.set(rest.subarray(0, space.length))
    return memory.give(Buffer.concat([SOME, u32(rest.length)]))
  }
  const clearPrefix = (start: bigint, limit: bigint): bigint => {
    const [prefix, most] = [keyOf(start), limitOf(memory.read(limit))]
    let removed = 0
    let key = changes.get(prefix) === null ? changes.nextKey(prefix) : prefix
    for (; key?.startsWith(prefix) && removed < most; key = changes.nextKey(key)) {
      changes.set(key, null)
      removed += 1
    }
    // KillStorageResult: AllRemoved, or SomeRemaining.
    return memory.give(Buffer.concat([key?.startsWith(prefix) ? SOME : NONE, u32(removed)]))
  }
  return {
    ext_storage_get_version_1: (key: bigint) => memory.give(optional(storedAt(key))),
    ext_storage_read_version_1: readInto,
    ext_storage_exists_version_1: (key: bigint) => (storedAt(key) === null ? 0 : 1),
    ext_storage_next_key_version_1: (key: bigint) => {
      const next = changes.nextKey(keyOf(key))
      return memory.give(optional(next === null ? null : bytesOf(next)))
    },
    ext_storage_set_version_1: (key: bigint, value: bigint) => changes.set(keyOf(key), hexOf(memory.read(value))),
    ext_storage_append_version_1: append,
    ext_storage_clear_version_1: (key: bigint) => changes.set(keyOf(key), null),
    ext_storage_clear_prefix_version_2: clearPrefix,
    ext_storage_root_version_2: () => memory.give(new Uint8Array(32)),
    ext_trie_blake2_256_ordered_root_version_2: () => memory.place(new Uint8Array(32)),
    ext_storage_start_transaction_version_1: changes.begin,
    ext_storage_commit_transaction_version_1: changes.commit,
    ext_storage_rollback_transaction_version_1: changes.rollback,
    ext_storage_proof_size_storage_proof_size_version_1: () => 0n,
  }
}

const hashFunctions = ({ memory }: Ground): Functions => {
  const hashing = (hash: (bytes: Uint8Array) => Uint8Array) => (bytes: bigint) => memory.place(hash(memory.read(bytes)))
  return {
    ext_hashing_blake2_128_version_1: hashing((bytes) => blake2AsU8a(bytes, 128)),
    ext_hashing_blake2_256_version_1: hashing((bytes) => blake2AsU8a(bytes, 256)),
    ext_hashing_twox_64_version_1: hashing((bytes) => xxhashAsU8a(bytes, 64)),
    ext_hashing_twox_128_version_1: hashing((bytes) => xxhashAsU8a(bytes, 128)),
    ext_hashing_keccak_256_version_1: hashing((bytes) => keccakAsU8a(bytes)),
    ext_hashing_sha2_256_version_1: hashing((bytes) => sha256AsU8a(bytes)),
  }
}

type Verify = (message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array) => boolean

const signatureFunctions = ({ memory }: Ground): Functions => {
  const verifying = (verify: Verify) => (signature: number, message: bigint, publicKey: number) => {
    try {
      return verify(memory.read(message), memory.readAt(signature, 64), memory.readAt(publicKey, 32)) ? 1 : 0
    } catch {
      // What is no signature or no key.
      return 0
    }
  }
  /** Result<[u8; 33], EcdsaVerifyError>: 2 is BadSignature. */
  const recover = (signature: number, hash: number): bigint => {
    const [rs, v] = [memory.readAt(signature, 64), memory.readAt(signature + 64, 1)[0] ?? 0]
    try {
      const key = secp256k1Recover(memory.readAt(hash, 32), rs, v > 26 ? v - 27 : v)
      return memory.give(Buffer.concat([NONE, key]))
    } catch {
      return memory.give(Uint8Array.of(1, 2))
    }
  }
  return {
    ext_crypto_sr25519_verify_version_2: verifying(sr25519Verify),
    ext_crypto_ed25519_verify_version_1: verifying(ed25519Verify),
    ext_crypto_secp256k1_ecdsa_recover_compressed_version_2: recover,
    // Each signature of a batch is verified at once.
    ext_crypto_start_batch_verify_version_1: () => undefined,
    ext_crypto_finish_batch_verify_version_1: () => 1,
  }
}

/** What a node does aside from the chain, here nothing. */
const SILENT: Functions = {
  ext_logging_log_version_1: () => undefined,
  ext_logging_max_level_version_1: () => 0,
  ext_misc_print_utf8_version_1: () => undefined,
  ext_misc_print_hex_version_1: () => undefined,
  ext_offchain_index_set_version_1: () => undefined,
  ext_offchain_index_clear_version_1: () => undefined,
}

/**
 * The functions of the host that a runtime calls (Polkadot Protocol Specification, appendix "Polkadot Host API"), but
 * for child tries, the keys of validators and offchain workers, which no local chain needs.
 */
export const hostFunctions = (ground: Ground): Functions => ({
  ext_allocator_malloc_version_1: ground.memory.allocate,
  ext_allocator_free_version_1: ground.memory.free,
  ...storageFunctions(ground),
  ...hashFunctions(ground),
  ...signatureFunctions(ground),
  ...SILENT,
})
