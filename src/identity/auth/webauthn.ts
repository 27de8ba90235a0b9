// The two ceremonies of WebAuthn (Web Authentication Level 3, §7.1 and §7.2). This file knows no users and no tables.
// The library checks formats and signatures; cose-key.ts is stricter where the library is lenient. Our own rules are
// checked last, so that a refusal by one of them means that everything else was right:
// - the authenticator verified the user (PIN or biometrics), because the passkey is the whole login;
// - the page was not in a frame of another site;
// - the attestation names no manufacturer: we ask for none, and parsing certificate chains is not worth the risk.

import { algorithmOf, type CborMap, EDDSA, ES256, isSound, isStrictSignature, mapOf, RS256 } from './cose-key.ts'

/** The fields of RegistrationResponseJSON that we read. Bytes are base64url without padding. */
export type RegistrationJson = {
  readonly id: string
  readonly rawId?: string
  readonly type: 'public-key'
  readonly response: { readonly clientDataJSON: string; readonly attestationObject: string }
}

/** The fields of AuthenticationResponseJSON that we read. */
export type AssertionJson = {
  readonly id: string
  readonly rawId?: string
  readonly type: 'public-key'
  readonly response: {
    readonly clientDataJSON: string
    readonly authenticatorData: string
    readonly signature: string
    readonly userHandle?: string
  }
}

/** Loaded with the first passkey: its readers of certificates, of which we use none, take 0.1 s of CPU and more. */
const loadLibrary = () => import('@simplewebauthn/server')

type Expected = {
  readonly rpId: string
  /** base64url. */
  readonly challenge: string
  readonly isOrigin: (origin: string) => boolean
}

export type Credential = {
  readonly credentialId: Uint8Array
  /** COSE_Key. */
  readonly publicKey: Uint8Array
  readonly signCount: number
  readonly backupEligible: boolean
}

type NewCredential = Credential & { readonly aaguid: string; readonly backedUp: boolean }

/** `invalid` is everything else: malformed, a wrong signature, another RP ID or ceremony. */
export type CeremonyRefusal =
  | 'invalid'
  | 'challenge'
  | 'origin'
  | 'attestation'
  | 'algorithm'
  | 'framed'
  | 'user_verification'
  | 'counter'

type Verified<Result> = { readonly verified: Result } | { readonly refused: CeremonyRefusal }

/** In order of preference (RFC 8152 and RFC 8812). */
export const ALGORITHMS = [ES256, EDDSA, RS256] as const

/** WebAuthn §4, "Credential ID". */
const CREDENTIAL_ID_BYTES_MAX = 1023

const refused = (refusal: CeremonyRefusal): { readonly refused: CeremonyRefusal } => ({ refused: refusal })

const bytesOf = (base64url: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(base64url, 'base64url'))

type ClientData = {
  readonly challenge: string
  readonly origin: string
  readonly topOrigin: string | null
  readonly framed: boolean
}

const CHALLENGE = /^[A-Za-z0-9_-]{22,1024}$/

/** WebAuthn §5.8.1; null if it is invalid. */
const readClientData = (base64url: string): ClientData | null => {
  try {
    const { challenge, origin, crossOrigin, topOrigin } = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(base64url)),
    )
    if (typeof challenge !== 'string' || !CHALLENGE.test(challenge) || typeof origin !== 'string') return null
    const framed = (crossOrigin ?? false) !== false || (topOrigin ?? null) !== null
    return { challenge, origin, topOrigin: typeof topOrigin === 'string' ? topOrigin : null, framed }
  } catch {
    return null
  }
}

/** The challenge that an answer names, in base64url. The caller finds the stored challenge by it. */
export const challengeOf = (answer: { readonly response: { readonly clientDataJSON: string } }): string | null =>
  readClientData(answer.response.clientDataJSON)?.challenge ?? null

const checkClientData = (clientDataJSON: string, expected: Expected): Verified<ClientData> => {
  const client = readClientData(clientDataJSON)
  if (client === null) return refused('invalid')
  if (client.challenge !== expected.challenge) return refused('challenge')
  return expected.isOrigin(client.origin) ? { verified: client } : refused('origin')
}

/** Whether the attestation is `none`, or `packed` and signed by the new key itself (WebAuthn §8.2, §8.7). */
const isUnattested = (object: CborMap): boolean => {
  const [format, statement] = [object.get('fmt'), object.get('attStmt')]
  return format === 'none' || (format === 'packed' && statement instanceof Map && !statement.has('x5c'))
}

