// What every provider of a root key must do. The services run on this machine and speak each provider's own protocol
// (root-key-services/), so the real clients are tested. Nothing here was tested against the real clouds.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { AppError } from '../../src/platform/errors.ts'
import { EnvelopeError, type RowIdentity } from '../../src/platform/sealing/envelope.ts'
import { KeyServiceError } from '../../src/vault/rooms/root/key-service.ts'
import type { RootKey } from '../../src/vault/rooms/root/root-key.ts'
import { identityOf } from '../../src/vault/rooms/sealing/hierarchy.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { startAwsKms } from './root-key-services/aws-kms.ts'
import { startGcpKms } from './root-key-services/gcp-kms.ts'
import { BRISK, HASTY, type TestService } from './root-key-services/service.ts'
import { startVault } from './root-key-services/vault.ts'
import { hexOf, openTestRootKey } from './support.ts'

const PROJECT = '11111111-1111-4111-8111-111111111111'
const KEY = Uint8Array.from({ length: 32 }, (_, index) => index * 7 + 129)
const HEX = hexOf(KEY)

const identity: RowIdentity = { purpose: 'wallet key', projectId: PROJECT, keyringId: 'k', walletId: 'w', rowId: 'r' }
const OTHERS: readonly (readonly [string, Partial<RowIdentity>])[] = [
  ['purpose', { purpose: 'keyring key' }],
  ['project', { projectId: '22222222-2222-4222-8222-222222222222' }],
  ['keyring', { keyringId: 'l' }],
  ['wallet', { walletId: '' }],
  ['row', { rowId: 's' }],
  ['field for the next one', { keyringId: 'w', walletId: 'k' }],
  ['end of a field at the start of the next', { keyringId: 'kw', walletId: '' }],
]

/** The result of unwrapping: the key in hex, or the kind of refusal. */
const unwrapped = async (rootKey: RootKey, wrapped: Uint8Array, of: RowIdentity = identity): Promise<string> => {
  try {
    return hexOf(await rootKey.unwrap({ wrapped, identity: of }))
  } catch (error) {
    if (error instanceof EnvelopeError) return `refused: ${error.fault}`
    throw error
  }
}

const failureOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

const flipped = (from: Uint8Array, position: number, bit = 0): Uint8Array => {
  const other = Uint8Array.from(from)
  other[position] = (other[position] ?? 0) ^ (1 << bit)
  return other
}

/** null where this process holds the key itself. */
type Provider = { readonly start: (() => Promise<TestService>) | null }
const VAULTS: readonly (readonly [string, Provider])[] = [
  ['Vault with a derived key', { start: () => startVault({ derived: true }) }],
  ['a Vault that answers 500 to a wrong context', { start: () => startVault({ statusOfWrongContext: 500 }) }],
  ['a Vault without associated data', { start: () => startVault({ old: true }) }],
]
const PROVIDERS: readonly (readonly [string, Provider])[] = [
  ['a file', { start: null }],
  ['AWS KMS', { start: startAwsKms }],
  ['Google Cloud KMS', { start: startGcpKms }],
  ['Vault', { start: () => startVault() }],
  ...(isLong ? VAULTS : []),
]

