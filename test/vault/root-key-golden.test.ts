// Values in the first version of the format of keys that a service wrapped, made by another implementation (Python's
// `hmac` and `cryptography`, from the description in key-service.ts). They unwrap for ever, and each service is asked
// for them with exactly this binding: a change that fails here needs a new version instead.

import { describe, expect, test } from 'bun:test'
import { EnvelopeError } from '../../src/platform/sealing/envelope.ts'
import { crc32c } from '../../src/vault/rooms/root/gcp-kms.ts'
import type { RootKey } from '../../src/vault/rooms/root/root-key.ts'
import { openVaultTransitKey } from '../../src/vault/rooms/root/vault-transit.ts'
import { identityOf } from '../../src/vault/rooms/sealing/hierarchy.ts'
import { someOf } from '../support/long.ts'
import { afterTests } from '../support/shared.ts'
import golden from './root-key-golden-1.json'
import { AWS_KEY_IDS, arnOf, startAwsKms } from './root-key-services/aws-kms.ts'
import { startGcpKms } from './root-key-services/gcp-kms.ts'
import { json, setEnvironment } from './root-key-services/service.ts'
import { bytesOf, hexOf } from './support.ts'

const base64 = (hex: string): string => Buffer.from(hex, 'hex').toString('base64')

/** The last request's body. */
let asked: unknown
/** What the service says that it decrypted. */
let plaintext = golden.projectKey
const cleanUp: (() => unknown)[] = []
const keys: { [provider: string]: RootKey } = {}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => {
    asked = await request.json()
    const text = base64(plaintext)
    return json(200, {
      Plaintext: text,
      plaintext: text,
      plaintextCrc32c: String(crc32c(bytesOf(plaintext))),
      data: { plaintext: text },
    })
  },
})
const url = `http://127.0.0.1:${server.port}`
// For their credentials alone.
const [aws, gcp] = [await startAwsKms(), await startGcpKms()]
cleanUp.push(setEnvironment({ AWS_ENDPOINT_URL_KMS: url }), aws.stop, gcp.stop, () => server.stop(true))
keys.awsKms = await aws.open()
keys.gcpKms = await gcp.openAt(server.port ?? 0)
const access = { token: { reveal: () => 'hvs.token' }, namespace: null }
keys.vaultTransit = await openVaultTransitKey({ place: `${url}/transit/root`, access })
afterTests(async () => {
  for (const each of cleanUp) await each()
})

const identity = identityOf.projectKey(golden)

describe.each([
  [
    'awsKms',
    {
      KeyId: arnOf(AWS_KEY_IDS.first),
      CiphertextBlob: base64(golden.ciphertext),
      EncryptionContext: golden.encryptionContext,
    },
  ],
  [
    'gcpKms',
    {
      ciphertext: base64(golden.ciphertext),
      additionalAuthenticatedData: base64(golden.binding),
      ciphertextCrc32c: String(crc32c(bytesOf(golden.ciphertext))),
      additionalAuthenticatedDataCrc32c: String(crc32c(bytesOf(golden.binding))),
    },
  ],
  [
    'vaultTransit',
    {
      ciphertext: `vault:v300:${base64(golden.ciphertext)}`,
      associated_data: base64(golden.binding),
      context: base64(golden.binding),
    },
  ],
] as const)('of the first version, %s', (provider, request) => {
  const unwrap = () => keys[provider]?.unwrap({ wrapped: bytesOf(golden[provider]), identity })

  test('a project key unwraps', async () => {
    plaintext = golden.projectKey
    expect(hexOf((await unwrap()) ?? new Uint8Array())).toBe(golden.projectKey)
    expect(asked).toEqual(request)
  })

  test('a wrong answer of the service is detected', async () => {
    const { projectKey } = golden
    for (const other of someOf([projectKey.replace('a1', 'a0'), projectKey.slice(2), `${projectKey}00`], 2)) {
      plaintext = other
      await expect(unwrap()).rejects.toThrow(EnvelopeError)
    }
  })
})
