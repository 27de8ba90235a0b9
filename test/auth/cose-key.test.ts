// Keys and signatures that we refuse although the library accepts them, and real ones that we must accept.

import { describe, expect, test } from 'bun:test'
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { encodeCBOR } from '@levischuck/tiny-cbor'
import { isSound, isStrictSignature, mapOf } from '../../src/identity/auth/cose-key.ts'
import { verifyAssertion, verifyRegistration } from '../../src/identity/auth/webauthn.ts'

const RP_ID = 'example.org'
const ORIGIN = 'https://example.org'
const UP_UV = 0x05
const ATTESTED = 0x40
const ES256 = -7

type CoseKey = Map<number, number | Uint8Array>

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()
const base64url = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url')
const hex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
const cbor = (value: unknown) => new Uint8Array(encodeCBOR(value as Parameters<typeof encodeCBOR>[0]))
const partOf = (key: KeyObject, name: 'x' | 'y' | 'n' | 'e') =>
  new Uint8Array(Buffer.from(String(key.export({ format: 'jwk' })[name]), 'base64url'))

const newRsaPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
/** Made once, as that takes long. */
let rsa: ReturnType<typeof newRsaPair> | null = null

const KINDS = {
  ES256: () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const [x, y] = [partOf(pair.publicKey, 'x'), partOf(pair.publicKey, 'y')]
    const key: CoseKey = new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, x],
      [-3, y],
    ])
    return { key, algorithm: -7, sign: (data: Uint8Array) => sign('sha256', data, pair.privateKey) }
  },
  EdDSA: () => {
    const pair = generateKeyPairSync('ed25519')
    const key: CoseKey = new Map<number, number | Uint8Array>([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, partOf(pair.publicKey, 'x')],
    ])
    return { key, algorithm: -8, sign: (data: Uint8Array) => sign(null, data, pair.privateKey) }
  },
  RS256: () => {
    rsa ??= newRsaPair()
    const pair = rsa
    const [n, e] = [partOf(pair.publicKey, 'n'), partOf(pair.publicKey, 'e')]
    const key: CoseKey = new Map<number, number | Uint8Array>([
      [1, 3],
      [3, -257],
      [-1, n],
      [-2, e],
    ])
    return { key, algorithm: -257, sign: (data: Uint8Array) => sign('sha256', data, pair.privateKey) }
  },
}

const clientDataOf = (type: string, challenge: string) =>
  JSON.stringify({ type, challenge, origin: ORIGIN, crossOrigin: false })
const expectedOf = (challenge: string) => ({ rpId: RP_ID, challenge, isOrigin: (origin: string) => origin === ORIGIN })

type Odd = {
  readonly key?: CoseKey
  readonly statement?: (alg: number, signature: Uint8Array) => Map<string, unknown>
  readonly change?: (attestationObject: Uint8Array) => Uint8Array
  readonly none?: boolean
}

/** A registration with self attestation, as an authenticator makes it, with one deviation. */
const register = async (kind: keyof typeof KINDS, odd: Odd = {}) => {
  const made = KINDS[kind]()
  const credentialId = randomBytes(32)
  const authData = Buffer.concat([
    sha256(RP_ID),
    Uint8Array.of(UP_UV | ATTESTED, 0, 0, 0, 0),
    Buffer.alloc(16),
    Uint8Array.of(0, credentialId.length),
    credentialId,
    cbor(odd.key ?? made.key),
  ])
  const challenge = base64url(randomBytes(32))
  const clientDataJSON = clientDataOf('webauthn.create', challenge)
  const signature = new Uint8Array(made.sign(Buffer.concat([authData, sha256(clientDataJSON)])))
  const self =
    odd.statement?.(made.algorithm, signature) ??
    new Map<string, unknown>([
      ['alg', made.algorithm],
      ['sig', signature],
    ])
  const object = cbor(
    new Map<string, unknown>([
      ['fmt', odd.none ? 'none' : 'packed'],
      ['attStmt', odd.none ? new Map() : self],
      ['authData', new Uint8Array(authData)],
    ]),
  )
  const attestationObject = base64url(odd.change?.(object) ?? object)
  const answer = {
    id: base64url(credentialId),
    type: 'public-key' as const,
    response: { clientDataJSON: base64url(clientDataJSON), attestationObject },
  }
  const result = await verifyRegistration(answer, expectedOf(challenge))
  return 'refused' in result ? result.refused : 'verified'
}

