// Bytes in hex, their hash, and the integers of SCALE.

import { blake2b } from '@noble/hashes/blake2.js'
import type { Hex } from '../chain.ts'

/** BLAKE2b-256, which Node's API has on Bun alone. */
export const blake2Hash = (data: Uint8Array): Uint8Array => blake2b(data, { dkLen: 32 })

export const toHex = (data: Uint8Array): Hex => `0x${Buffer.from(data).toString('hex')}`

export const fromHex = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')

export const U32_END = 2n ** 32n
export const U128_END = 2n ** 128n

/** Encodes an integer in SCALE's fixed width: `length` bytes, little-endian. Pure. */
export const fixedWidth = (value: bigint, length: number): Buffer =>
  Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex').reverse()

/** Decodes a little-endian integer; 0 if there are no bytes. Pure. */
export const littleEndian = (data: Uint8Array): bigint =>
  data.length === 0 ? 0n : BigInt(toHex(Buffer.from(data).reverse()))

/** Encodes an integer in SCALE's compact form. The two lowest bits of the first byte select the length. Pure. */
export const compact = (value: bigint): Buffer => {
  if (value < 1n << 6n) return fixedWidth(value << 2n, 1)
  if (value < 1n << 14n) return fixedWidth((value << 2n) | 1n, 2)
  if (value < 1n << 30n) return fixedWidth((value << 2n) | 2n, 4)
  const length = Math.max(4, Math.ceil(value.toString(16).length / 2))
  return Buffer.concat([Uint8Array.of(((length - 4) << 2) | 3), fixedWidth(value, length)])
}
