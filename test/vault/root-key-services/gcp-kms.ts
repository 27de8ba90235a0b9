// Google Cloud KMS over REST. Where each shape comes from:
// - paths (`/v1/{name}:encrypt`) and messages: google/cloud/kms/v1/service.proto, which @google-cloud/kms carries, and
//   https://docs.cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys/encrypt
// - bytes as base64 (both alphabets are accepted) and 64-bit numbers as text: https://protobuf.dev/programming-guides/json/
// - errors as `{ error: { code, message, status } }`: https://cloud.google.com/apis/design/errors
// - which code for what (a wrong checksum or an undecryptable value INVALID_ARGUMENT, a version that is not enabled
//   FAILED_PRECONDITION): GoogleCloudPlatform/kms-integrations, fakekms/{symmetric,asymmetric}_rpcs.go
// - the bearer token, a JWT signed by the service account: https://google.aip.dev/auth/4111; its signature, issuer and
//   times are checked here.
// The ciphertext is this file's own: Google does not publish theirs.

import { createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openGcpKmsKey } from '../../../src/vault/rooms/root/gcp-kms.ts'
import type { RootKey } from '../../../src/vault/rooms/root/root-key.ts'
import { json, serve, setEnvironment, type TestService, VersionedKey } from './service.ts'

const ACCOUNT = 'strongroom@a-project.iam.gserviceaccount.com'
const RING = 'projects/a-project/locations/europe-west3/keyRings/strongroom'

export const GCP_KEY_NAMES = { first: `${RING}/cryptoKeys/root`, second: `${RING}/cryptoKeys/other` } as const

const CODES = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  UNAVAILABLE: 503,
} as const

const refusal = (status: keyof typeof CODES, message: string) =>
  json(CODES[status], { error: { code: CODES[status], message, status } })

/** The table-driven form, so that the code under test does not check itself. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let entry = index
  for (let bit = 0; bit < 8; bit += 1) entry = entry & 1 ? (entry >>> 1) ^ 0x82f63b78 : entry >>> 1
  return entry >>> 0
})
export const tableCrc32c = (bytes: Uint8Array): number =>
  (bytes.reduce((crc, byte) => ((crc >>> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0)) >>> 0, 0xffffffff) ^
    0xffffffff) >>>
  0

type Body = Readonly<Record<string, string | undefined>>

const bytes = (text = ''): Buffer => Buffer.from(text.replaceAll('-', '+').replaceAll('_', '/'), 'base64')

/** The first field with a wrong checksum. */
const damagedField = (body: Body, fields: readonly string[]): string | undefined =>
  fields.find((field) => {
    const claimed = body[`${field}Crc32c`]
    return claimed !== undefined && claimed !== String(tableCrc32c(bytes(body[field])))
  })

