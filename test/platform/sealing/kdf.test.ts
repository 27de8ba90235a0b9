import { describe, expect, test } from 'bun:test'
import { createHmac, hkdfSync } from 'node:crypto'
import { hashRaw } from '@node-rs/argon2'
import fc from 'fast-check'
import { deriveKey, hkdf, hmac, hmacSha512 } from '../../../src/platform/sealing/kdf.ts'
import { stretchPin } from '../../../src/vault/rooms/sealing/stretch.ts'
import { roundsOf, someOf } from '../../support/long.ts'
import { bytesOf, hexOf } from '../../vault/support.ts'
import { PHC_ARGON2ID, RFC_4231, RFC_5869 } from '../../vault/vectors.ts'

const ARGON2ID = 2

test.each(RFC_5869)('HKDF gives the RFC 5869 vector with salt "$salt"', ({ key, salt, info, okm }) => {
  const input = { key: bytesOf(key), salt: bytesOf(salt), info: bytesOf(info), length: okm.length / 2 }
  expect(hexOf(hkdf(input))).toBe(okm)
})

test.each(RFC_4231)('HMAC gives the RFC 4231 vector $mac', ({ key, message, mac }) => {
  expect(hexOf(hmac({ key: bytesOf(key), message: bytesOf(message) }))).toBe(mac)
})

test("HMAC and HKDF agree with the platform's", () => {
  const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
  const lengths = fc.integer({ min: 1, max: 100 })
  fc.assert(
    // The blocks of the hashes have 64 and 128 bytes.
    fc.property(bytes(150), bytes(300), bytes(100), lengths, (key, message, salt, length) => {
      expect(hexOf(hmac({ key, message }))).toBe(createHmac('sha256', key).update(message).digest('hex'))
      expect(hexOf(hmacSha512({ key, message }))).toBe(createHmac('sha512', key).update(message).digest('hex'))
      const expected = Buffer.from(hkdfSync('sha256', key, salt, message, length)).toString('hex')
      expect(hexOf(hkdf({ key, salt, info: message, length }))).toBe(expected)
    }),
    { numRuns: roundsOf(300), seed: 5869 },
  )
})

test("HMAC of long messages agrees with the platform's, also of short ones after them", () => {
  // 4096 bytes have room in what is kept for hashing, with the padded key.
  for (const length of [4_031, 4_032, 4_033, 100_000, 10]) {
    const [key, message] = [Buffer.alloc(32, 1), Buffer.alloc(length, 2)]
    expect(hexOf(hmac({ key, message }))).toBe(createHmac('sha256', key).update(message).digest('hex'))
  }
})

test('HMAC encodes a text as UTF-8, and changes neither key nor message', () => {
  const [key, message] = [Buffer.from('é'.repeat(50)), Buffer.from('message')]
  expect(hmac({ key: 'é'.repeat(50), message })).toEqual(hmac({ key, message }))
  expect([key.toString(), message.toString()]).toEqual(['é'.repeat(50), 'message'])
})

test('HKDF refuses a length that its counter does not allow', () => {
  const input = { key: new Uint8Array(32), salt: new Uint8Array(), info: new Uint8Array() }
  expect(hkdf({ ...input, length: 255 * 32 }).length).toBe(8160)
  expect(() => hkdf({ ...input, length: 255 * 32 + 1 })).toThrow('8160 bytes')
})

describe('a derived key', () => {
  test('differs for every list of labels and every key', () => {
    const key = new Uint8Array(32)
    const lists = [['a'], ['b'], ['a', 'b'], ['ab'], ['a', ''], ['', 'a'], []]
    const derived = [...lists.map((labels) => deriveKey(key, labels)), deriveKey(key.fill(1), ['a'])]
    expect(new Set(derived.map(hexOf)).size).toBe(derived.length)
    expect(derived.every(({ length }) => length === 32)).toBe(true)
  })
})

describe('argon2id', () => {
  test.each(someOf(PHC_ARGON2ID, 3))('gives the reference vector $hash', async (vector) => {
    const hash = await hashRaw(vector.password, {
      algorithm: ARGON2ID,
      salt: Buffer.from(vector.salt),
      memoryCost: vector.memoryKib,
      timeCost: vector.passes,
      parallelism: vector.lanes,
      outputLen: 32,
    })
    expect(hash.toString('hex')).toBe(vector.hash)
  })

  test('stretches a PIN at 19 MiB, two passes, one lane', async () => {
    const salt = new Uint8Array(16).fill(3)
    const expected = await hashRaw('123456', {
      algorithm: ARGON2ID,
      salt,
      memoryCost: 19_456,
      timeCost: 2,
      parallelism: 1,
      outputLen: 32,
    })
    expect(hexOf(await stretchPin({ pin: '123456', salt }))).toBe(expected.toString('hex'))
    expect(hexOf(await stretchPin({ pin: '123457', salt }))).not.toBe(expected.toString('hex'))
    expect(hexOf(await stretchPin({ pin: '123456', salt: salt.fill(4) }))).not.toBe(expected.toString('hex'))
  })
})
