// Envelopes: the form of every secret in the database. The layout is frozen; a new one gets a new version.
//
//   version(1) = 1 | algorithm(1) = 1 (AES-256-GCM) | key id(4, big-endian) | nonce(12) | ciphertext(n) | tag(16)
//
// key id      in outer layers the version of the project key (from 1) that sealed it. 0 if the row itself says which
//             key: inner layers, and what the root key, the service key or the identity key seals.
// nonce       random. NIST SP 800-38D §8.3 allows 2^32 with one key. A project's key seals a few rows for each owner.
// additional  the six header bytes and the identity of the row. A value does not open if its header, its row or a bound
// data        field of the row changed. The error says the kind of failure and nothing of the content.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { AppError } from '../errors.ts'
import { type BoundFields, encodeFields, moved, textsOf } from './bytes.ts'

const VERSION = 1
const ALGORITHM_AES_256_GCM = 1
const HEADER_BYTES = 6
const NONCE_BYTES = 12
export const TAG_BYTES = 16
const CIPHERTEXT_OFFSET = HEADER_BYTES + NONCE_BYTES
const CIPHER = 'aes-256-gcm'

/** The key id of everything but outer layers. */
export const NO_KEY_ID = 0

/** The row that a sealed value belongs to. It opens in no other. */
export type RowIdentity = {
  readonly purpose: string
  readonly projectId: string
  /** '' if the row belongs to no keyring or no wallet. */
  readonly keyringId: string
  readonly walletId: string
  /** The primary key within its table. */
  readonly rowId: string
  /** What else is in the row, or in the row that it belongs to. Absent: nothing that is bound. */
  readonly bound?: BoundFields
}

type Fault = 'truncated' | 'unknown version' | 'unknown algorithm' | 'unknown key' | 'authentication failed'

/** A sealed value does not open with this key, or for this row, or at all. */
export class EnvelopeError extends AppError {
  readonly fault: Fault
  constructor(fault: Fault) {
    super('internal', `A sealed value did not open: ${fault}.`)
    this.name = 'EnvelopeError'
    this.fault = fault
  }
}

type Cipher = { readonly key: Uint8Array; readonly nonce: Uint8Array; readonly additionalData: Uint8Array }

/** AES-256-GCM (NIST SP 800-38D). @returns ciphertext, then the 16-byte tag. */
export const encrypt = (input: Cipher & { readonly plaintext: Uint8Array }): Uint8Array => {
  const cipher = createCipheriv(CIPHER, input.key, input.nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(input.additionalData)
  return Buffer.concat([cipher.update(input.plaintext), cipher.final(), cipher.getAuthTag()])
}

/** The inverse of `encrypt`. @returns bytes that the caller zeroes. */
export const decrypt = (input: Cipher & { readonly ciphertext: Uint8Array }): Uint8Array => {
  const tagOffset = input.ciphertext.length - TAG_BYTES
  if (tagOffset < 0) throw new EnvelopeError('truncated')
  const decipher = createDecipheriv(CIPHER, input.key, input.nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(input.additionalData)
  decipher.setAuthTag(input.ciphertext.subarray(tagOffset))
  const plaintext = moved(decipher.update(input.ciphertext.subarray(0, tagOffset)))
  try {
    decipher.final()
  } catch {
    plaintext.fill(0)
    throw new EnvelopeError('authentication failed')
  }
  return plaintext
}

/** The fields of an identity, for `encodeFields`. */
const fieldsOf = ({ projectId, keyringId, walletId, purpose, rowId, bound = {} }: RowIdentity): readonly string[] => [
  projectId,
  keyringId,
  walletId,
  purpose,
  rowId,
  ...textsOf(bound),
]

/** An identity as bytes, for what is sealed without a header. */
export const encodeIdentity = (identity: RowIdentity): Uint8Array => encodeFields(fieldsOf(identity))

const additionalDataOf = (header: Uint8Array, identity: RowIdentity): Uint8Array =>
  encodeFields([header, ...fieldsOf(identity)])

/** @param input.key 32 bytes, zeroed by the caller; so is `plaintext`. */
export const seal = (input: {
  readonly key: Uint8Array
  readonly keyId: number
  readonly identity: RowIdentity
  readonly plaintext: Uint8Array
}): Uint8Array => {
  const header = Buffer.from([VERSION, ALGORITHM_AES_256_GCM, 0, 0, 0, 0])
  header.writeUInt32BE(input.keyId, 2)
  const nonce = randomBytes(NONCE_BYTES)
  const additionalData = additionalDataOf(header, input.identity)
  const ciphertext = encrypt({ key: input.key, nonce, additionalData, plaintext: input.plaintext })
  return Buffer.concat([header, nonce, ciphertext])
}

/** @throws EnvelopeError if it is not an envelope of a known version. */
export const keyIdOf = (sealed: Uint8Array): number => {
  if (sealed.length < CIPHERTEXT_OFFSET + TAG_BYTES) throw new EnvelopeError('truncated')
  if (sealed[0] !== VERSION) throw new EnvelopeError('unknown version')
  if (sealed[1] !== ALGORITHM_AES_256_GCM) throw new EnvelopeError('unknown algorithm')
  return new DataView(sealed.buffer, sealed.byteOffset).getUint32(2)
}

/** @param input.keyId the id of `key`. @returns bytes that the caller zeroes. @throws EnvelopeError */
export const open = (input: {
  readonly key: Uint8Array
  readonly keyId: number
  readonly identity: RowIdentity
  readonly sealed: Uint8Array
}): Uint8Array => {
  if (keyIdOf(input.sealed) !== input.keyId) throw new EnvelopeError('unknown key')
  return decrypt({
    key: input.key,
    nonce: input.sealed.subarray(HEADER_BYTES, CIPHERTEXT_OFFSET),
    additionalData: additionalDataOf(input.sealed.subarray(0, HEADER_BYTES), input.identity),
    ciphertext: input.sealed.subarray(CIPHERTEXT_OFFSET),
  })
}