const verifyToken = (publicKey: string, authorization: string): boolean => {
  const [, header = '', claims = '', signature = ''] = /^Bearer ([^.]+)\.([^.]+)\.([^.]+)$/.exec(authorization) ?? []
  if (claims === '') return false
  const { iss, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const verified = createVerify('RSA-SHA256').update(`${header}.${claims}`).verify(publicKey, signature, 'base64url')
  return verified && iss === ACCOUNT && exp * 1000 > Date.now()
}

/** How an answer is damaged during transport. */
export type Damage =
  | 'ciphertext'
  | 'plaintext'
  | 'ciphertext checksum'
  | 'plaintext checksum'
  | 'checksums unseen'
  | 'request'

export type GcpKms = TestService & {
  readonly privateKey: string
  damage(damage: Damage | null): void
  openNamed(keyName: string): Promise<RootKey>
  /** Opens the key with these credentials at another server of this machine. */
  openAt(port: number): Promise<RootKey>
}

const flipped = (from: Buffer): Buffer => {
  const other = Buffer.from(from)
  other.writeUInt8(other.readUInt8(other.length - 1) ^ 1, other.length - 1)
  return other
}

export const startGcpKms = async (): Promise<GcpKms> => {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const keys = new Map<string, VersionedKey>(Object.values(GCP_KEY_NAMES).map((name) => [name, new VersionedKey()]))
  let undecryptable = 0
  let damage: Damage | null = null

  const encrypt = (body: Body, name: string, key: VersionedKey): Response => {
    const plaintext = bytes(body.plaintext)
    const version = Buffer.alloc(4)
    version.writeUInt32BE(key.newest)
    const sealed = key.encrypt({ plaintext, bound: bytes(body.additionalAuthenticatedData) })
    const ciphertext = Buffer.concat([version, sealed])
    const seen = damage !== 'checksums unseen'
    const checksum = tableCrc32c(ciphertext) ^ (damage === 'ciphertext checksum' ? 1 : 0)
    return json(200, {
      name: `${name}/cryptoKeyVersions/${key.newest}`,
      ciphertext: (damage === 'ciphertext' ? flipped(ciphertext) : ciphertext).toString('base64'),
      ciphertextCrc32c: String(checksum >>> 0),
      // Proto3 JSON leaves out fields that are false.
      ...(seen && body.plaintextCrc32c ? { verifiedPlaintextCrc32c: true } : {}),
      ...(seen && body.additionalAuthenticatedDataCrc32c ? { verifiedAdditionalAuthenticatedDataCrc32c: true } : {}),
      protectionLevel: 'SOFTWARE',
    })
  }

  const decrypt = (body: Body, key: VersionedKey): Response => {
    const sealed = bytes(body.ciphertext)
    const version = sealed.length < 4 ? 0 : sealed.readUInt32BE(0)
    const bound = bytes(body.additionalAuthenticatedData)
    const plaintext = key.decrypt({ version, ciphertext: sealed.subarray(4), bound })
    if (plaintext === null) {
      undecryptable += 1
      return refusal('INVALID_ARGUMENT', 'Decryption failed: the ciphertext is invalid.')
    }
    if (version < key.leastVersion) return refusal('FAILED_PRECONDITION', 'The version is not enabled.')
    const checksum = tableCrc32c(plaintext) ^ (damage === 'plaintext checksum' ? 1 : 0)
    return json(200, {
      plaintext: (damage === 'plaintext' ? flipped(plaintext) : plaintext).toString('base64'),
      plaintextCrc32c: String(checksum >>> 0),
      usedPrimary: version === key.newest,
      protectionLevel: 'SOFTWARE',
    })
  }

  const server = serve(({ request, body: text, behaviour }) => {
    const [, name = '', verb] = /^\/v1\/(projects\/.+):(encrypt|decrypt)$/.exec(new URL(request.url).pathname) ?? []
    if (request.method !== 'POST' || verb === undefined) return refusal('NOT_FOUND', 'No such method.')
    server.calls[verb === 'encrypt' ? 'encrypt' : 'decrypt'] += 1
    if (!verifyToken(pair.publicKey, request.headers.get('authorization') ?? '')) {
      return refusal('UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    }
    if (behaviour === 'failing') return refusal('UNAVAILABLE', 'The service is currently unavailable.')
    if (behaviour === 'throttling') return refusal('RESOURCE_EXHAUSTED', 'Quota exceeded.')
    if (behaviour === 'denying') return refusal('PERMISSION_DENIED', `Permission denied on ${pair.privateKey}`)
    if (behaviour === 'disabled') return refusal('FAILED_PRECONDITION', 'The version is not enabled.')
    const key = keys.get(name)
    if (key === undefined) return refusal('NOT_FOUND', `CryptoKey ${name} not found.`)
    const body: Body = JSON.parse(text)
    const fields = ['plaintext', 'ciphertext', 'additionalAuthenticatedData']
    const damaged = damage === 'request' ? 'ciphertext' : damagedField(body, fields)
    if (damaged !== undefined) return refusal('INVALID_ARGUMENT', `invalid ${damaged} checksum`)
    return verb === 'encrypt' ? encrypt(body, name, key) : decrypt(body, key)
  })

  const folder = mkdtempSync(join(tmpdir(), 'strongroom-google-'))
  const credentials = {
    type: 'service_account',
    client_email: ACCOUNT,
    private_key: pair.privateKey,
    project_id: 'a-project',
  }
  writeFileSync(join(folder, 'credentials.json'), JSON.stringify(credentials))
  const restore = setEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'credentials.json') })
  return {
    name: 'Google Cloud KMS',
    privateKey: pair.privateKey,
    calls: server.calls,
    heard: server.heard,
    behave: server.behave,
    undecryptable: () => undecryptable,
    told: { mark: 3, versions: true },
    rotate: () => keys.get(GCP_KEY_NAMES.first)?.rotate(),
    damage: (next) => {
      damage = next
    },
    openAt: (localPort) => openGcpKmsKey({ keyName: GCP_KEY_NAMES.first, localPort }),
    openNamed: (keyName) => openGcpKmsKey({ keyName, localPort: server.port }),
    open: ({ key = 'first', limits } = {}) =>
      openGcpKmsKey({
        keyName: GCP_KEY_NAMES[key],
        localPort: server.port,
        ...(limits === undefined ? {} : { limits }),
      }),
    stop: async () => {
      restore()
      rmSync(folder, { recursive: true })
      await server.stop()
    },
  }
}
