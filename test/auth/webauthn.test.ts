// The ceremonies of WebAuthn, with the test vectors of its specification and with malformed input.

import { describe, expect, test } from 'bun:test'
import { parseAuthenticatorData } from '@simplewebauthn/server/helpers'
import {
  type CeremonyRefusal,
  type Credential,
  verifyAssertion,
  verifyRegistration,
} from '../../src/identity/auth/webauthn.ts'
import { someOf } from '../support/long.ts'
import { VECTORS, type Vector } from './webauthn-vectors.ts'

const RP_ID = 'example.org'
const ORIGIN = 'https://example.org'
/** SHA-256 of the RP ID. Authenticator data begins with it. */
const RP_ID_HASH = 'bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b5'

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
const base64url = (hex: string) => Buffer.from(hex, 'hex').toString('base64url')
const expectedOf = (challenge: string) => ({
  rpId: RP_ID,
  challenge: base64url(challenge),
  isOrigin: (origin: string) => origin === ORIGIN,
})

const registrationOf = ({ credentialId, registration }: Vector) => ({
  id: base64url(credentialId),
  type: 'public-key' as const,
  response: {
    clientDataJSON: base64url(registration.clientDataJSON),
    attestationObject: base64url(registration.attestationObject),
  },
})
const assertionOf = ({ credentialId, authentication }: Vector) => ({
  id: base64url(credentialId),
  type: 'public-key' as const,
  response: {
    clientDataJSON: base64url(authentication.clientDataJSON),
    authenticatorData: base64url(authentication.authenticatorData),
    signature: base64url(authentication.signature),
  },
})

/** Parses the authenticator data of a registration with any attestation. */
const credentialOf = (vector: Vector): Credential => {
  const { attestationObject } = vector.registration
  const at = attestationObject.indexOf(RP_ID_HASH)
  // A byte string (RFC 8949 §3): 0x58 with one byte of length, or 0x59 with two.
  const one = attestationObject.slice(at - 4, at - 2) === '58'
  const length = Number.parseInt(attestationObject.slice(at - (one ? 2 : 4), at), 16)
  const data = parseAuthenticatorData(bytesOf(attestationObject.slice(at, at + 2 * length)))
  if (data.credentialPublicKey === undefined) throw new Error('no key')
  return {
    credentialId: bytesOf(vector.credentialId),
    publicKey: data.credentialPublicKey,
    signCount: data.counter,
    backupEligible: data.flags.be,
  }
}

const register = (vector: Vector) =>
  verifyRegistration(registrationOf(vector), expectedOf(vector.registration.challenge))
const authenticate = (vector: Vector, credential = credentialOf(vector)) =>
  verifyAssertion(assertionOf(vector), expectedOf(vector.authentication.challenge), credential)

type Outcome = 'verified' | CeremonyRefusal

/**
 * The expected outcome of registration and authentication. `framed` and `user_verification` are checked last, so they
 * mean that everything else was right. We refuse attestation by a certificate, but keys registered with one still sign.
 */
const OUTCOMES: Readonly<Record<string, readonly [Outcome, Outcome]>> = {
  'none-es256': ['user_verification', 'user_verification'],
  'packed-self-es256': ['verified', 'user_verification'],
  'none-es256-crossOrigin': ['framed', 'framed'],
  'none-es256-topOrigin': ['framed', 'framed'],
  'none-es256-long-credential-id': ['user_verification', 'verified'],
  'packed-es256': ['attestation', 'verified'],
  'packed-es384': ['attestation', 'verified'],
  'packed-es512': ['attestation', 'user_verification'],
  'packed-rs256': ['attestation', 'user_verification'],
  'packed-eddsa': ['attestation', 'user_verification'],
  // Our runtimes do not support Ed448, and we do not accept its keys.
  'packed-ed448': ['attestation', 'invalid'],
  'tpm-es256': ['attestation', 'verified'],
  'android-key-es256': ['attestation', 'user_verification'],
  'apple-es256': ['attestation', 'user_verification'],
  'fido-u2f-es256': ['attestation', 'user_verification'],
}

const outcomeOf = (result: { verified: unknown } | { refused: CeremonyRefusal }): Outcome =>
  'refused' in result ? result.refused : 'verified'

describe('the test vectors of Web Authentication Level 3', () => {
  test('are complete', () => {
    expect(VECTORS.map(({ name }) => name)).toEqual(Object.keys(OUTCOMES))
  })

  test.each(VECTORS.map((vector) => [vector.name, vector] as const))('%s', async (name, vector) => {
    const outcomes = [outcomeOf(await register(vector)), outcomeOf(await authenticate(vector))]
    expect(outcomes).toEqual([...(OUTCOMES[name] ?? [])])
  })
})

