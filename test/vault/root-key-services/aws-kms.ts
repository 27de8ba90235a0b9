// AWS KMS over its wire protocol, AWS JSON 1.1. Where each shape comes from:
// - the protocol (POST /, X-Amz-Target, errors as `__type`): https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html
// - Encrypt and Decrypt, their fields, limits and exceptions: the SDK's own model (@aws-sdk/client-kms,
//   dist-types/models), and https://docs.aws.amazon.com/kms/latest/APIReference/API_Decrypt.html
// - that KMS answers its client errors with 400 and often without a message, AccessDeniedException with a capital
//   `Message`, and a wrong context with InvalidCiphertextException: nsmithuk/local-kms, src/handler
// - the Authorization header: https://docs.aws.amazon.com/IAM/latest/UserGuide/create-signed-request.html; that one is
//   there, for this region, service and access key, is checked, the signature itself is not.
// - a wrong clock: InvalidSignatureException, and the SDK reads the Date header (@aws-sdk/core, getSkewCorrectedDate)
// The ciphertext blob is this file's own: AWS does not publish theirs.

import { openAwsKmsKey } from '../../../src/vault/rooms/root/aws-kms.ts'
import type { RootKey } from '../../../src/vault/rooms/root/root-key.ts'
import { json, serve, setEnvironment, type TestService, VersionedKey } from './service.ts'

const REGION = 'eu-central-1'
const ACCESS_KEY = 'AKIDSTRONGROOMTEST00'
const SECRET_KEY = 'an-aws-secret-that-nobody-may-see'
const ACCOUNT = '111122223333'
const AUTHORIZATION = new RegExp(
  `^AWS4-HMAC-SHA256 Credential=${ACCESS_KEY}/[0-9]{8}/${REGION}/kms/aws4_request, SignedHeaders=[a-z0-9;-]*host[a-z0-9;-]*, Signature=[0-9a-f]{64}$`,
)
const SKEW_ALLOWED_MS = 5 * 60_000
const KEY_ID_BYTES = 36

export const AWS_KEY_IDS = {
  first: '1234abcd-12ab-34cd-56ef-1234567890ab',
  second: '0987dcba-09fe-87dc-65ba-ab0987654321',
} as const

export const arnOf = (keyId: string, region = REGION): string => `arn:aws:kms:${region}:${ACCOUNT}:key/${keyId}`

type Body = {
  readonly KeyId?: string
  readonly Plaintext?: string
  readonly CiphertextBlob?: string
  readonly EncryptionContext?: Readonly<Record<string, string>>
}

const refusal = (type: string, message?: string) =>
  json(
    400,
    { __type: type, ...(message === undefined ? {} : { message }) },
    { 'content-type': 'application/x-amz-json-1.1' },
  )

/** The context is a set of pairs: their order is not part of it. */
const boundBytes = (keyId: string, context: Readonly<Record<string, string>> = {}): Buffer =>
  Buffer.from(JSON.stringify([keyId, Object.entries(context).sort(([one], [other]) => (one < other ? -1 : 1))]))

const dateOf = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

export type AwsKms = TestService & {
  /** Sets the service's clock ahead by this much. */
  setSkew(ms: number): void
  readonly contexts: readonly Readonly<Record<string, string>>[]
  openNamed(key: string): Promise<RootKey>
}

