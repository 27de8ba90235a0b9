// The vector of RFC 9106 §5.3 uses a secret and associated data, which our library does not support. So a second
// implementation runs the vector, and is then compared with our library on the service's own parameters.

import { expect, test } from 'bun:test'
import { argon2id } from '@noble/hashes/argon2.js'
import { stretchPin } from '../../src/vault/rooms/sealing/stretch.ts'
import { longTest } from '../support/long.ts'

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte)
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

test('the second implementation gives the tag of RFC 9106', () => {
  const tag = argon2id(filled(32, 1), filled(16, 2), {
    m: 32,
    t: 3,
    p: 4,
    dkLen: 32,
    key: filled(8, 3),
    personalization: filled(12, 4),
  })
  expect(hex(tag)).toBe('0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659')
})

// golden.test.ts has one that was stretched by a third implementation.
longTest('PINs are stretched to the same bytes as by the second implementation', async () => {
  for (const pin of ['000000', '493817', '999999']) {
    const salt = filled(16, Number(pin[0]))
    const ours = await stretchPin({ pin, salt })
    expect(hex(ours)).toBe(hex(argon2id(pin, salt, { m: 19 * 1024, t: 2, p: 1, dkLen: 32 })))
  }
})
