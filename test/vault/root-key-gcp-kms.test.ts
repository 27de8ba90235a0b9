import { afterEach, describe, expect, test } from 'bun:test'
import type { RowIdentity } from '../../src/platform/sealing/envelope.ts'
import { crc32c } from '../../src/vault/rooms/root/gcp-kms.ts'
import { openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import { someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { type Damage, GCP_KEY_NAMES, startGcpKms, tableCrc32c } from './root-key-services/gcp-kms.ts'
import { BRISK, setEnvironment } from './root-key-services/service.ts'
import { hexOf } from './support.ts'

const identity: RowIdentity = { purpose: 'project key', projectId: 'p', keyringId: '', walletId: '', rowId: '1' }
const KEY = new Uint8Array(32).fill(7)

const service = await shared(startGcpKms())
const rootKey = await service.open({ limits: BRISK })
afterEach(() => service.damage(null))

describe('a key of Google Cloud KMS', () => {
  test('is opened by the setting with its name, which becomes its id', async () => {
    const opened = await openRootKey(`gcp-kms:${GCP_KEY_NAMES.first}`)
    expect([opened.id, rootKey.id]).toEqual(Array(2).fill(`gcp-kms:${GCP_KEY_NAMES.first}`))
  })

  test.each([
    '',
    'strongroom',
    `/${GCP_KEY_NAMES.first}`,
    `${GCP_KEY_NAMES.first}/cryptoKeyVersions/1`,
    `${GCP_KEY_NAMES.first} `,
    'projects//locations/l/keyRings/r/cryptoKeys/k',
  ])('is refused as "%s"', async (name) => {
    await expect(openRootKey(`gcp-kms:${name}`)).rejects.toThrow('ROOT_KEY must be gcp-kms:projects/…')
  })

  test('without credentials is refused at the start', async () => {
    const restore = setEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: '/nonexistent/credentials.json' })
    try {
      await expect(openRootKey(`gcp-kms:${GCP_KEY_NAMES.first}`)).rejects.toThrow(
        'ROOT_KEY is a key of Google Cloud KMS, and its Application Default Credentials cannot be loaded.',
      )
    } finally {
      restore()
    }
  })

  test('that does not exist is refused with KMS’s own error word', async () => {
    const unknown = await service.openNamed(`${GCP_KEY_NAMES.first}x`)
    await expect(unknown.wrap({ key: KEY, identity })).rejects.toThrow('does not do what it was asked (NOT_FOUND).')
  })

  test.each(someOf(['ciphertext', 'ciphertext checksum', 'checksums unseen'] satisfies Damage[], 2))(
    'does not wrap if the %s of an answer is wrong',
    async (damage) => {
      service.damage(damage)
      const before = service.calls.encrypt
      await expect(rootKey.wrap({ key: KEY, identity })).rejects.toThrow('gave an answer that makes no sense.')
      expect(service.calls.encrypt).toBe(before + BRISK.attemptsMax)
    },
  )

  test.each(someOf(['plaintext', 'plaintext checksum', 'request'] satisfies Damage[], 2))(
    'does not unwrap if the %s is wrong, and does not say that the value is wrong',
    async (damage) => {
      const wrapped = await rootKey.wrap({ key: KEY, identity })
      service.damage(damage)
      await expect(rootKey.unwrap({ wrapped, identity })).rejects.toThrow('gave an answer that makes no sense.')
      service.damage(null)
      expect(hexOf(await rootKey.unwrap({ wrapped, identity }))).toBe(hexOf(KEY))
    },
  )

  test('wraps the bytes of a view, not the first bytes of its buffer', async () => {
    const memory = Uint8Array.from({ length: 96 }, (_, index) => index)
    const view = memory.subarray(40, 72)
    const wrapped = await rootKey.wrap({ key: view, identity })
    const within = new Uint8Array(wrapped.length + 16)
    within.set(wrapped, 16)
    expect(hexOf(await rootKey.unwrap({ wrapped: within.subarray(16), identity }))).toBe(hexOf(view))
  })
})

// RFC 3720, appendix B.4, and the check value of the catalogue of parametrised CRC algorithms (CRC-32/ISCSI).
test.each([
  ['32 bytes of zeroes', new Uint8Array(32), 0x8a9136aa],
  ['32 bytes of ones', new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ['32 bytes that count up', Uint8Array.from({ length: 32 }, (_, index) => index), 0x46dd794e],
  ['32 bytes that count down', Uint8Array.from({ length: 32 }, (_, index) => 31 - index), 0x113fdb5c],
  ['the digits from 1 to 9', new TextEncoder().encode('123456789'), 0xe3069283],
  ['nothing', new Uint8Array(0), 0],
])('CRC-32C of %s', (_what, bytes, expected) => {
  expect([crc32c(bytes), tableCrc32c(bytes)]).toEqual([expected, expected])
})