describe('malformed input', () => {
  const named = (name: string): Vector => {
    const vector = VECTORS.find((each) => each.name === name)
    if (vector === undefined) throw new Error('no such vector')
    return vector
  }
  const SELF = named('packed-self-es256')
  const SIGNED = named('packed-es256')
  const CREDENTIAL = credentialOf(SIGNED)

  /** CBOR (RFC 8949 §3) that declares more bytes than it has, or nests too deeply. */
  const ODD_CBOR = [
    '',
    'ff',
    'bbffffffffffffffff',
    '9bffffffffffffffff',
    '5bffffffffffffffff',
    '7b7fffffffffffffff',
    'bf',
    `${'81'.repeat(40_000)}00`,
    'a163666d74f6',
    'a363666d74646e6f6e656761747453746d74a0686175746844617461f6',
    'a363666d74646e6f6e656761747453746d74a0686175746844617461582000',
    'a363666d74667061636b65646761747453746d74f668617574684461746140',
  ]

  const truncations = (hex: string): readonly string[] =>
    someOf(
      Array.from({ length: hex.length / 2 }, (_, length) => hex.slice(0, 2 * length)),
      5,
    )

  /** The input with each byte changed in turn; in the suite each fifth. */
  const changes = (hex: string): readonly string[] =>
    someOf(
      Array.from({ length: hex.length / 2 }, (_, at) => {
        const bytes = bytesOf(hex)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
        return Buffer.from(bytes).toString('hex')
      }),
      5,
    )

  test('is refused as a new credential, without an exception', async () => {
    const { attestationObject } = SELF.registration
    const registerAs = (odd: string) =>
      register({ ...SELF, registration: { ...SELF.registration, attestationObject: odd } })
    for (const odd of [...ODD_CBOR, ...truncations(attestationObject)]) {
      expect('refused' in (await registerAs(odd))).toBe(true)
    }
    // The libraries accept several encodings of the same data; the result is then the same credential.
    const whole = await register(SELF)
    const taken: (typeof whole)[] = []
    for (const odd of changes(attestationObject)) {
      const result = await registerAs(odd)
      if ('verified' in result) taken.push(result)
    }
    expect(taken.length).toBeLessThan(4)
    for (const result of taken) expect(result).toEqual(whole)
    for (const odd of changes(SELF.registration.clientDataJSON)) {
      const result = await register({ ...SELF, registration: { ...SELF.registration, clientDataJSON: odd } })
      expect('refused' in result).toBe(true)
    }
  })

  test('is refused as an assertion, without an exception', async () => {
    for (const field of ['clientDataJSON', 'authenticatorData', 'signature'] as const) {
      const whole = SIGNED.authentication[field]
      for (const odd of [...ODD_CBOR, ...truncations(whole), ...changes(whole)]) {
        const authentication = { ...SIGNED.authentication, [field]: odd }
        expect('refused' in (await authenticate({ ...SIGNED, authentication }, CREDENTIAL))).toBe(true)
      }
    }
    for (const odd of ['null', '[]', '7', '{"challenge":7}', '{"challenge":"","origin":""}']) {
      const authentication = { ...SIGNED.authentication, clientDataJSON: Buffer.from(odd).toString('hex') }
      expect('refused' in (await authenticate({ ...SIGNED, authentication }, CREDENTIAL))).toBe(true)
    }
  })

  test('is refused for another challenge, origin or RP ID, or if the counter does not rise', async () => {
    const assertion = assertionOf(SIGNED)
    const expected = expectedOf(SIGNED.authentication.challenge)
    const refusalOf = async (change: object, credential: Credential) => {
      const result = await verifyAssertion(assertion, { ...expected, ...change }, credential)
      return 'refused' in result ? result.refused : 'verified'
    }
    expect(await refusalOf({}, CREDENTIAL)).toBe('verified')
    expect(await refusalOf({ challenge: base64url('00'.repeat(32)) }, CREDENTIAL)).toBe('challenge')
    expect(await refusalOf({ isOrigin: () => false }, CREDENTIAL)).toBe('origin')
    expect(await refusalOf({ rpId: 'www.example.org' }, CREDENTIAL)).toBe('invalid')
    expect(await refusalOf({}, credentialOf(SELF))).toBe('invalid')
    expect(await refusalOf({}, { ...CREDENTIAL, signCount: 1 })).toBe('counter')
    expect(await refusalOf({}, { ...CREDENTIAL, backupEligible: !CREDENTIAL.backupEligible })).toBe('invalid')
  })
})
