import { afterEach, describe, expect, test } from 'bun:test'
import type { RowIdentity } from '../../src/platform/sealing/envelope.ts'
import { openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import { shared } from '../support/shared.ts'
import { AWS_KEY_IDS, arnOf, startAwsKms } from './root-key-services/aws-kms.ts'
import { BRISK, setEnvironment } from './root-key-services/service.ts'
import { hexOf } from './support.ts'

const identity: RowIdentity = { purpose: 'project key', projectId: 'p', keyringId: '', walletId: '', rowId: '1' }
const KEY = new Uint8Array(32).fill(7)

const service = await shared(startAwsKms())
afterEach(() => service.setSkew(0))

describe('a key of AWS KMS', () => {
  test.each([
    ['its id', AWS_KEY_IDS.first],
    ['its ARN', arnOf(AWS_KEY_IDS.first)],
  ])('is opened by the setting with %s, and is the same key', async (_what, key) => {
    const rootKey = await openRootKey(`aws-kms:${key}`)
    expect(rootKey.id).toBe(`aws-kms:${AWS_KEY_IDS.first}`)
    const wrapped = await (await service.open()).wrap({ key: KEY, identity })
    expect(hexOf(await rootKey.unwrap({ wrapped, identity }))).toBe(hexOf(KEY))
  })

  test('has the same name in all regions', async () => {
    const id = `mrk-${'1234567890abcdef'.repeat(2)}`
    const names = ['eu-central-1', 'us-gov-west-1'].map(
      async (region) => (await service.openNamed(arnOf(id, region))).id,
    )
    expect(await Promise.all(names)).toEqual([`aws-kms:${id}`, `aws-kms:${id}`])
  })

  test.each([
    '',
    'alias/strongroom',
    `arn:aws:kms:eu-central-1:111122223333:alias/strongroom`,
    `arn:aws:s3:eu-central-1:111122223333:key/${AWS_KEY_IDS.first}`,
    `${AWS_KEY_IDS.first} `,
    AWS_KEY_IDS.first.toUpperCase(),
    `mrk-${AWS_KEY_IDS.first}`,
  ])('is refused as "%s", which could be another key tomorrow or is none', async (key) => {
    await expect(openRootKey(`aws-kms:${key}`)).rejects.toThrow(
      'ROOT_KEY must be aws-kms: and the id or the ARN of a key, not an alias.',
    )
  })

  test('without a region is refused at the start, unless the ARN has it', async () => {
    const restore = setEnvironment({ AWS_REGION: '', AWS_DEFAULT_REGION: '' })
    try {
      await expect(openRootKey(`aws-kms:${AWS_KEY_IDS.first}`)).rejects.toThrow('AWS_REGION must say where it is')
      const rootKey = await openRootKey(`aws-kms:${arnOf(AWS_KEY_IDS.first)}`)
      expect((await rootKey.wrap({ key: KEY, identity })).length).toBeGreaterThan(64)
    } finally {
      restore()
    }
  })

  test('is used with a context of named fields, without empty ones', async () => {
    const rootKey = await service.open()
    await rootKey.wrap({ key: KEY, identity })
    expect(service.contexts.at(-1)).toEqual({ service: 'strongroom', purpose: 'project key', project: 'p', row: '1' })
    await rootKey.wrap({ key: KEY, identity: { ...identity, keyringId: 'k', walletId: 'w' } })
    expect(service.contexts.at(-1)).toMatchObject({ keyring: 'k', wallet: 'w' })
  })

  test('that does not exist is refused with KMS’s own error word, and so are wrong credentials', async () => {
    const unknown = await service.openNamed('00000000-0000-4000-8000-000000000000')
    await expect(unknown.wrap({ key: KEY, identity })).rejects.toThrow(
      'does not do what it was asked (NotFoundException).',
    )
    const restore = setEnvironment({ AWS_ACCESS_KEY_ID: 'AKIDOFSOMEBODYELSE00' })
    try {
      const stranger = await service.open()
      const wrap = stranger.wrap({ key: KEY, identity })
      await expect(wrap).rejects.toThrow('does not do what it was asked (UnrecognizedClientException).')
    } finally {
      restore()
    }
  })

  test('is not called without credentials, and the error says so', async () => {
    const restore = setEnvironment({ AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' })
    try {
      const rootKey = await service.open({ limits: BRISK })
      const before = { ...service.calls }
      await expect(rootKey.wrap({ key: KEY, identity })).rejects.toThrow('(CredentialsProviderError)')
      expect(service.calls).toEqual(before)
    } finally {
      restore()
    }
  })

  test('can be used by a machine whose clock is wrong', async () => {
    const rootKey = await service.open({ limits: BRISK })
    service.setSkew(3 * 3_600_000)
    const wrapped = await rootKey.wrap({ key: KEY, identity })
    expect(hexOf(await rootKey.unwrap({ wrapped, identity }))).toBe(hexOf(KEY))
  })
})
