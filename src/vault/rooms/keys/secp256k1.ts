// ECDSA on secp256k1, as Ethereum uses it: deterministic (RFC 6979), with the low s (EIP-2), and a recovery id.
// libsecp256k1 (constant-time C, about 4 times faster) signs if its prebuilt module loads, else noble's JavaScript.
// Both give the same bytes but for a digest that is not below the order of the group (one in 2^128): libsecp256k1 does
// not reduce it before it makes the nonce. Both signatures are valid.

import { secp256k1 as noble } from '@noble/curves/secp256k1.js'
import { libsecp256k1 } from '../../../platform/process/libsecp256k1.ts'
import { copyOf } from '../../../platform/sealing/bytes.ts'

export type Curve = {
  /** @param privateKey 32 bytes. @returns 65 bytes, uncompressed: 4, x, y. */
  publicKeyOf(privateKey: Uint8Array): Uint8Array
  /** @param input.digest 32 bytes. @returns 65 bytes: r, s (low), recovery id (0 or 1). */
  sign(input: { readonly digest: Uint8Array; readonly privateKey: Uint8Array }): Uint8Array
  /** Their sum modulo the order, zeroed by the caller. @throws Error for a tweak beyond the order, or the sum 0. */
  tweak(input: { readonly privateKey: Uint8Array; readonly tweak: Uint8Array }): Uint8Array
}

const DIGEST_BYTES = 32
const SIGNATURE_BYTES = 65
const RECOVERY_OFFSET = 64

/** The order of the group (SEC 2, version 2.0, §2.4.1). */
const ORDER = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex')

/** A number from 1 to the group's order less one. This compares bytes, because a bigint cannot be zeroed. */
export const isPrivateKey = (bytes: Uint8Array): boolean =>
  bytes.length === ORDER.length && bytes.some((byte) => byte !== 0) && Buffer.compare(bytes, ORDER) < 0

const native = libsecp256k1

/** null if no prebuilt module of libsecp256k1 runs. */
export const nativeCurve: Curve | null = native && {
  publicKeyOf: (privateKey) => native.publicKeyCreate(privateKey, false),
  sign: ({ digest, privateKey }) => {
    const { signature, recid } = native.ecdsaSign(digest, privateKey)
    const bytes = new Uint8Array(SIGNATURE_BYTES)
    bytes.set(signature)
    bytes[RECOVERY_OFFSET] = recid
    return bytes
  },
  tweak: ({ privateKey, tweak }) => native.privateKeyTweakAdd(copyOf(privateKey), tweak),
}

export const nobleCurve: Curve = {
  publicKeyOf: (privateKey) => noble.getPublicKey(privateKey, false),
  sign: ({ digest, privateKey }) => {
    if (digest.length !== DIGEST_BYTES) throw new Error(`a digest to sign has ${DIGEST_BYTES} bytes`)
    const options = { prehash: false, lowS: true, extraEntropy: false, format: 'recovered' } as const
    const recoveryIdFirst = noble.sign(digest, privateKey, options)
    const bytes = new Uint8Array(SIGNATURE_BYTES)
    bytes.set(recoveryIdFirst.subarray(1))
    bytes.set(recoveryIdFirst.subarray(0, 1), RECOVERY_OFFSET)
    return bytes
  },
  tweak: ({ privateKey, tweak }) => {
    const { Fn } = noble.Point
    const sum = Fn.add(Fn.fromBytes(privateKey), Fn.fromBytes(tweak))
    if (Fn.is0(sum)) throw new Error('a tweaked private key is zero')
    return Fn.toBytes(sum)
  },
}

export const curve: Curve = nativeCurve ?? nobleCurve