describe.each(PROVIDERS)('a root key from %s', (what, { start }) => {
  let service: TestService
  let rootKey: RootKey
  const open = async (key: 'first' | 'second' = 'first', limits = BRISK) =>
    start === null ? openTestRootKey(key === 'first' ? 1 : 2) : service.open({ key, limits })

  beforeAll(async () => {
    if (start !== null) service = await start()
    rootKey = await open()
  })
  afterAll(() => service?.stop())

  const wrap = (of: RowIdentity = identity) => rootKey.wrap({ key: KEY, identity: of })

  test('unwraps what it wrapped', async () => {
    const wrapped = await wrap()
    expect(hexOf(wrapped).includes(HEX)).toBe(false)
    expect(await unwrapped(rootKey, wrapped)).toBe(HEX)
  })

  test('works for identities with empty fields and with any text', async () => {
    for (const of of [
      identityOf.projectKey({ projectId: PROJECT, version: 1 }),
      { purpose: 'deployment', projectId: '', keyringId: '', walletId: '', rowId: '1' },
      { ...identity, rowId: 'Łukasz, "1" \\ = & \u{1f511}' },
    ]) {
      expect(await unwrapped(rootKey, await wrap(of), of)).toBe(HEX)
    }
  })

  test('wraps the same key differently each time, and returns a new array', async () => {
    const [one, other] = [await wrap(), await wrap()]
    expect(hexOf(one)).not.toBe(hexOf(other))
    const key = await rootKey.unwrap({ wrapped: one, identity })
    key.fill(0)
    expect(await unwrapped(rootKey, one)).toBe(HEX)
    expect(hexOf(KEY)).toBe(HEX)
  })

  test('unwraps in another process', async () => {
    const wrapped = await wrap()
    const another = await open()
    expect(another.id).toBe(rootKey.id)
    expect(await unwrapped(another, wrapped)).toBe(HEX)
  })

  test.each(OTHERS)('refuses a key that was wrapped for another %s', async (_what, change) => {
    expect(await unwrapped(rootKey, await wrap(), { ...identity, ...change })).toBe('refused: authentication failed')
  })

  test('refuses a key that another root key wrapped', async () => {
    const other = await open('second')
    expect(other.id).not.toBe(rootKey.id)
    expect(await unwrapped(other, await wrap())).toMatch(/^refused: (authentication failed|unknown key)$/)
  })

  test('refuses a flipped bit at any position', async () => {
    const wrapped = await wrap()
    // Also in the suite each of the eight bits is among them.
    for (let position = 0; position < wrapped.length; position += isLong ? 1 : 7) {
      expect(await unwrapped(rootKey, flipped(wrapped, position, position % 8))).toStartWith('refused: ')
    }
  })

  test('refuses a wrapped key that was truncated or extended', async () => {
    const wrapped = await wrap()
    for (const length of [0, 1, 5, 6, 7, 37, 38, 39, 50, wrapped.length - 33, wrapped.length - 1]) {
      expect(await unwrapped(rootKey, wrapped.subarray(0, length))).toStartWith('refused: ')
    }
    expect(await unwrapped(rootKey, Buffer.concat([wrapped, Buffer.alloc(1)]))).toStartWith('refused: ')
    expect(await unwrapped(rootKey, wrapped.subarray(1))).toStartWith('refused: ')
  })

  test('says which part of a malformed value is wrong', async () => {
    const wrapped = await wrap()
    expect(await unwrapped(rootKey, new Uint8Array(0))).toBe('refused: truncated')
    expect(await unwrapped(rootKey, flipped(wrapped, 0))).toBe('refused: unknown version')
    expect(await unwrapped(rootKey, flipped(wrapped, 1, 7))).toBe('refused: unknown algorithm')
  })

  test('reads a value from the middle of a larger buffer', async () => {
    const wrapped = await wrap()
    const within = Buffer.concat([Buffer.alloc(3, 9), wrapped, Buffer.alloc(3, 9)])
    expect(await unwrapped(rootKey, within.subarray(3, 3 + wrapped.length))).toBe(HEX)
  })

  if (start === null) return
  afterEach(() => service.behave('well'))

  const binds = !what.includes('without associated data')
  if (binds)
    test('relies on the service too to refuse another identity', async () => {
      const before = service.undecryptable()
      await unwrapped(rootKey, await wrap(), { ...identity, rowId: 's' })
      expect(service.undecryptable()).toBe(before + 1)
    })

  test('does not call the service for a malformed value', async () => {
    const wrapped = await wrap()
    const before = { ...service.calls }
    for (const each of [new Uint8Array(0), flipped(wrapped, 0), flipped(wrapped, 1)]) await unwrapped(rootKey, each)
    expect(service.calls).toEqual(before)
  })

  test('keeps unwrapping after the provider has rotated its key, under the same name', async () => {
    const old = await wrap()
    service.rotate()
    const young = await wrap()
    const later = await open()
    expect(later.id).toBe(rootKey.id)
    for (const wrapped of [old, young]) expect(await unwrapped(later, wrapped)).toBe(HEX)
    const versionOf = (wrapped: Uint8Array) => Buffer.from(wrapped).readUInt32BE(2)
    const { mark, versions } = service.told
    expect([old[0], old[1], young[1]]).toEqual([1, mark, mark])
    expect(versionOf(young) - versionOf(old)).toBe(versions ? 1 : 0)
  })

  const troubles = [
    ['failing', 'cannot be reached, or fails'],
    ['broken proxy', 'cannot be reached, or fails'],
    ['throttling', 'is asked more often than it allows'],
    ['rubbish', 'gave an answer that makes no sense'],
    ['empty', 'gave an answer that makes no sense'],
  ] as const

  test.each(someOf(troubles, 2))(
    'is unavailable while the service is %s, and works again afterwards',
    async (behaviour, said) => {
      const wrapped = await wrap()
      for (const work of [() => wrap(), () => rootKey.unwrap({ wrapped, identity })]) {
        service.behave(behaviour)
        const failure = await failureOf(work())
        expect(failure).toBeInstanceOf(KeyServiceError)
        expect(failure).toMatchObject({ code: 'unavailable', retryable: true })
        expect(String(failure)).toContain(`${service.name}, which holds the root key, ${said}`)
        service.behave('well')
      }
      expect(await unwrapped(rootKey, wrapped)).toBe(HEX)
    },
  )

  const isFirst = what === 'AWS KMS'
  const suiteHasIt = isFirst ? test : longTest
  suiteHasIt('stops waiting for a service that does not answer', async () => {
    const wrapped = await wrap()
    const hasty = await open('first', isLong ? HASTY : { ...HASTY, attemptTimeoutMs: 100 })
    service.behave('silent')
    const startedAt = performance.now()
    const failure = await failureOf(hasty.unwrap({ wrapped, identity }))
    expect(performance.now() - startedAt).toBeLessThan(5_000)
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true, trouble: 'silent' })
    expect(String(failure)).toContain(`${service.name}, which holds the root key, did not answer in time.`)
  })

  test('tries again exactly once', async () => {
    const wrapped = await wrap()
    for (const behaviour of ['failing', 'broken proxy', 'throttling', 'rubbish'] as const) {
      // The caller does not notice one bad answer.
      service.behave(behaviour, 1)
      expect(await unwrapped(rootKey, wrapped)).toBe(HEX)
    }
    service.behave('failing')
    const before = service.calls.decrypt
    await failureOf(rootKey.unwrap({ wrapped, identity }))
    expect(service.calls.decrypt).toBe(before + BRISK.attemptsMax)
  })

  test.each(['denying', 'disabled'] as const)(
    'reports a refusal at once, without a retry, if the service is %s',
    async (behaviour) => {
      const wrapped = await wrap()
      service.behave(behaviour)
      const before = service.calls.decrypt
      const failure = await failureOf(rootKey.unwrap({ wrapped, identity }))
      expect(service.calls.decrypt).toBe(before + 1)
      expect(failure).toMatchObject({ code: 'unavailable', retryable: false })
      expect(String(failure)).toMatch(/which holds the root key, does not do what it was asked \([A-Za-z_ ]+\)\.$/)
      expect(await failureOf(wrap())).toMatchObject({ code: 'unavailable' })
    },
  )

  test('shows no credential, address or value in any error', async () => {
    const wrapped = await wrap()
    const shown: string[] = []
    for (const behaviour of ['failing', 'broken proxy', 'rubbish', 'denying', 'throttling'] as const) {
      service.behave(behaviour)
      const failure = await failureOf(rootKey.unwrap({ wrapped, identity }))
      if (!(failure instanceof AppError)) throw new Error('it did not fail')
      shown.push(Bun.inspect(failure, { depth: 20 }), JSON.stringify(failure), String(failure.cause))
    }
    expect(shown.join('\n')).not.toMatch(/127\.0\.0\.1/)
    shown.push(Bun.inspect(rootKey, { depth: 20 }), JSON.stringify(rootKey))
    expect(shown.join('\n')).not.toMatch(/nobody-may-see|AKID|PRIVATE KEY|Bearer|Signature|502 Bad|<html>|sealed/i)
    // The service itself receives the key to wrap, but never its clients' secrets.
    expect(service.heard()).not.toMatch(/an-aws-secret|PRIVATE KEY/)
  })
})

describe('a service that was stopped', () => {
  test.each([
    ['AWS KMS', startAwsKms],
    ['Google Cloud KMS', startGcpKms],
    ['HashiCorp Vault', () => startVault()],
  ] as const)('%s: is unavailable', async (name, start) => {
    const service = await start()
    const rootKey = await service.open({ limits: BRISK })
    const wrapped = await rootKey.wrap({ key: KEY, identity })
    await service.stop()
    const failure = await failureOf(rootKey.unwrap({ wrapped, identity }))
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true, trouble: 'failing' })
    expect(String(failure)).toContain(`${name}, which holds the root key, cannot be reached, or fails`)
  })
})

test('an error repeats a service’s reason only if it is short and has no special characters', () => {
  const sentenceWith = (word?: string) => new KeyServiceError({ service: 'It', trouble: 'refused', word }).message
  expect(sentenceWith('AccessDeniedException')).toBe(
    'It, which holds the root key, does not do what it was asked (AccessDeniedException).',
  )
  for (const word of [undefined, '', 'a'.repeat(81), 'https://vault/?token=hvs', 'one\ntwo', '"token":"hvs"', '<b>']) {
    expect(sentenceWith(word)).toBe('It, which holds the root key, does not do what it was asked.')
  }
})
