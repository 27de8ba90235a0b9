// A software authenticator with its browser (Web Authentication Level 3, §6.3). It has one key and signs what a test
// asks.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

/** Flags of authenticator data (§6.1). */
export const UP = 0x01
export const UV = 0x04
export const BE = 0x08
export const BS = 0x10
const AT = 0x40

/** Values that a test changes from what an honest authenticator sends. */
export type Oddities = {
  readonly flags?: number
  readonly signCount?: number
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  /** Further fields of the client data. */
  readonly clientData?: object
  readonly userHandle?: string | null
  readonly attestation?: { readonly fmt: string; readonly attStmt: Map<string, unknown> }
  readonly algorithm?: number
}

const base64url = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

/** COSE_Key (RFC 9052 §7, RFC 8230 for RSA). */
type CoseKey = [number, number | Uint8Array][]

const partOf = (key: KeyObject, name: 'x' | 'y' | 'n' | 'e'): Uint8Array =>
  new Uint8Array(Buffer.from(String(key.export({ format: 'jwk' })[name]), 'base64url'))

const uint = (value: number, length: number): Buffer => {
  const bytes = Buffer.alloc(length)
  bytes.writeUIntBE(value, 0, length)
  return bytes
}

const rs256 = (modulusLength: number) =>
  ({
    make: () => generateKeyPairSync('rsa', { modulusLength }),
    cose: (key: KeyObject): CoseKey => [
      [1, 3],
      [3, -257],
      [-1, partOf(key, 'n')],
      [-2, partOf(key, 'e')],
    ],
    digest: 'sha256',
  }) as const

const KEYS = {
  ES256: {
    make: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    cose: (key: KeyObject): CoseKey => [
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, partOf(key, 'x')],
      [-3, partOf(key, 'y')],
    ],
    digest: 'sha256',
  },
  EdDSA: {
    make: () => generateKeyPairSync('ed25519'),
    cose: (key: KeyObject): CoseKey => [
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, partOf(key, 'x')],
    ],
    digest: null,
  },
  RS256: rs256(2_048),
  'RS256 of 1,024 bits': rs256(1_024),
}

export const createAuthenticator = (of: {
  readonly origin: string
  readonly credentialId?: Uint8Array
  /** ES256 by default. */
  readonly key?: keyof typeof KEYS
}) => {
  const { make, cose, digest } = KEYS[of.key ?? 'ES256']
  const { privateKey, publicKey } = make()
  const credentialId = of.credentialId ?? new Uint8Array(randomBytes(32))
  const id = base64url(credentialId)
  let userHandle = ''
  let signCount = 0

  const clientDataOf = (type: string, challenge: string, odd: Oddities): string =>
    JSON.stringify({
      type: odd.type ?? type,
      challenge: odd.challenge ?? challenge,
      origin: of.origin,
      crossOrigin: false,
      ...odd.clientData,
    })

  return {
    id,
    /** As `getPublicKey()` of the browser's answer gives it, in base64url. */
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64url'),
    /** navigator.credentials.create, and toJSON of its answer. */
    create: (options: { rp: { id: string }; user: { id: string }; challenge: string }, odd: Oddities = {}) => {
      userHandle = options.user.id
      signCount = odd.signCount ?? 0
      const key = new Map(cose(publicKey))
      if (odd.algorithm !== undefined) key.set(3, odd.algorithm)
      const authData = Buffer.concat([
        sha256(odd.rpId ?? options.rp.id),
        uint((odd.flags ?? UP | UV | BE | BS) | AT, 1),
        uint(signCount, 4),
        Buffer.alloc(16),
        uint(credentialId.length, 2),
        credentialId,
        isoCBOR.encode(key),
      ])
      const { fmt, attStmt } = odd.attestation ?? { fmt: 'none', attStmt: new Map() }
      const object = new Map<string, unknown>([
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', new Uint8Array(authData)],
      ])
      return {
        id,
        rawId: id,
        type: 'public-key',
        authenticatorAttachment: null,
        clientExtensionResults: { credProps: { rk: true } },
        response: {
          clientDataJSON: base64url(clientDataOf('webauthn.create', options.challenge, odd)),
          attestationObject: base64url(isoCBOR.encode(object as Parameters<typeof isoCBOR.encode>[0])),
          transports: ['internal', 'hybrid'],
          publicKeyAlgorithm: -7,
        },
      }
    },
    /** navigator.credentials.get, and toJSON of its answer. */
    get: (options: { rpId: string; challenge: string }, odd: Oddities = {}) => {
      if (odd.signCount !== undefined) signCount = odd.signCount
      const clientDataJSON = clientDataOf('webauthn.get', options.challenge, odd)
      const authenticatorData = Buffer.concat([
        sha256(odd.rpId ?? options.rpId),
        uint(odd.flags ?? UP | UV | BE | BS, 1),
        uint(signCount, 4),
      ])
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      return {
        id,
        rawId: id,
        type: 'public-key',
        authenticatorAttachment: 'platform',
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(clientDataJSON),
          authenticatorData: base64url(authenticatorData),
          signature: base64url(sign(digest, signed, privateKey)),
          userHandle: odd.userHandle === undefined ? userHandle : odd.userHandle,
        },
      }
    },
  }
}

export type Authenticator = ReturnType<typeof createAuthenticator>
