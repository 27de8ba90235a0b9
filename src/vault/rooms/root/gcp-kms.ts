// A symmetric key (ENCRYPT_DECRYPT) in Google Cloud KMS, over REST. Credentials are Google's Application Default ones.
// https://docs.cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys/encrypt, …/decrypt
//
// The identity is the additional authenticated data. Checksums (CRC-32C) go with all values in both directions:
// https://docs.cloud.google.com/kms/docs/data-integrity-guidelines

import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import {
  bindingOf,
  type KeyService,
  KeyServiceError,
  LIMITS,
  type Limits,
  rootKeyOf,
  type Trouble,
} from './key-service.ts'
import type { RootKey } from './root-key.ts'

const NAME = 'Google Cloud KMS'
const MARK = 3

const KEY_NAME = /^projects\/[^/\s]+\/locations\/[^/\s]+\/keyRings\/[^/\s]+\/cryptoKeys\/[^/\s]+$/
const VERSION_NAME = /\/cryptoKeyVersions\/([1-9][0-9]{0,8})$/

/** Values of google.rpc.Code that are refusals. All other failures may pass by themselves. */
const REFUSALS: ReadonlyMap<unknown, string> = new Map([
  [3, 'INVALID_ARGUMENT'],
  [5, 'NOT_FOUND'],
  [7, 'PERMISSION_DENIED'],
  [9, 'FAILED_PRECONDITION'],
  [12, 'UNIMPLEMENTED'],
  [16, 'UNAUTHENTICATED'],
])
const INVALID_ARGUMENT = 3
const RESOURCE_EXHAUSTED = 8

/** Distinguishes an argument that was damaged on its way from one that is refused. */
const OF_A_CHECKSUM = /checksum|crc32c/i

const troubled = (trouble: Trouble, word?: string) => new KeyServiceError({ service: NAME, trouble, word })

const fieldOf = (error: unknown, name: 'code' | 'httpStatusCode'): unknown =>
  typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined

/** What an error of the SDK means. Only its code is passed on, as the error may contain the request with its token. */
const meaningOf = (error: unknown): KeyServiceError => {
  const code = fieldOf(error, 'code')
  // The service answers in JSON. Anything else with a status is from a proxy, whichever code the SDK makes of it.
  if (error instanceof Error && error.cause instanceof SyntaxError) {
    return troubled(fieldOf(error, 'httpStatusCode') === undefined ? 'garbled' : 'failing')
  }
  if (code === INVALID_ARGUMENT && error instanceof Error && OF_A_CHECKSUM.test(error.message)) {
    return troubled('garbled')
  }
  if (code === RESOURCE_EXHAUSTED) return troubled('throttled')
  const word = REFUSALS.get(code)
  return word === undefined ? troubled('failing') : troubled('refused', word)
}

type Bytes = Uint8Array | string | null | undefined
type Checksum = { readonly value?: unknown } | null | undefined

/** @throws KeyServiceError if the bytes are not those that the service sent. */
const intact = (bytes: Bytes, checksum: Checksum): Uint8Array => {
  // Over REST the SDK gives bytes, and a 64-bit number as text.
  if (!(bytes instanceof Uint8Array) || String(checksum?.value) !== String(crc32c(bytes))) throw troubled('garbled')
  return bytes
}

/** A Buffer, because the SDK takes the wrong bytes of other views (proto3-json-serializer 4.1.0, bytesToProto3JSON). */
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

type Input = {
  readonly keyName: string
  /** A port on this machine with plain HTTP, instead of Google's address. */
  readonly localPort?: number
  readonly limits?: Limits
}

const createClient = async (input: Input) => {
  const { KeyManagementServiceClient } = await import('@google-cloud/kms')
  const local = { apiEndpoint: '127.0.0.1', port: input.localPort, protocol: 'http' }
  return new KeyManagementServiceClient({ fallback: true, ...(input.localPort === undefined ? {} : local) })
}

type Client = Awaited<ReturnType<typeof createClient>>

/** Attempts are counted in one place, for all services alike. */
const once = (input: { readonly signal: AbortSignal; readonly limits: Limits }) => ({
  retry: null,
  timeout: input.limits.attemptTimeoutMs,
  signal: input.signal,
})

const boundTo = (identity: RowIdentity) => {
  const additionalAuthenticatedData = asBuffer(bindingOf(identity))
  const additionalAuthenticatedDataCrc32c = { value: crc32c(additionalAuthenticatedData) }
  return { additionalAuthenticatedData, additionalAuthenticatedDataCrc32c }
}

const createService = (client: Client, input: { readonly keyName: string; readonly limits: Limits }): KeyService => ({
  name: NAME,
  id: `gcp-kms:${input.keyName}`,
  mark: MARK,
  encrypt: async ({ key, identity, signal }) => {
    const plaintextCrc32c = { value: crc32c(key) }
    const request = { name: input.keyName, plaintext: asBuffer(key), plaintextCrc32c, ...boundTo(identity) }
    const [answer] = await client.encrypt(request, once({ ...input, signal })).catch((error: unknown) => {
      throw meaningOf(error)
    })
    const [, version] = VERSION_NAME.exec(answer.name ?? '') ?? []
    // False means that the service got no checksum: it was lost on the way, and perhaps more was.
    const verified = answer.verifiedPlaintextCrc32c && answer.verifiedAdditionalAuthenticatedDataCrc32c
    if (!verified || version === undefined) throw troubled('garbled')
    return { ciphertext: intact(answer.ciphertext, answer.ciphertextCrc32c), keyVersion: Number(version) }
  },
  decrypt: async ({ ciphertext, identity, signal }) => {
    const ciphertextCrc32c = { value: crc32c(ciphertext) }
    const request = { name: input.keyName, ciphertext: asBuffer(ciphertext), ciphertextCrc32c, ...boundTo(identity) }
    const [answer] = await client.decrypt(request, once({ ...input, signal })).catch((error: unknown) => {
      const meaning = meaningOf(error)
      // An argument that the service refuses is the ciphertext or its identity.
      const isForged = fieldOf(error, 'code') === INVALID_ARGUMENT && meaning.trouble === 'refused'
      throw isForged ? new EnvelopeError('authentication failed') : meaning
    })
    return intact(answer.plaintext, answer.plaintextCrc32c)
  },
})

/** @throws Error if the setting is wrong or there are no credentials. It asks nothing of KMS yet. */
export const openGcpKmsKey = async (input: Input): Promise<RootKey> => {
  const { keyName, limits = LIMITS } = input
  if (!KEY_NAME.test(keyName)) {
    throw new Error('ROOT_KEY must be gcp-kms:projects/…/locations/…/keyRings/…/cryptoKeys/…, without a version.')
  }
  const client = await createClient(input)
  // A client that finds no credentials never searches again, so this must not wait for the first request.
  await client.initialize().catch(() => {
    throw new Error('ROOT_KEY is a key of Google Cloud KMS, and its Application Default Credentials cannot be loaded.')
  })
  return rootKeyOf(createService(client, { keyName, limits }), limits)
}

/** Castagnoli's polynomial, its bits reversed. */
const POLYNOMIAL = 0x82f63b78

/** CRC-32C (RFC 3720 §12.1, appendix B.4), bit by bit: it runs over a few hundred bytes at a time. */
export const crc32c = (bytes: Uint8Array): number => {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ ((crc & 1) === 1 ? POLYNOMIAL : 0)
  }
  return (crc ^ 0xffffffff) >>> 0
}
