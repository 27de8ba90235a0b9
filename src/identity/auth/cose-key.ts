// Public keys of passkeys in COSE form (RFC 9052 §7, RFC 9053 §7, RFC 8230 §4), and the encoding of their signatures.

import { createPublicKey } from 'node:crypto'
import { decodePartialCBOR } from '@levischuck/tiny-cbor'
import { ed25519 } from '@noble/curves/ed25519.js'
import { p256 } from '@noble/curves/nist.js'

export const ES256 = -7
export const EDDSA = -8
export const RS256 = -257

const KEY = { type: 1, algorithm: 3, curve: -1, x: -2, y: -3, modulus: -1, exponent: -2 } as const

export type CborMap = ReadonlyMap<string | number, unknown>

/** Decodes exactly one CBOR map. @throws Error for anything else, also for bytes after the map. */
export const mapOf = (cbor: Uint8Array<ArrayBuffer>): CborMap => {
  const [map, length] = decodePartialCBOR(cbor, 0)
  if (map instanceof Map && length === cbor.byteLength) return map
  throw new Error('not one CBOR map')
}

const bytesAt = (key: CborMap, label: number): Uint8Array => {
  const value = key.get(label)
  return value instanceof Uint8Array ? value : new Uint8Array()
}

/** The key's algorithm if we support it and its curve fits (WebAuthn §5.8.5), else null. */
export const algorithmOf = (key: CborMap): number | null => {
  const [type, curve, x, y] = [key.get(KEY.type), key.get(KEY.curve), bytesAt(key, KEY.x), bytesAt(key, KEY.y)]
  const algorithm = key.get(KEY.algorithm)
  switch (algorithm) {
    case ES256:
      return type === 2 && curve === 1 && x.length === 32 && y.length === 32 ? algorithm : null
    case EDDSA:
      return type === 1 && curve === 6 && x.length === 32 ? algorithm : null
    case RS256: {
      const [modulus, exponent] = [bytesAt(key, KEY.modulus).length, bytesAt(key, KEY.exponent).length]
      // These bounds are our own; they limit the time that a verification takes.
      return type === 3 && modulus >= 256 && modulus <= 512 && exponent >= 1 && exponent <= 4 ? algorithm : null
    }
    default:
      return null
  }
}

/** @returns false for a point off its curve or of small order, and for an even RSA modulus: no honest key has these. */
export const isSound = (key: CborMap): boolean => {
  const x = bytesAt(key, KEY.x)
  switch (algorithmOf(key)) {
    case ES256:
      return isOnCurve(() => p256.Point.fromBytes(Buffer.concat([Uint8Array.of(4), x, bytesAt(key, KEY.y)])))
    case EDDSA:
      return isOnCurve(() => {
        if (ed25519.Point.fromBytes(x).isSmallOrder()) throw new Error('of small order')
      })
    case RS256: {
      const [modulus, exponent] = [bytesAt(key, KEY.modulus), bytesAt(key, KEY.exponent)]
      const isOdd = (bytes: Uint8Array) => (bytes.at(-1) ?? 0) % 2 === 1
      return (
        isOdd(modulus) && isOdd(exponent) && exponent.some((byte, at) => byte > (at === exponent.length - 1 ? 1 : 0))
      )
    }
    default:
      return false
  }
}

const jwkOf = (key: CborMap): Readonly<Record<string, string>> => {
  const text = (label: number) => Buffer.from(bytesAt(key, label)).toString('base64url')
  switch (algorithmOf(key)) {
    case ES256:
      return { kty: 'EC', crv: 'P-256', x: text(KEY.x), y: text(KEY.y) }
    case EDDSA:
      return { kty: 'OKP', crv: 'Ed25519', x: text(KEY.x) }
    case RS256:
      return { kty: 'RSA', n: text(KEY.modulus), e: text(KEY.exponent) }
    default:
      throw new Error('not a key of a passkey')
  }
}

/** A passkey's key as SubjectPublicKeyInfo (RFC 5280), in DER. @param cose COSE_Key. */
export const spkiOf = (cose: Uint8Array): Uint8Array =>
  createPublicKey({ key: jwkOf(mapOf(new Uint8Array(cose))), format: 'jwk' }).export({ type: 'spki', format: 'der' })

const isOnCurve = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** The length of a DER INTEGER that is positive, minimal and at most 32 bytes long; null for anything else. */
const integerLength = (bytes: Uint8Array, at: number): number | null => {
  const [tag, length = 0, first = 0, second = 0] = bytes.subarray(at)
  if (tag !== 0x02 || length < 1 || length > 33 || at + 2 + length > bytes.length) return null
  if (first >= 0x80) return null
  const isPadded = first === 0 && length > 1
  if (isPadded && second < 0x80) return null
  return length === 33 && !isPadded ? null : 2 + length
}

/** Whether a signature is well-formed. For ES256: the one DER encoding of two integers (X.690 §10). */
export const isStrictSignature = (algorithm: number | null, signature: Uint8Array): boolean => {
  if (algorithm !== ES256) return true
  if (signature[0] !== 0x30 || signature[1] !== signature.length - 2) return false
  const r = integerLength(signature, 2)
  const s = r === null ? null : integerLength(signature, 2 + r)
  return r !== null && s !== null && 2 + r + s === signature.length
}
