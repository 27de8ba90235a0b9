// Signatures cannot be compared byte for byte, because each has its own nonce. So schnorrkel (Rust, in WebAssembly) verifies
// ours, and our code verifies schnorrkel's.

import { beforeAll, describe, expect, test } from 'bun:test'
import { sr25519KeypairFromSeed, sr25519Sign, sr25519Verify, waitReady } from '@polkadot/wasm-crypto'
import { verify } from '@scure/sr25519'
import { publicKeyOfMiniSecret, signWithMiniSecret } from '../../src/custody/keys/key-types.ts'
import { bytesOf, hexOf } from './support.ts'
import { SR25519 } from './vectors.ts'

beforeAll(async () => {
  await waitReady()
})

/** Lengths around the block of STROBE (166 bytes), and that of the longest payload of an extrinsic. */
const MESSAGES = [0, 1, 32, 140, 165, 166, 167, 256, 5_000].map((length) => new Uint8Array(length).fill(0xa7))

describe('a signature of sr25519', () => {
  test.each(SR25519)('by $publicKey is valid for schnorrkel', ({ miniSecret, publicKey }) => {
    const key = bytesOf(publicKey)
    for (const message of MESSAGES) {
      const signature = signWithMiniSecret({ message, miniSecret: bytesOf(miniSecret) })
      expect(signature.length).toBe(64)
      expect(sr25519Verify(signature, message, key)).toBe(true)
      expect(sr25519Verify(signature, Uint8Array.of(...message, 0), key)).toBe(false)
      expect(sr25519Verify(signature, message, publicKeyOfMiniSecret(new Uint8Array(32).fill(1)))).toBe(false)
    }
  })

  test.each(SR25519)('by $publicKey that schnorrkel made is valid for us', ({ miniSecret, publicKey }) => {
    const pair = sr25519KeypairFromSeed(bytesOf(miniSecret))
    expect(hexOf(pair.subarray(64))).toBe(publicKey)
    for (const message of MESSAGES) {
      const signature = sr25519Sign(pair.subarray(64), pair.subarray(0, 64), message)
      expect(verify(message, signature, bytesOf(publicKey))).toBe(true)
    }
  })

  test('has its own nonce, and does not change the mini-secret', () => {
    const miniSecret = new Uint8Array(32).fill(1)
    const input = { message: new Uint8Array(32), miniSecret }
    const nonces = Array.from({ length: 20 }, () => hexOf(signWithMiniSecret(input).subarray(0, 32)))
    expect(new Set(nonces).size).toBe(20)
    expect(hexOf(miniSecret)).toBe('01'.repeat(32))
  })
})