const login = async (kind: keyof typeof KINDS, change: (signature: Uint8Array) => Uint8Array = (same) => same) => {
  const made = KINDS[kind]()
  const challenge = base64url(randomBytes(32))
  const clientDataJSON = clientDataOf('webauthn.get', challenge)
  const authenticatorData = Buffer.concat([sha256(RP_ID), Uint8Array.of(UP_UV, 0, 0, 0, 0)])
  const signature = change(new Uint8Array(made.sign(Buffer.concat([authenticatorData, sha256(clientDataJSON)]))))
  const credentialId = randomBytes(32)
  const result = await verifyAssertion(
    {
      id: base64url(credentialId),
      type: 'public-key',
      response: {
        clientDataJSON: base64url(clientDataJSON),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(signature),
      },
    },
    expectedOf(challenge),
    { credentialId, publicKey: cbor(made.key), signCount: 0, backupEligible: false },
  )
  return 'refused' in result ? result.refused : 'verified'
}

describe('keys and signatures of real authenticators', () => {
  test('are accepted for each algorithm, with and without self attestation', async () => {
    for (const kind of ['ES256', 'EdDSA', 'RS256'] as const) {
      expect(await register(kind)).toBe('verified')
      expect(await register(kind, { none: true })).toBe('verified')
      expect(await login(kind)).toBe('verified')
    }
  })

  test('a thousand random ones pass the strict checks', () => {
    const { key, sign: signed } = KINDS.ES256()
    for (let round = 0; round < 1_000; round += 1) expect(isStrictSignature(ES256, signed(randomBytes(8)))).toBe(true)
    expect(isSound(key)).toBe(true)
    for (let round = 0; round < 50; round += 1) {
      expect(isSound(KINDS.ES256().key)).toBe(true)
      expect(isSound(KINDS.EdDSA().key)).toBe(true)
    }
  })
})

describe('an ES256 signature', () => {
  const integer = (bytes: string) => `02${(bytes.length / 2).toString(16).padStart(2, '0')}${bytes}`
  const sequence = (body: string) => `30${(body.length / 2).toString(16).padStart(2, '0')}${body}`
  const SHORT = '0b'
  const LONG = '7f'.repeat(32)
  const HIGH = `00${'ff'.repeat(32)}`

  test('must be DER of two minimal integers', () => {
    for (const [r, s] of [
      [SHORT, SHORT],
      [LONG, HIGH],
      [HIGH, LONG],
      ['0080', '7f'],
    ] as const) {
      expect(isStrictSignature(ES256, hex(sequence(integer(r) + integer(s))))).toBe(true)
    }
    const good = integer(LONG) + integer(LONG)
    for (const odd of [
      '',
      '30',
      '3000',
      sequence(integer(LONG)),
      sequence(good + integer(SHORT)),
      `${sequence(good)}00`,
      sequence(`${good}0500`),
      // The length in a long form, and an indefinite one.
      `3081${(good.length / 2).toString(16)}${good}`,
      `3080${good}0000`,
      // Padded, negative, empty and too long integers; another tag.
      sequence(integer(`00${LONG}`) + integer(LONG)),
      sequence(integer('ff'.repeat(32)) + integer(LONG)),
      sequence(integer('') + integer(LONG)),
      sequence(integer(`01${LONG}`) + integer(LONG)),
      sequence(`0281${(LONG.length / 2).toString(16)}${LONG}${integer(LONG)}`),
      sequence(good.replace(/^02/, '03')),
      // Promises more than there is.
      `30460221${good}`,
    ]) {
      expect({ odd, taken: isStrictSignature(ES256, hex(odd)) }).toEqual({ odd, taken: false })
    }
  })

  test('is refused in any other encoding, both at login and in an attestation', async () => {
    const withMore = (signature: Uint8Array) => Buffer.concat([signature, Uint8Array.of(0)])
    const inLongForm = (signature: Uint8Array) => Buffer.concat([Uint8Array.of(0x30, 0x81), signature.subarray(1)])
    const withMoreInside = (signature: Uint8Array) =>
      Buffer.concat([Uint8Array.of(0x30, (signature[1] ?? 0) + 2), signature.subarray(2), Uint8Array.of(5, 0)])
    for (const change of [withMore, inLongForm, withMoreInside]) {
      expect(await login('ES256', change)).toBe('invalid')
      const statement = (alg: number, signature: Uint8Array) =>
        new Map<string, unknown>([
          ['alg', alg],
          ['sig', new Uint8Array(change(signature))],
        ])
      expect(await register('ES256', { statement })).toBe('invalid')
    }
  })
})

