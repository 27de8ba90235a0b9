import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import { type Curve, curve, nativeCurve, nobleCurve } from '../../src/vault/rooms/keys/secp256k1.ts'
import { isLong, roundsOf } from '../support/long.ts'
import { bytesOf, hexOf } from './support.ts'
import { EIP_155, RFC_6979_SECP256K1 } from './vectors.ts'

const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
const HALF_ORDER = BigInt(`0x${ORDER}`) >> 1n
const RUNS = isLong ? 20_000 : 100

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })
/** Digests below the order of the curve, as nearly all are: about one in 2^128 is not. */
const digests = bytes32.filter((digest) => BigInt(`0x${hexOf(digest)}`) < BigInt(`0x${ORDER}`))
const privateKeys = bytes32.filter((key) => secp256k1.utils.isValidSecretKey(key))

const native = (): Curve => {
  if (nativeCurve === null) throw new Error('the native module is not there on this platform')
  return nativeCurve
}
const PREBUILT = new Set(['linux-x64', 'darwin-arm64', 'win32-x64'])
const hasPrebuilt = PREBUILT.has(`${process.platform}-${process.arch}`)
const curves = [['noble', nobleCurve] as const, ...(nativeCurve === null ? [] : [['native', nativeCurve] as const])]

describe.each(curves)('%s', (_name, each) => {
  test.each(RFC_6979_SECP256K1)('gives the published signature of "$message"', (vector) => {
    const digest = createHash('sha256').update(vector.message).digest()
    const signature = each.sign({ digest, privateKey: bytesOf(vector.privateKey) })
    expect(hexOf(signature.subarray(0, 64))).toBe(vector.signature)
  })

  test('gives the signature and the recovery id of EIP-155', () => {
    const signature = each.sign({ digest: bytesOf(EIP_155.digest), privateKey: bytesOf(EIP_155.privateKey) })
    expect(hexOf(signature)).toBe(`${EIP_155.r}${EIP_155.s}0${EIP_155.recoveryId}`)
  })

  test.each([
    ['no bytes', ''],
    ['31 bytes', '11'.repeat(31)],
    ['33 bytes', '11'.repeat(33)],
    ['zero', '00'.repeat(32)],
    ['the order of the curve', ORDER],
    ['the order and one', `${ORDER.slice(0, -1)}2`],
  ])('refuses a private key of %s', (_what, hex) => {
    expect(() => each.publicKeyOf(bytesOf(hex))).toThrow()
    expect(() => each.sign({ digest: new Uint8Array(32), privateKey: bytesOf(hex) })).toThrow()
  })

  test.each([0, 31, 33, 64])('refuses a digest of %d bytes', (length) => {
    expect(() => each.sign({ digest: new Uint8Array(length), privateKey: new Uint8Array(32).fill(1) })).toThrow()
  })

  test('signs with a low s and the right recovery id', () => {
    fc.assert(
      fc.property(privateKeys, digests, (privateKey, digest) => {
        const signature = each.sign({ digest, privateKey })
        expect(signature.length).toBe(65)
        expect(BigInt(`0x${hexOf(signature.subarray(32, 64))}`) <= HALF_ORDER).toBe(true)
        const recovered = secp256k1.Signature.fromBytes(signature.subarray(0, 64), 'compact')
          .addRecoveryBit(signature[64] ?? -1)
          .recoverPublicKey(digest)
        expect(hexOf(recovered.toBytes(false))).toBe(hexOf(each.publicKeyOf(privateKey)))
      }),
      { numRuns: roundsOf(50) },
    )
  })

  test.each([
    ['one and one', '01', '01', '02'],
    ['the order less one, and two', `${ORDER.slice(0, -1)}0`, '02', '01'],
    ['one and zero', '01', '00', '01'],
  ])('adds %s', (_what, one, other, sum) => {
    const numberOf = (hex: string) => bytesOf(hex.padStart(64, '0'))
    expect(hexOf(each.tweak({ privateKey: numberOf(one), tweak: numberOf(other) }))).toBe(sum.padStart(64, '0'))
  })

  test.each([
    ['the order of the curve', ORDER],
    ['all ones', 'ff'.repeat(32)],
    ['what makes the key zero', `${ORDER.slice(0, -2)}3c`],
    ['31 bytes', '11'.repeat(31)],
  ])('refuses to add %s to five', (_what, tweak) => {
    const privateKey = bytesOf('05'.padStart(64, '0'))
    expect(() => each.tweak({ privateKey, tweak: bytesOf(tweak) })).toThrow()
    expect(hexOf(privateKey)).toBe('05'.padStart(64, '0'))
  })

  test('does not change the key or the digest', () => {
    const privateKey = new Uint8Array(32).fill(5)
    const digest = new Uint8Array(32).fill(6)
    each.sign({ digest, privateKey })
    each.publicKeyOf(privateKey)
    each.tweak({ privateKey, tweak: digest })
    expect([hexOf(privateKey), hexOf(digest)]).toEqual(['05'.repeat(32), '06'.repeat(32)])
  })
})

test.skipIf(!hasPrebuilt)('the native module signs where a prebuilt one exists', () => {
  expect(curve).toBe(native())
})

test('noble signs if no native module can be loaded', () => {
  const script = `import { curve, nativeCurve, nobleCurve } from '${new URL('../../src/vault/rooms/keys/secp256k1.ts', import.meta.url).pathname}'
    console.log(nativeCurve === null && curve === nobleCurve)`
  // node-gyp-build then looks for a module of that architecture, which does not exist.
  const env = { ...process.env, npm_config_arch: 'none' }
  expect(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', env }).trim()).toBe('true')
})

test.skipIf(!hasPrebuilt)(
  'native and noble give the same keys, sums and signatures',
  () => {
    fc.assert(
      fc.property(privateKeys, digests, (privateKey, digest) => {
        expect(hexOf(native().publicKeyOf(privateKey))).toBe(hexOf(nobleCurve.publicKeyOf(privateKey)))
        expect(hexOf(native().sign({ digest, privateKey }))).toBe(hexOf(nobleCurve.sign({ digest, privateKey })))
        const tweaked = { privateKey, tweak: digest }
        expect(hexOf(native().tweak(tweaked))).toBe(hexOf(nobleCurve.tweak(tweaked)))
      }),
      { numRuns: RUNS },
    )
  },
  600_000,
)

test.skipIf(!hasPrebuilt).each([
  ['zero', '00'.repeat(32), true],
  ['one below the order', `${ORDER.slice(0, -1)}0`, true],
  ['the order', ORDER, false],
  ['all ones', 'ff'.repeat(32), false],
])('native and noble sign a digest of %s validly, and the same below the order', (_what, hex, same) => {
  const privateKey = new Uint8Array(32).fill(1)
  const digest = bytesOf(hex)
  const signatures = [native(), nobleCurve].map((each) => each.sign({ digest, privateKey }))
  for (const signature of signatures) {
    const options = { prehash: false, lowS: true }
    expect(secp256k1.verify(signature.subarray(0, 64), digest, nobleCurve.publicKeyOf(privateKey), options)).toBe(true)
  }
  expect(new Set(signatures.map(hexOf)).size).toBe(same ? 1 : 2)
})
