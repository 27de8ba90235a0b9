// HPKE (RFC 9180) against another implementation, the package `hpke`. The RFC prints no vector of this suite; that
// package is tested with the vectors of the working group, which has them for all suites.

import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke'
import { EnvelopeError } from '../../src/platform/sealing/envelope.ts'
import { openSealedTo, publicKeyOf, sealTo } from '../../src/vault/rooms/sealing/hpke.ts'
import { bytesOf, hexOf } from './support.ts'

const other = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM)

const LENGTHS = [0, 1, 31, 32, 33, 1_000]

/** Points of small order (RFC 7748, section 6.1, and https://cr.yp.to/ecdh.html#validate). */
const SMALL_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
]

const sealOnce = () => {
  const [privateKey, info, plaintext] = [randomBytes(32), randomBytes(20), randomBytes(32)]
  const publicKey = publicKeyOf(privateKey)
  return { privateKey, publicKey, info, plaintext, sealed: sealTo({ publicKey, info, plaintext }) }
}

describe('HPKE', () => {
  // RFC 9180, appendix A.1.1.
  test.each([
    [
      '4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8',
      '3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d',
    ],
    [
      '52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736',
      '37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431',
    ],
  ])('the public key of %s', (privateKey, publicKey) => {
    expect(hexOf(publicKeyOf(bytesOf(privateKey)))).toBe(publicKey)
  })

  test.each(LENGTHS)('what is sealed here opens there, and the other way round: %i bytes', async (length) => {
    const [privateKey, info, plaintext] = [randomBytes(32), randomBytes(length), randomBytes(length)]
    const publicKey = publicKeyOf(privateKey)
    const sealed = sealTo({ publicKey, info, plaintext })
    const theirs = await other.DeserializePrivateKey(privateKey)
    expect(hexOf(await other.Open(theirs, sealed.subarray(0, 32), sealed.subarray(32), { info }))).toBe(
      hexOf(plaintext),
    )
    const key = await other.DeserializePublicKey(publicKey)
    const { encapsulatedSecret, ciphertext } = await other.Seal(key, plaintext, { info })
    const received = Buffer.concat([encapsulatedSecret, ciphertext])
    expect(hexOf(openSealedTo({ privateKey, info, sealed: received }))).toBe(hexOf(plaintext))
  })

  test('two seals of one plaintext differ', () => {
    const { publicKey, info, plaintext, sealed } = sealOnce()
    expect(hexOf(sealTo({ publicKey, info, plaintext }))).not.toBe(hexOf(sealed))
  })

  test('opens with no other key or info, not with any bit changed, and not if it is cut', () => {
    const { privateKey, info, sealed } = sealOnce()
    const open = (edit: { privateKey?: Uint8Array; info?: Uint8Array; sealed?: Uint8Array }) =>
      openSealedTo({ privateKey, info, sealed, ...edit })
    expect(() => open({ privateKey: randomBytes(32) })).toThrow(EnvelopeError)
    expect(() => open({ info: randomBytes(20) })).toThrow(EnvelopeError)
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(() => open({ sealed: changed })).toThrow(EnvelopeError)
      expect(() => open({ sealed: sealed.subarray(0, at) })).toThrow(EnvelopeError)
    }
  })

  test.each(SMALL_ORDER)('agrees on no key with the point %s', (point) => {
    const { privateKey, info, plaintext, sealed } = sealOnce()
    expect(() => sealTo({ publicKey: bytesOf(point), info, plaintext })).toThrow(EnvelopeError)
    const moved = Buffer.concat([bytesOf(point), sealed.subarray(32)])
    expect(() => openSealedTo({ privateKey, info, sealed: moved })).toThrow(EnvelopeError)
  })
})
