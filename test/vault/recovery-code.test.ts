import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { bech32m } from '@scure/base'
import {
  addChecksum,
  hasChecksum,
  readPasskeySecret,
  readRecoveryCode,
  readUserSecret,
  recoveryCodeOf,
} from '../../src/vault/rooms/credentials/user-secret.ts'
import { hexOf, textOf } from './support.ts'

const BITS = Uint8Array.from({ length: 16 }, (_, at) => at * 17)
const CODE = textOf(recoveryCodeOf(BITS))
const LETTERS = 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L'

const read = (text: string): string | null => {
  const bits = readRecoveryCode(text)
  return bits && hexOf(bits)
}

describe('the checksum', () => {
  // BIP-350, "Test vectors for Bech32m": valid, and one with another checksum.
  const VALID = [
    'a1lqfn3a',
    'an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11sg7hg6',
    'abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx',
    '11llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllludsr8',
    'split1checkupstagehandshakeupstreamerranterredcaperredlc445v',
    '?1v759aa',
  ]
  const INVALID = ['m1vuxwez']

  const partsOf = (text: string) => {
    const end = text.lastIndexOf('1')
    const values = Uint8Array.from(text.slice(end + 1), (letter) => LETTERS.indexOf(letter.toUpperCase()))
    return { name: text.slice(0, end), values }
  }

  test.each(VALID)('%s of BIP-350 is valid, and is made as it is there', (text) => {
    const { name, values } = partsOf(text)
    expect(hasChecksum(name, values)).toBe(true)
    const made = Uint8Array.from(values).fill(0, values.length - 6)
    addChecksum(name, made)
    expect(made).toEqual(values)
  })

  test.each(INVALID)('%s of BIP-350 is not', (text) => {
    const { name, values } = partsOf(text)
    expect(hasChecksum(name, values)).toBe(false)
  })
})

describe('a recovery code', () => {
  test('is Bech32m of its bits by another library, without name and separator, in groups', () => {
    for (const bits of [BITS, randomBytes(16), new Uint8Array(16), new Uint8Array(16).fill(255)]) {
      const code = textOf(recoveryCodeOf(bits))
      expect(code).toMatch(new RegExp(`^(?:[${LETTERS}]{4}-){7}[${LETTERS}]{4}$`))
      const theirs = bech32m.encode('recovery', bech32m.toWords(bits))
      expect(`recovery1${code.replaceAll('-', '')}`.toLowerCase()).toBe(theirs)
      expect(read(code)).toBe(hexOf(bits))
    }
  })

  test('is read in any case, with spaces or hyphens or none, as text and as bytes', () => {
    const bare = CODE.replaceAll('-', '')
    for (const text of [
      bare,
      bare.toLowerCase(),
      CODE.replaceAll('-', ' '),
      ` ${CODE} `,
      CODE.replaceAll('-', ' - '),
    ]) {
      expect(read(text)).toBe(hexOf(BITS))
    }
    expect(hexOf(readRecoveryCode(Buffer.from(CODE)) ?? new Uint8Array())).toBe(hexOf(BITS))
  })

  test('is read if a letter was taken for one that no code has', () => {
    const misread: Record<string, string> = { '0': 'O', '8': 'b', L: '1' }
    const taken = [...CODE].map((letter) => misread[letter] ?? letter).join('')
    expect(taken).not.toBe(CODE)
    expect(read(taken)).toBe(hexOf(BITS))
    expect(read(taken.replaceAll('1', 'i'))).toBe(hexOf(BITS))
  })

  test('with one letter changed, two swapped, one left out or one too many is known to be mistyped', () => {
    const bare = CODE.replaceAll('-', '')
    for (let at = 0; at < bare.length; at += 1) {
      for (const letter of LETTERS) {
        const changed = bare.slice(0, at) + letter + bare.slice(at + 1)
        expect(read(changed)).toBe(changed === bare ? hexOf(BITS) : null)
        expect(read(bare.slice(0, at) + letter + bare.slice(at))).toBeNull()
      }
      const swapped = bare.slice(0, at) + (bare[at + 1] ?? '') + bare[at] + bare.slice(at + 2)
      if (swapped !== bare) expect(read(swapped)).toBeNull()
      expect(read(bare.slice(0, at) + bare.slice(at + 1))).toBeNull()
    }
    for (const text of ['', 'recovery code', `${bare}é`, `${CODE.slice(0, -1)}–`, CODE.repeat(3)]) {
      expect(read(text)).toBeNull()
    }
  })

  test('of the same bits has one form: bits that fill up the last letter are not accepted', () => {
    const values = Uint8Array.from(CODE.replaceAll('-', ''), (letter) => LETTERS.indexOf(letter))
    for (const filling of [1, 2, 3]) {
      const other = Uint8Array.from(values)
      other[25] = (values[25] ?? 0) | filling
      addChecksum('recovery', other)
      expect(read([...other].map((value) => LETTERS[value]).join(''))).toBeNull()
    }
  })
})

describe('a user_secret', () => {
  const bytes = randomBytes(32)
  const base64url = bytes.toString('base64url')

  test('is a recovery code, or 32 bytes of a passkey in base64url', () => {
    const code = readUserSecret(CODE)
    expect([code.kind, hexOf(code.bytes)]).toEqual(['recovery_code', hexOf(BITS)])
    for (const text of [base64url, Buffer.from(base64url)]) {
      const { kind, bytes: read } = readUserSecret(text)
      expect([kind, hexOf(read)]).toEqual(['passkey', hexOf(bytes)])
    }
  })

  test('of a passkey has one form, without padding and with empty spare bits', () => {
    for (let times = 0; times < 100; times += 1) {
      const some = randomBytes(32)
      expect(hexOf(readPasskeySecret(some.toString('base64url')) ?? new Uint8Array())).toBe(some.toString('hex'))
    }
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const accepted = [...last].filter((letter) => readPasskeySecret('A'.repeat(42) + letter) !== null)
    expect(accepted.join('')).toBe('AEIMQUYcgkosw048')
  })

  test('of any other form is refused with the field, and without a word of what was sent', () => {
    for (const text of [CODE.slice(1), base64url.slice(1), `${base64url}=`, bytes.toString('hex'), '493817', '']) {
      expect(() => readUserSecret(text)).toThrow(
        'Field "user_secret" has a typing error: it must be a recovery code, or the 32 bytes of a passkey in base64url.',
      )
    }
  })
})