/** §8.2: `alg` must be the key's, and no other field may be there. The library accepts any `alg` of the same hash. */
const isOwnStatement = (object: CborMap, algorithm: number): boolean => {
  const statement = object.get('attStmt')
  if (object.get('fmt') === 'none') return true
  if (!(statement instanceof Map) || statement.size !== 2 || statement.get('alg') !== algorithm) return false
  const signature: unknown = statement.get('sig')
  return signature instanceof Uint8Array && isStrictSignature(algorithm, signature)
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.from(a).equals(b)

/** The library throws only because of its input, so each exception is a refusal. */
const attempt = async <Result>(check: () => Promise<Verified<Result>>): Promise<Verified<Result>> => {
  try {
    return await check()
  } catch {
    return refused('invalid')
  }
}

/** Checks a new credential (WebAuthn §7.1). The caller checks that no user has registered it already. */
export const verifyRegistration = async (
  answer: RegistrationJson,
  expected: Expected,
): Promise<Verified<NewCredential>> => {
  const { verifyRegistrationResponse } = await loadLibrary()
  return attempt(async () => {
    const { id, type, response } = answer
    const client = checkClientData(response.clientDataJSON, expected)
    if ('refused' in client) return client
    const object = mapOf(bytesOf(response.attestationObject))
    if (!isUnattested(object)) return refused('attestation')
    const result = await verifyRegistrationResponse({
      response: { id, rawId: answer.rawId ?? id, type, response, clientExtensionResults: {} },
      expectedChallenge: expected.challenge,
      expectedOrigin: client.verified.origin,
      expectedRPID: expected.rpId,
      requireUserVerification: false,
      supportedAlgorithmIDs: [...ALGORITHMS],
    })
    if (!result.verified) return refused('invalid')
    const { credential, aaguid, credentialDeviceType, credentialBackedUp, userVerified } = result.registrationInfo
    const credentialId = bytesOf(credential.id)
    const { length } = credentialId
    if (length === 0 || length > CREDENTIAL_ID_BYTES_MAX || !isSame(credentialId, bytesOf(id)))
      return refused('invalid')
    const key = mapOf(credential.publicKey)
    const algorithm = algorithmOf(key)
    if (algorithm === null) return refused('algorithm')
    if (!isSound(key) || !isOwnStatement(object, algorithm)) return refused('invalid')
    if (client.verified.framed) return refused('framed')
    if (!userVerified) return refused('user_verification')
    return {
      verified: {
        credentialId,
        publicKey: credential.publicKey,
        signCount: credential.counter,
        aaguid,
        backupEligible: credentialDeviceType === 'multiDevice',
        backedUp: credentialBackedUp,
      },
    }
  })
}

/** Checks an assertion by a known credential (WebAuthn §7.2). The caller checks whose credential it is. */
export const verifyAssertion = async (
  answer: AssertionJson,
  expected: Expected,
  credential: Credential,
): Promise<Verified<{ readonly signCount: number; readonly backedUp: boolean }>> => {
  const { verifyAuthenticationResponse } = await loadLibrary()
  return attempt(async () => {
    const { id, type, response } = answer
    const client = checkClientData(response.clientDataJSON, expected)
    if ('refused' in client) return client
    const { clientDataJSON, authenticatorData, signature } = response
    const algorithm = algorithmOf(mapOf(new Uint8Array(credential.publicKey)))
    if (!isStrictSignature(algorithm, bytesOf(signature))) return refused('invalid')
    const result = await verifyAuthenticationResponse({
      response: {
        id,
        rawId: answer.rawId ?? id,
        type,
        response: { clientDataJSON, authenticatorData, signature },
        clientExtensionResults: {},
      },
      expectedChallenge: expected.challenge,
      expectedOrigin: client.verified.origin,
      ...(client.verified.topOrigin === null ? {} : { expectedTopOrigin: client.verified.topOrigin }),
      expectedRPID: expected.rpId,
      requireUserVerification: false,
      credential: {
        id: Buffer.from(credential.credentialId).toString('base64url'),
        publicKey: new Uint8Array(credential.publicKey),
        counter: 0,
      },
    })
    if (!result.verified) return refused('invalid')
    const { newCounter, userVerified, credentialDeviceType, credentialBackedUp } = result.authenticationInfo
    // Whether a key can be backed up is fixed when it is created (§6.1.3).
    if ((credentialDeviceType === 'multiDevice') !== credential.backupEligible) return refused('invalid')
    if (client.verified.framed) return refused('framed')
    if (!userVerified) return refused('user_verification')
    const counts = newCounter !== 0 || credential.signCount !== 0
    if (counts && newCounter <= credential.signCount) return refused('counter')
    return { verified: { signCount: newCounter, backedUp: credentialBackedUp } }
  })
}
