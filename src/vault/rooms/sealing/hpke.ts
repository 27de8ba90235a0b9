// HPKE (RFC 9180), mode base, for one message: the public key seals, and the private key opens. The suite is
// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM. A sealed message is:
//
//   encapsulated key(32) | ciphertext(n) | tag(16)
//
// It is here, and not a package, because the platform's X25519 keeps private keys out of the heap and clears them, and
// takes less than half the time. test/vault/hpke.test.ts compares it with another implementation in both directions.

import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject, randomBytes } from 'node:crypto'
import { HeldKeys, joined, moved } from '../../../platform/sealing/bytes.ts'
import { decrypt, EnvelopeError, encrypt, TAG_BYTES } from '../../../platform/sealing/envelope.ts'
import { hmac, KEY_BYTES } from '../../../platform/sealing/kdf.ts'

const NONCE_BYTES = 12
const NOTHING: Uint8Array = new Uint8Array(0)

/** DER of X25519 keys but for their 32 bytes (RFC 8410): PKCS #8, and SubjectPublicKeyInfo. */
const PRIVATE_KEY_DER = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PUBLIC_KEY_DER = Buffer.from('302a300506032b656e032100', 'hex')

/** §4.1: "KEM", then the KEM's number. §5.1: "HPKE", then the numbers of KEM, KDF and AEAD. */
const KEM_SUITE = Buffer.concat([Buffer.from('KEM'), Buffer.from('0020', 'hex')])
const HPKE_SUITE = Buffer.concat([Buffer.from('HPKE'), Buffer.from('002000010002', 'hex')])

/** The platform's key object copies the key, and clears it when it is garbage-collected. So each use makes its own. */
const privateKeyOf = (bytes: Uint8Array): KeyObject => {
  using keys = new HeldKeys()
  const key = keys.hold(joined([PRIVATE_KEY_DER, bytes]))
  return createPrivateKey({ key: Buffer.from(key.buffer), format: 'der', type: 'pkcs8' })
}

const publicKeyFrom = (bytes: Uint8Array) =>
  createPublicKey({ key: Buffer.concat([PUBLIC_KEY_DER, bytes]), format: 'der', type: 'spki' })

const publicHalfOf = (privateKey: KeyObject): Uint8Array =>
  Uint8Array.from(createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(PUBLIC_KEY_DER.length))

/** The public key (32 bytes) of a private one, which is any 32 bytes. */
export const publicKeyOf = (privateKey: Uint8Array): Uint8Array => publicHalfOf(privateKeyOf(privateKey))

const labeledExtract = (suite: Uint8Array, label: string, { salt = NOTHING, key = NOTHING } = {}): Uint8Array => {
  using keys = new HeldKeys()
  const message = keys.hold(joined([Buffer.from('HPKE-v1'), suite, Buffer.from(label), key]))
  return hmac({ key: salt, message })
}

/** At most one block of HKDF-Expand. */
const labeledExpand = (
  suite: Uint8Array,
  label: string,
  input: { readonly key: Uint8Array; readonly info: Uint8Array; readonly length: number },
): Uint8Array => {
  const { key, info, length } = input
  const block = Buffer.from([1])
  const labeled = [Buffer.from([0, length]), Buffer.from('HPKE-v1'), suite, Buffer.from(label), info, block]
  return hmac({ key, message: Buffer.concat(labeled) }).subarray(0, length)
}

/** §5.1, without a pre-shared key: everything of it but the secret is the same for all messages of one `info`. */
const contextOf = (info: Uint8Array): Uint8Array =>
  Buffer.concat([
    Buffer.from([0]),
    labeledExtract(HPKE_SUITE, 'psk_id_hash'),
    labeledExtract(HPKE_SUITE, 'info_hash', { key: info }),
  ])

/** X25519 of both. @throws EnvelopeError for a public key of small order: its result is no secret. */
const agree = (privateKey: KeyObject, publicKey: Uint8Array): Uint8Array => {
  try {
    return moved(diffieHellman({ privateKey, publicKey: publicKeyFrom(publicKey) }))
  } catch {
    throw new EnvelopeError('authentication failed')
  }
}

type Agreement = {
  readonly shared: Uint8Array
  readonly encapsulated: Uint8Array
  readonly publicKey: Uint8Array
  readonly info: Uint8Array
}

/** Key and nonce of the first message. `keys` holds what is secret on the way there. */
const scheduleOf = ({ shared, encapsulated, publicKey, info }: Agreement, keys: HeldKeys) => {
  const kemContext = Buffer.concat([encapsulated, publicKey])
  const extracted = keys.hold(labeledExtract(KEM_SUITE, 'eae_prk', { key: shared }))
  const agreed = keys.hold(
    labeledExpand(KEM_SUITE, 'shared_secret', { key: extracted, info: kemContext, length: KEY_BYTES }),
  )
  const secret = keys.hold(labeledExtract(HPKE_SUITE, 'secret', { salt: agreed }))
  const context = contextOf(info)
  return {
    key: keys.hold(labeledExpand(HPKE_SUITE, 'key', { key: secret, info: context, length: KEY_BYTES })),
    nonce: labeledExpand(HPKE_SUITE, 'base_nonce', { key: secret, info: context, length: NONCE_BYTES }),
    additionalData: NOTHING,
  }
}

/** @param input.publicKey 32 bytes. @param input.info without it the message does not open. */
export const sealTo = (input: {
  readonly publicKey: Uint8Array
  readonly info: Uint8Array
  readonly plaintext: Uint8Array
}): Uint8Array => {
  using keys = new HeldKeys()
  const { publicKey, info, plaintext } = input
  const ephemeral = privateKeyOf(keys.hold(randomBytes(KEY_BYTES)))
  const encapsulated = publicHalfOf(ephemeral)
  const shared = keys.hold(agree(ephemeral, publicKey))
  const ciphertext = encrypt({ ...scheduleOf({ shared, encapsulated, publicKey, info }, keys), plaintext })
  return Buffer.concat([encapsulated, ciphertext])
}

/** The inverse of `sealTo`. @returns bytes that the caller zeroes. @throws EnvelopeError */
export const openSealedTo = (input: {
  readonly privateKey: Uint8Array
  readonly info: Uint8Array
  readonly sealed: Uint8Array
}): Uint8Array => {
  using keys = new HeldKeys()
  const { info, sealed } = input
  if (sealed.length < KEY_BYTES + TAG_BYTES) throw new EnvelopeError('truncated')
  const [encapsulated, ciphertext] = [sealed.subarray(0, KEY_BYTES), sealed.subarray(KEY_BYTES)]
  const privateKey = privateKeyOf(input.privateKey)
  const publicKey = publicHalfOf(privateKey)
  const shared = keys.hold(agree(privateKey, encapsulated))
  return decrypt({ ...scheduleOf({ shared, encapsulated, publicKey, info }, keys), ciphertext })
}
