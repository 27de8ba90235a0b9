import { describe, expect, test } from 'bun:test'
import { encodeFields } from '../../../src/platform/sealing/bytes.ts'
import {
  decrypt,
  EnvelopeError,
  encrypt,
  keyIdOf,
  NO_KEY_ID,
  open,
  type RowIdentity,
  seal,
} from '../../../src/platform/sealing/envelope.ts'
import { bytesOf, hexOf } from '../../vault/support.ts'
import { NIST_AES_256_GCM } from '../../vault/vectors.ts'

const key = new Uint8Array(32).fill(7)
const plaintext = new Uint8Array(32).fill(9)
const identity: RowIdentity = { purpose: 'owner lock', projectId: 'p', keyringId: 'k', walletId: 'w', rowId: 'r' }
const OVERHEAD_BYTES = 34

const faultOf = (work: () => unknown): string => {
  try {
    work()
    return 'opened'
  } catch (error) {
    if (error instanceof EnvelopeError) return error.fault
    throw error
  }
}

describe('AES-256-GCM', () => {
  test.each(NIST_AES_256_GCM)('gives the NIST vector $tag', (vector) => {
    const of = {
      key: bytesOf(vector.key),
      nonce: bytesOf(vector.nonce),
      additionalData: bytesOf(vector.additionalData),
    }
    expect(hexOf(encrypt({ ...of, plaintext: bytesOf(vector.plaintext) }))).toBe(vector.ciphertext + vector.tag)
    expect(hexOf(decrypt({ ...of, ciphertext: bytesOf(vector.ciphertext + vector.tag) }))).toBe(vector.plaintext)
  })

  test.each(NIST_AES_256_GCM)('refuses the NIST vector $tag with one bit of anything changed', (vector) => {
    const fields = {
      key: vector.key,
      nonce: vector.nonce,
      additionalData: vector.additionalData,
      ciphertext: vector.ciphertext + vector.tag,
    }
    for (const [name, hex] of Object.entries(fields)) {
      for (let bit = 0; bit < hex.length * 4; bit += 1) {
        const flipped = bytesOf(hex)
        const index = bit >> 3
        flipped[index] = (flipped[index] ?? 0) ^ (1 << (bit & 7))
        const of = { ...fields, [name]: hexOf(flipped) }
        const input = {
          key: bytesOf(of.key),
          nonce: bytesOf(of.nonce),
          additionalData: bytesOf(of.additionalData),
          ciphertext: bytesOf(of.ciphertext),
        }
        expect(faultOf(() => decrypt(input))).toBe('authentication failed')
      }
    }
  })
})

