// Signatures cannot be compared byte for byte, because each has its own nonce. So two implementations verify ours: one
// in JavaScript, and the WebAssembly that signs, as its own package runs it.

import { describe, expect, test } from 'bun:test'
import { sr25519KeypairFromSeed, sr25519Sign, sr25519Verify, waitReady } from '@polkadot/wasm-crypto'
import { getPublicKey, secretFromSeed, verify } from '@scure/sr25519'
import fc from 'fast-check'
import { publicKeyOfMiniSecret, signWithMiniSecret } from '../../src/vault/rooms/keys/sr25519.ts'
import { isLong, someOf } from '../support/long.ts'
import { bytesOf, hexOf } from './support.ts'
import { SR25519 } from './vectors.ts'

await waitReady()

const ONES = new Uint8Array(32).fill(1)
const messageOf = (length: number) => new Uint8Array(length).fill(0xa7)
/** Lengths around the block of STROBE (166 bytes), and that of the longest payload of an extrinsic. */
const MESSAGES = [0, 1, 32, 140, 165, 166, 167, 256, 5_000].map(messageOf)

describe('a signature of sr25519', () => {
  test.each(someOf(SR25519, 3))('by $publicKey is valid for another implementation', ({ miniSecret, publicKey }) => {
    const key = bytesOf(publicKey)
    expect(hexOf(publicKeyOfMiniSecret(bytesOf(miniSecret)))).toBe(publicKey)
    for (const message of MESSAGES) {
      const signature = signWithMiniSecret({ message, miniSecret: bytesOf(miniSecret), publicKey: key })
      expect(signature.length).toBe(64)
      for (const holds of [
        (text: Uint8Array, by: Uint8Array) => verify(text, signature, by),
        (text: Uint8Array, by: Uint8Array) => sr25519Verify(signature, text, by),
      ]) {
        expect(holds(message, key)).toBe(true)
        expect(holds(Uint8Array.of(...message, 0), key)).toBe(false)
        expect(holds(message, publicKeyOfMiniSecret(new Uint8Array(32).fill(1)))).toBe(false)
      }
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

  test('is valid for any key and any message, and the public key agrees with another implementation', () => {
    const bytes = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength })
    fc.assert(
      fc.property(bytes(32, 32), bytes(0, 600), (miniSecret, message) => {
        const publicKey = publicKeyOfMiniSecret(miniSecret)
        expect(publicKey).toEqual(getPublicKey(secretFromSeed(miniSecret)))
        expect(verify(message, signWithMiniSecret({ message, miniSecret, publicKey }), publicKey)).toBe(true)
      }),
      { numRuns: isLong ? 100 : 20, seed: 25519 },
    )
  })

  test('has its own nonce, and does not change the mini-secret', () => {
    const miniSecret = new Uint8Array(32).fill(1)
    const input = { message: new Uint8Array(32), miniSecret, publicKey: publicKeyOfMiniSecret(miniSecret) }
    const nonces = Array.from({ length: 20 }, () => hexOf(signWithMiniSecret(input).subarray(0, 32)))
    expect(new Set(nonces).size).toBe(20)
    expect(hexOf(miniSecret)).toBe('01'.repeat(32))
  })

  test('is valid for messages for which the module needs more memory, and for short ones after them', () => {
    const miniSecret = new Uint8Array(32).fill(1)
    const publicKey = publicKeyOfMiniSecret(miniSecret)
    // The module has 64 KiB: whatever it takes next may be what needs more.
    const lengths = Array.from({ length: isLong ? 150 : 3 }, (_, index) => 56_000 + index * (isLong ? 64 : 3_200))
    for (const length of [...lengths, 10, 1_000_000, 10]) {
      const message = messageOf(length)
      expect(sr25519Verify(signWithMiniSecret({ message, miniSecret, publicKey }), message, publicKey)).toBe(true)
    }
  })

  test('is refused for an invalid mini-secret, and the next one is valid', () => {
    const miniSecret = new Uint8Array(32).fill(1)
    const message = messageOf(10)
    const publicKey = publicKeyOfMiniSecret(miniSecret)
    for (const length of isLong ? [0, 31, 33, 64] : [31]) {
      expect(() => signWithMiniSecret({ message, miniSecret: new Uint8Array(length), publicKey })).toThrow('32 bytes')
      expect(() => publicKeyOfMiniSecret(new Uint8Array(length))).toThrow('32 bytes')
    }
    expect(verify(message, signWithMiniSecret({ message, miniSecret, publicKey }), publicKey)).toBe(true)
  })

  test('leaves all memory of the module as it was before the first use', () => {
    const memories: WebAssembly.Memory[] = []
    const { Instance } = WebAssembly
    WebAssembly.Instance = class extends Instance {
      constructor(...input: ConstructorParameters<typeof Instance>) {
        super(...input)
        if (this.exports.memory instanceof WebAssembly.Memory) memories.push(this.exports.memory)
      }
    }
    using restored = new DisposableStack()
    restored.defer(() => {
      WebAssembly.Instance = Instance
    })
    const useAll = () => {
      const miniSecret = crypto.getRandomValues(new Uint8Array(32))
      const publicKey = publicKeyOfMiniSecret(miniSecret)
      for (const message of [...MESSAGES, messageOf(20_000), messageOf(40_000)]) {
        signWithMiniSecret({ message, miniSecret, publicKey })
      }
    }
    const contents = () => memories.map(({ buffer }) => Buffer.from(buffer.slice(0)))
    // A module whose memory grew is not used again, so a new one follows.
    const publicKey = publicKeyOfMiniSecret(ONES)
    signWithMiniSecret({ message: messageOf(1_000_000), miniSecret: ONES, publicKey })
    publicKeyOfMiniSecret(ONES)
    const [first] = contents().slice(-1)
    useAll()
    const [last] = contents().slice(-1)
    expect(memories.length).toBeGreaterThan(0)
    expect(first?.equals(last ?? Buffer.of())).toBe(true)
    // Nothing is between the results and the stack, which grows down.
    expect(last?.subarray(4_096, 960 * 1024).every((byte) => byte === 0)).toBe(true)
  })
})
