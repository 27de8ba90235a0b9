// A symmetric key in AWS KMS. Region, credentials and endpoint come from where AWS's own tools take them.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_Encrypt.html, …/API_Decrypt.html
//
// The identity is the encryption context, as a map of names and values. Nothing in it is secret: KMS logs it in the
// clear, and IAM policies can test it. A multi-Region key has one id in all regions, and each of its replicas decrypts:
// so the id alone names a key.

import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import { type KeyService, KeyServiceError, LIMITS, type Limits, rootKeyOf, type Trouble } from './key-service.ts'
import type { RootKey } from './root-key.ts'

const NAME = 'AWS KMS'
const MARK = 2

/** A UUID, or `mrk-` and 32 digits. An alias can be pointed at another key, so none is accepted. */
const KEY =
  /^(?:arn:aws[a-z-]*:kms:([a-z0-9-]+):[0-9]{12}:key\/)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})$/

/** KMS keeps all versions of a key's material and does not say which one it used. */
const UNTOLD_VERSION = 0

const contextOf = (identity: RowIdentity): Record<string, string> =>
  Object.fromEntries(
    [
      ['service', 'strongroom'],
      ['purpose', identity.purpose],
      ['project', identity.projectId],
      ['keyring', identity.keyringId],
      ['wallet', identity.walletId],
      ['row', identity.rowId],
    ].filter(([, value]) => value !== ''),
  )

const THROTTLED = new Set(['ThrottlingException', 'LimitExceededException', 'TooManyRequestsException'])
/** The SDK and KMS name these without a status, or with one that says less than the name. */
const FAILING = new Set(['KMSInternalException', 'DependencyTimeoutException', 'KeyUnavailableException'])

type SdkError = {
  readonly name?: unknown
  readonly $metadata?: { readonly httpStatusCode?: unknown; readonly clockSkewCorrected?: unknown }
}

const troubleOf = (error: SdkError, name: string): Trouble => {
  const status = error.$metadata?.httpStatusCode
  if (THROTTLED.has(name) || status === 429) return 'throttled'
  // The SDK has just learnt by how much this machine's clock is wrong; the next attempt is signed with the right time.
  if (error.$metadata?.clockSkewCorrected === true) return 'failing'
  if (name === 'CredentialsProviderError') return 'refused'
  if (FAILING.has(name) || typeof status !== 'number' || status >= 500) return 'failing'
  return status >= 400 ? 'refused' : 'garbled'
}

/** Throws what an error of the SDK means: with its name only, as the error may contain the request. */
const fail = (error: unknown): never => {
  const fields: SdkError = typeof error === 'object' && error !== null ? error : {}
  const name = typeof fields.name === 'string' ? fields.name : ''
  if (name === 'InvalidCiphertextException') throw new EnvelopeError('authentication failed')
  if (name === 'IncorrectKeyException') throw new EnvelopeError('unknown key')
  throw new KeyServiceError({ service: NAME, trouble: troubleOf(fields, name), word: name })
}

const garbled = () => new KeyServiceError({ service: NAME, trouble: 'garbled' })

type Key = { readonly key: string; readonly keyId: string; readonly region: string | undefined }

const createService = async (parsed: Key): Promise<KeyService> => {
  const { DecryptCommand, EncryptCommand, KMSClient } = await import('@aws-sdk/client-kms')
  // Attempts are counted in one place, for all services alike.
  const client = new KMSClient({ maxAttempts: 1, ...(parsed.region === undefined ? {} : { region: parsed.region }) })
  await client.config.region().catch(() => {
    throw new Error(
      'ROOT_KEY names a key of AWS KMS by its id: AWS_REGION must say where it is, or ROOT_KEY be an ARN.',
    )
  })
  return {
    name: NAME,
    id: `aws-kms:${parsed.keyId}`,
    mark: MARK,
    encrypt: async ({ key, identity, signal }) => {
      const command = new EncryptCommand({ KeyId: parsed.key, Plaintext: key, EncryptionContext: contextOf(identity) })
      const answer = await client.send(command, { abortSignal: signal }).catch(fail)
      if (!answer.CiphertextBlob?.length) throw garbled()
      return { ciphertext: answer.CiphertextBlob, keyVersion: UNTOLD_VERSION }
    },
    decrypt: async ({ ciphertext, identity, signal }) => {
      const EncryptionContext = contextOf(identity)
      const command = new DecryptCommand({ KeyId: parsed.key, CiphertextBlob: ciphertext, EncryptionContext })
      const answer = await client.send(command, { abortSignal: signal }).catch(fail)
      if (!answer.Plaintext?.length) throw garbled()
      return answer.Plaintext
    },
  }
}

/** @param input.key a key's id or ARN. @throws Error if the setting is wrong. It asks nothing of KMS yet. */
export const openAwsKmsKey = async (input: { readonly key: string; readonly limits?: Limits }): Promise<RootKey> => {
  const [, region, keyId] = KEY.exec(input.key) ?? []
  if (keyId === undefined) throw new Error('ROOT_KEY must be aws-kms: and the id or the ARN of a key, not an alias.')
  return rootKeyOf(await createService({ key: input.key, keyId, region }), input.limits ?? LIMITS)
}