describe('an envelope', () => {
  test('opens to what was sealed, and does not contain it', () => {
    const sealed = seal({ key, keyId: 3, identity, plaintext })
    expect(sealed.length).toBe(plaintext.length + OVERHEAD_BYTES)
    expect(hexOf(sealed)).not.toContain(hexOf(plaintext.subarray(0, 4)))
    expect(keyIdOf(sealed)).toBe(3)
    expect(hexOf(open({ key, keyId: 3, identity, sealed }))).toBe(hexOf(plaintext))
  })

  test('has the frozen layout: version, algorithm, key id, nonce, ciphertext, tag', () => {
    const sealed = seal({ key, keyId: 0xdeadbeef, identity, plaintext })
    expect(hexOf(sealed.subarray(0, 6))).toBe('0101deadbeef')
    const additionalData = encodeFields([sealed.subarray(0, 6), 'p', 'k', 'w', 'owner lock', 'r'])
    const input = { key, nonce: sealed.subarray(6, 18), additionalData, ciphertext: sealed.subarray(18) }
    expect(hexOf(decrypt(input))).toBe(hexOf(plaintext))
  })

  test('never has the same nonce twice', () => {
    const nonces = Array.from({ length: 1000 }, () =>
      hexOf(seal({ key, keyId: NO_KEY_ID, identity, plaintext }).subarray(6, 18)),
    )
    expect(new Set(nonces).size).toBe(1000)
  })

  test('seals and opens an empty value and a megabyte', () => {
    for (const length of [0, 1, 31, 33, 1 << 20]) {
      const content = new Uint8Array(length).fill(5)
      const sealed = seal({ key, keyId: NO_KEY_ID, identity, plaintext: content })
      expect(Buffer.from(open({ key, keyId: NO_KEY_ID, identity, sealed })).equals(content)).toBe(true)
    }
  })

  test('does not open with any one bit changed', () => {
    const sealed = seal({ key, keyId: NO_KEY_ID, identity, plaintext })
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Uint8Array.from(sealed)
      const index = bit >> 3
      flipped[index] = (flipped[index] ?? 0) ^ (1 << (bit & 7))
      expect(faultOf(() => open({ key, keyId: NO_KEY_ID, identity, sealed: flipped }))).not.toBe('opened')
    }
  })

  test('does not open if its key id and the expected one are changed together', () => {
    const sealed = seal({ key, keyId: 1, identity, plaintext })
    sealed[5] = 2
    expect(faultOf(() => open({ key, keyId: 2, identity, sealed }))).toBe('authentication failed')
  })

  test('does not open if it is truncated anywhere or extended', () => {
    const sealed = seal({ key, keyId: NO_KEY_ID, identity, plaintext })
    for (let length = 0; length < sealed.length; length += 1) {
      const fault = faultOf(() => open({ key, keyId: NO_KEY_ID, identity, sealed: sealed.subarray(0, length) }))
      expect(fault).toBe(length < OVERHEAD_BYTES ? 'truncated' : 'authentication failed')
    }
    const longer = Buffer.concat([sealed, new Uint8Array(1)])
    expect(faultOf(() => open({ key, keyId: NO_KEY_ID, identity, sealed: longer }))).toBe('authentication failed')
  })

  test('is refused when its version or algorithm is unknown', () => {
    const sealed = seal({ key, keyId: NO_KEY_ID, identity, plaintext })
    for (let value = 0; value < 256; value += 1) {
      if (value === 1) continue
      const version = Buffer.from(sealed)
      version[0] = value
      expect(faultOf(() => open({ key, keyId: NO_KEY_ID, identity, sealed: version }))).toBe('unknown version')
      const algorithm = Buffer.from(sealed)
      algorithm[1] = value
      expect(faultOf(() => open({ key, keyId: NO_KEY_ID, identity, sealed: algorithm }))).toBe('unknown algorithm')
    }
  })

  test('does not open with another key, or under another key id', () => {
    const sealed = seal({ key, keyId: 1, identity, plaintext })
    const other = Uint8Array.from(key)
    other[31] = 8
    expect(faultOf(() => open({ key: other, keyId: 1, identity, sealed }))).toBe('authentication failed')
    expect(faultOf(() => open({ key, keyId: 2, identity, sealed }))).toBe('unknown key')
  })

  test.each(['purpose', 'projectId', 'keyringId', 'walletId', 'rowId'] as const)(
    'does not open for a row that differs in its %s',
    (field) => {
      const sealed = seal({ key, keyId: NO_KEY_ID, identity, plaintext })
      for (const value of ['', 'x', `${identity[field]} `]) {
        const of = { ...identity, [field]: value }
        expect(faultOf(() => open({ key, keyId: NO_KEY_ID, identity: of, sealed }))).toBe('authentication failed')
      }
    },
  )

  test('does not open if the same characters are divided differently among the fields', () => {
    const sealed = seal({ key, keyId: NO_KEY_ID, identity: { ...identity, keyringId: 'ab', walletId: 'c' }, plaintext })
    const of = { ...identity, keyringId: 'a', walletId: 'bc' }
    expect(faultOf(() => open({ key, keyId: NO_KEY_ID, identity: of, sealed }))).toBe('authentication failed')
  })

  test('opens from the middle of a larger buffer', () => {
    const sealed = seal({ key, keyId: 5, identity, plaintext })
    const within = Buffer.concat([new Uint8Array(3).fill(255), sealed, new Uint8Array(3)]).subarray(
      3,
      3 + sealed.length,
    )
    expect(keyIdOf(within)).toBe(5)
    expect(hexOf(open({ key, keyId: 5, identity, sealed: within }))).toBe(hexOf(plaintext))
  })

  test('fails with an error that contains nothing of the key, the content or the row', () => {
    const sealed = seal({ key, keyId: NO_KEY_ID, identity: { ...identity, rowId: 'the-row' }, plaintext })
    try {
      open({ key, keyId: NO_KEY_ID, identity, sealed })
      expect.unreachable()
    } catch (error) {
      const text = `${Bun.inspect(error)} ${JSON.stringify(error)}`
      expect(error).toMatchObject({ code: 'internal', message: 'A sealed value did not open: authentication failed.' })
      for (const hidden of [hexOf(key), hexOf(sealed.subarray(18)), 'the-row']) expect(text).not.toContain(hidden)
    }
  })
})

describe('an encoding of fields', () => {
  test('puts the length before each, in four bytes, big-endian', () => {
    expect(hexOf(encodeFields(['ab', '', new Uint8Array([1, 2, 3])]))).toBe('0000000261620000000000000003010203')
    expect(hexOf(encodeFields([]))).toBe('')
    expect(hexOf(encodeFields(['é']))).toBe('00000002c3a9')
  })

  test('gives different bytes for different lists', () => {
    const lists = [[], [''], ['', ''], ['a'], ['a', ''], ['', 'a'], ['ab'], ['a', 'b'], ['b', 'a'], ['\0\0\0\u0001a']]
    expect(new Set(lists.map((list) => hexOf(encodeFields(list)))).size).toBe(lists.length)
  })
})