export const startAwsKms = async (): Promise<AwsKms> => {
  const keys = new Map<string, VersionedKey>(Object.values(AWS_KEY_IDS).map((id) => [id, new VersionedKey()]))
  const contexts: Readonly<Record<string, string>>[] = []
  let undecryptable = 0
  let skewMs = 0

  const encrypt = (body: Body, keyId: string, key: VersionedKey): Response => {
    const plaintext = Buffer.from(body.Plaintext ?? '', 'base64')
    if (plaintext.length < 1 || plaintext.length > 4096) return refusal('ValidationException')
    const version = Buffer.alloc(4)
    version.writeUInt32BE(key.newest)
    const ciphertext = key.encrypt({ plaintext, bound: boundBytes(keyId, body.EncryptionContext) })
    const CiphertextBlob = Buffer.concat([Buffer.from(keyId), version, ciphertext]).toString('base64')
    return json(200, { CiphertextBlob, EncryptionAlgorithm: 'SYMMETRIC_DEFAULT', KeyId: arnOf(keyId) })
  }

  const decrypt = (body: Body, keyId: string, key: VersionedKey): Response => {
    const blob = Buffer.from(body.CiphertextBlob ?? '', 'base64')
    if (blob.length < 1 || blob.length > 6144) return refusal('ValidationException')
    const encryptedBy = blob.toString('latin1', 0, KEY_ID_BYTES)
    if (encryptedBy !== keyId && keys.has(encryptedBy)) return refusal('IncorrectKeyException')
    const ciphertext = blob.subarray(KEY_ID_BYTES + 4)
    const version = blob.length < KEY_ID_BYTES + 4 ? 0 : blob.readUInt32BE(KEY_ID_BYTES)
    const bound = boundBytes(encryptedBy, body.EncryptionContext)
    const plaintext = key.decrypt({ version, ciphertext, bound })
    if (plaintext === null) {
      undecryptable += 1
      return refusal('InvalidCiphertextException')
    }
    const Plaintext = plaintext.toString('base64')
    return json(200, { EncryptionAlgorithm: 'SYMMETRIC_DEFAULT', KeyId: arnOf(keyId), Plaintext })
  }

  const server = serve(({ request, body: text, behaviour }) => {
    const operation = /^TrentService\.(Encrypt|Decrypt)$/.exec(request.headers.get('x-amz-target') ?? '')?.[1]
    const isJson = request.headers.get('content-type') === 'application/x-amz-json-1.1'
    const isForKms = request.method === 'POST' && new URL(request.url).pathname === '/'
    if (!isForKms || !isJson || operation === undefined) return refusal('UnknownOperationException')
    server.calls[operation === 'Encrypt' ? 'encrypt' : 'decrypt'] += 1
    const authorization = request.headers.get('authorization') ?? ''
    if (!AUTHORIZATION.test(authorization))
      return refusal('UnrecognizedClientException', 'The security token is invalid.')
    const now = Date.now() + skewMs
    const signedAt = dateOf(request.headers.get('x-amz-date') ?? '')
    if (!(Math.abs(now - signedAt) <= SKEW_ALLOWED_MS)) {
      const date = { date: new Date(now).toUTCString() }
      return json(400, { __type: 'InvalidSignatureException', message: 'Signature expired' }, date)
    }
    if (behaviour === 'failing') return json(500, { __type: 'KMSInternalException' })
    if (behaviour === 'throttling') return refusal('ThrottlingException', 'Rate exceeded')
    if (behaviour === 'denying') return json(400, { __type: 'AccessDeniedException', Message: `User ${SECRET_KEY}` })
    if (behaviour === 'disabled') return refusal('DisabledException', 'it is disabled.')
    const body: Body = JSON.parse(text)
    const keyId = body.KeyId?.replace(/^arn:aws:kms:[a-z0-9-]+:[0-9]{12}:key\//, '') ?? ''
    const key = keys.get(keyId)
    if (key === undefined) return refusal('NotFoundException', `Key '${arnOf(keyId)}' does not exist`)
    contexts.push(body.EncryptionContext ?? {})
    return operation === 'Encrypt' ? encrypt(body, keyId, key) : decrypt(body, keyId, key)
  })

  const restore = setEnvironment({
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: ACCESS_KEY,
    AWS_SECRET_ACCESS_KEY: SECRET_KEY,
    AWS_ENDPOINT_URL_KMS: server.url,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
  })
  return {
    name: 'AWS KMS',
    calls: server.calls,
    heard: server.heard,
    behave: server.behave,
    undecryptable: () => undecryptable,
    contexts,
    told: { mark: 2, versions: false },
    rotate: () => keys.get(AWS_KEY_IDS.first)?.rotate(),
    setSkew: (ms) => {
      skewMs = ms
    },
    openNamed: (key) => openAwsKmsKey({ key }),
    open: ({ key = 'first', limits } = {}) =>
      openAwsKmsKey({ key: arnOf(AWS_KEY_IDS[key]), ...(limits === undefined ? {} : { limits }) }),
    stop: async () => {
      restore()
      await server.stop()
    },
  }
}
