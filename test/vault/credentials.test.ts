import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { ControlMode } from '../../db/words.ts'
import { AppError } from '../../src/platform/errors.ts'
import { modesForCreation, requireCredentials } from '../../src/vault/contract/required-credentials.ts'
import { requireDeveloperSecret } from '../../src/vault/rooms/credentials/new-secrets.ts'
import { isLong } from '../support/long.ts'

const developerSecret = 'a-secret-that-shows'
const userPin = '424242'
const userSecret = 'a-code-that-shows'

const GIVEN = {
  none: {},
  developer: { developerSecret },
  user: { userPin },
  both: { developerSecret, userPin },
  code: { userSecret },
  twice: { userPin, userSecret },
  all: { developerSecret, userPin, userSecret },
} as const

const answer = (modes: readonly ControlMode[], given: keyof typeof GIVEN): unknown => {
  try {
    return requireCredentials({ modes, credentials: GIVEN[given] })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect(error.status).toBe(400)
    expect(error.message).not.toMatch(/shows|424242/)
    return [error.code, error.message]
  }
}

describe('the credentials that belong', () => {
  const NONE = { developerSecret: null, userPin: null, userSecret: null }
  const onlyDeveloper = { ...NONE, developerSecret }
  const onlyUser = { ...NONE, userPin }
  const secretRequired = ['credential_required', 'Field "developer_secret" is required.']
  const pinRequired = ['credential_required', 'Field "user_pin" or "user_secret" is required.']
  const bothRequired = [
    'credential_required',
    'Field "developer_secret", and "user_pin" or "user_secret", are required: the owner has wallets of the other control mode.',
  ]
  const onlyOne = ['credential_ambiguous', 'Only one of the fields "user_pin" and "user_secret" belongs here.']

  test.each([
    [['developer'], 'none', secretRequired],
    [['developer'], 'developer', onlyDeveloper],
    [['developer'], 'user', secretRequired],
    [['developer'], 'both', ['credential_ambiguous', 'Field "developer_secret" alone belongs here.']],
    [['user'], 'none', pinRequired],
    [['user'], 'developer', pinRequired],
    [['user'], 'user', onlyUser],
    [['user'], 'both', ['credential_ambiguous', 'Field "user_pin" or "user_secret" alone belongs here.']],
    [['developer', 'user'], 'none', bothRequired],
    [['developer', 'user'], 'developer', bothRequired],
    [['developer', 'user'], 'user', bothRequired],
    [['developer', 'user'], 'both', { ...NONE, developerSecret, userPin }],
    [['user'], 'code', { ...NONE, userSecret }],
    [['developer'], 'code', secretRequired],
    [['developer', 'user'], 'code', bothRequired],
    [['user'], 'twice', onlyOne],
    [['developer'], 'twice', onlyOne],
    [['developer', 'user'], 'all', onlyOne],
  ] as [ControlMode[], keyof typeof GIVEN, unknown][])('where %p is needed and %s given', (modes, given, expected) => {
    expect(answer(modes, given)).toEqual(expected)
  })

  test('undefined counts as absent, an empty text does not', () => {
    expect(requireCredentials({ modes: ['user'], credentials: { developerSecret: undefined, userPin } })).toEqual(
      onlyUser,
    )
    expect(() => requireCredentials({ modes: ['user'], credentials: { developerSecret: '', userPin } })).toThrow(
      'alone',
    )
  })
})

test.each([
  ['developer', [], ['developer']],
  ['user', [], ['user']],
  ['developer', ['developer'], ['developer']],
  ['user', ['user'], ['user']],
  ['developer', ['user'], ['developer', 'user']],
  ['user', ['developer'], ['developer', 'user']],
  ['developer', ['developer', 'user'], ['developer']],
  ['user', ['developer', 'user'], ['user']],
] as [ControlMode, ControlMode[], ControlMode[]][])(
  'a %s wallet from a keyring with locks of %p takes the credentials of %p',
  (mode, locked, expected) => {
    expect(modesForCreation({ mode, locked })).toEqual(expected)
  },
)

describe('a developer secret on mainnet', () => {
  const isRefused = (secret: string | Uint8Array): boolean => {
    try {
      requireDeveloperSecret('mainnet', secret)
      return false
    } catch (error) {
      if (error instanceof AppError && error.code === 'invalid_input') return true
      throw error
    }
  }

  test('is judged as text, whether it comes as text or as bytes', () => {
    const units = fc.constantFrom('a', ' ', '\u0000', '\u001f', '\u007f', '\u0080', '\u009f', '\u00a0', 'é', '€', '😀')
    const secrets = fc.oneof(
      fc.string({ unit: units, maxLength: 20 }),
      fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀'), minLength: 6, maxLength: 300 }),
      // All of Unicode takes the package a second to prepare.
      fc.string({ unit: isLong ? 'binary' : 'binary-ascii', minLength: 14, maxLength: 20 }),
    )
    fc.assert(
      fc.property(secrets, (secret) => {
        const expected = secret.length < 16 || secret.length > 256 || /\p{Cc}/u.test(secret)
        expect([isRefused(secret), isRefused(Buffer.from(secret))]).toEqual([expected, expected])
      }),
      { seed: 20261123, numRuns: isLong ? 5_000 : 300 },
    )
  })

  test('is refused if it is no Unicode, or contains the published one', () => {
    for (const secret of ['\ud800'.repeat(20), 'xxxxtestnet-secretxxxx', Buffer.from('xxxxtestnet-secretxxxx')]) {
      expect(isRefused(secret)).toBe(true)
    }
    expect(isRefused(Buffer.concat([Buffer.from('a'.repeat(20)), Buffer.of(0xff)]))).toBe(true)
  })
})