describe('self attestation', () => {
  test('must use the algorithm of the key and contain nothing else', async () => {
    const withAlg = (alg: number | null) => (_: number, signature: Uint8Array) =>
      new Map<string, unknown>([...(alg === null ? [] : [['alg', alg] as const]), ['sig', signature]])
    for (const alg of [-257, -8, -37, -35, null]) {
      expect({ alg, outcome: await register('ES256', { statement: withAlg(alg) }) }).toEqual({
        alg,
        outcome: 'invalid',
      })
    }
    const withMore = (alg: number, signature: Uint8Array) =>
      new Map<string, unknown>([
        ['alg', alg],
        ['sig', signature],
        ['ecdaaKeyId', new Uint8Array(1)],
      ])
    expect(await register('ES256', { statement: withMore })).toBe('invalid')
  })

  test('must not have bytes after its map', async () => {
    for (const tail of ['00', 'a0', '00'.repeat(100)]) {
      const change = (object: Uint8Array) => Buffer.concat([object, hex(tail)])
      expect(await register('ES256', { change })).toBe('invalid')
      expect(await register('ES256', { change, none: true })).toBe('invalid')
      expect(() => mapOf(hex(`a0${tail}`))).toThrow('not one CBOR map')
    }
  })
})

describe('a public key', () => {
  const changed = (kind: keyof typeof KINDS, label: number, value: (before: Uint8Array) => Uint8Array): CoseKey => {
    const { key } = KINDS[kind]()
    return new Map([...key]).set(label, value(key.get(label) as Uint8Array))
  }
  const lastBitFlipped = (bytes: Uint8Array) => bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte))

  test('is refused if it is off its curve or of small order, even with attestation "none"', async () => {
    const P256_FIELD = hex('ffffffff00000001000000000000000000000000ffffffffffffffffffffffff')
    const ED25519_FIELD_AND_TWO = hex(`ef${'ff'.repeat(30)}7f`)
    // y = 2 is of no point.
    const NO_POINT = hex(`02${'00'.repeat(31)}`)
    const SMALL_ORDER = [
      hex(`01${'00'.repeat(31)}`),
      hex('00'.repeat(32)),
      hex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'),
    ]
    const odd: readonly (readonly [string, CoseKey])[] = [
      ['ES256, another y', changed('ES256', -3, lastBitFlipped)],
      ['ES256, x of the field', changed('ES256', -2, () => P256_FIELD)],
      ['ES256, nothing', changed('ES256', -2, (bytes) => bytes.map(() => 0)).set(-3, new Uint8Array(32))],
      ['EdDSA, no point', changed('EdDSA', -2, () => NO_POINT)],
      ['EdDSA, y above the field', changed('EdDSA', -2, () => ED25519_FIELD_AND_TWO)],
      ...SMALL_ORDER.map((bytes, at) => [`EdDSA, small order ${at}`, changed('EdDSA', -2, () => bytes)] as const),
      ['RS256, even modulus', changed('RS256', -1, lastBitFlipped)],
      ['RS256, exponent 1', changed('RS256', -2, () => Uint8Array.of(0, 0, 1))],
      ['RS256, even exponent', changed('RS256', -2, () => Uint8Array.of(1, 0, 0))],
    ]
    for (const [name, key] of odd) {
      expect({ name, sound: isSound(key as Parameters<typeof isSound>[0]) }).toEqual({ name, sound: false })
      expect({ name, outcome: await register('ES256', { key, none: true }) }).toEqual({ name, outcome: 'invalid' })
    }
  })

  test('of RSA may have the exponent 3 or 65537, with leading zeros', () => {
    for (const exponent of ['03', '010001', '00010001', '000003']) {
      const key = changed('RS256', -2, () => hex(exponent))
      expect({ exponent, sound: isSound(key as Parameters<typeof isSound>[0]) }).toEqual({ exponent, sound: true })
    }
  })
})
