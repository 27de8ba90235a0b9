// A `user_secret` is one of two things, which differ in their form: a recovery code, or 32 bytes in base64url that a
// passkey computes with the WebAuthn extension `prf`. Neither can be guessed. So each opens the user key without argon2
// and without a guess limit, also for an owner whose PIN is locked.
//
// A recovery code has 128 random bits in 32 characters that people can type, in groups of four:
//   26 characters  the bits, most significant first; two zero bits fill the last character
//    6 characters  the checksum of Bech32m (BIP-350) over the name "recovery" and these characters
// The characters are those of Bech32 (BIP-173), which leave out 1, B, I and O. Case, spaces and hyphens do not matter,
// and the four are read as what people take them for (L, 8, L, 0). The checksum finds every mistake in up to four
// characters, so a typing error differs from a wrong code without any key. Codes are bytes everywhere, because nothing
// can erase a string.

import type { UserSecretKind } from '../../../../db/words.ts'
import { AppError } from '../../../platform/errors.ts'
import { HeldKeys, type SecretText, utf8Of, zeros } from '../../../platform/sealing/bytes.ts'

export const RECOVERY_BYTES = 16
const DATA_CHARACTERS = 26
const CHECKSUM_CHARACTERS = 6
const CHARACTERS = DATA_CHARACTERS + CHECKSUM_CHARACTERS
const CODE_BITS = 5
const GROUP_CHARACTERS = 4

const NAME = 'recovery'
const ALPHABET = Buffer.from('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')
const HYPHEN = 0x2d
const SPACE = 0x20
const MISREAD: Readonly<Record<string, string>> = { '1': 'L', I: 'L', O: '0', B: '8' }

/** The generators of BIP-173, and the constant of BIP-350. */
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
const BECH32M = 0x2bc830a3

const polymodOf = (values: Uint8Array): number => {
  let checksum = 1
  for (const value of values) {
    const top = checksum >>> 25
    checksum = ((checksum & 0x1ffffff) << 5) ^ value
    for (const [bit, term] of GENERATOR.entries()) if ((top >>> bit) & 1) checksum ^= term
  }
  return checksum
}

/** The name before the values, as BIP-173 expands it. */
const expanded = (name: string, values: Uint8Array): Uint8Array => {
  const characters = Buffer.from(name)
  const all = zeros(2 * characters.length + 1 + values.length)
  for (const [at, character] of characters.entries()) {
    all[at] = character >>> 5
    all[characters.length + 1 + at] = character & 31
  }
  all.set(values, 2 * characters.length + 1)
  return all
}

/** Writes the checksum of Bech32m over a name and values of five bits into the last six of them. */
export const addChecksum = (name: string, values: Uint8Array): void => {
  using held = new HeldKeys()
  values.fill(0, values.length - CHECKSUM_CHARACTERS)
  const checksum = polymodOf(held.hold(expanded(name, values))) ^ BECH32M
  for (let at = 0; at < CHECKSUM_CHARACTERS; at += 1) {
    values[values.length - 1 - at] = (checksum >>> (CODE_BITS * at)) & 31
  }
}

export const hasChecksum = (name: string, values: Uint8Array): boolean => {
  using held = new HeldKeys()
  return polymodOf(held.hold(expanded(name, values))) === BECH32M
}

/** Where a bit is in groups of eight bits, and where it is in groups of five. */
const placeOf = (bit: number) => ({
  byte: bit >>> 3,
  inByte: 7 - (bit & 7),
  value: Math.floor(bit / CODE_BITS),
  inValue: CODE_BITS - 1 - (bit % CODE_BITS),
})

/** The code of 16 random bytes, in ASCII. The caller zeroes both. */
export const recoveryCodeOf = (bits: Uint8Array): Uint8Array => {
  using held = new HeldKeys()
  const values = held.hold(zeros(CHARACTERS))
  for (let bit = 0; bit < 8 * RECOVERY_BYTES; bit += 1) {
    const { byte, inByte, value, inValue } = placeOf(bit)
    values[value] = (values[value] ?? 0) | ((((bits[byte] ?? 0) >>> inByte) & 1) << inValue)
  }
  addChecksum(NAME, values)
  const code = zeros(CHARACTERS + CHARACTERS / GROUP_CHARACTERS - 1).fill(HYPHEN)
  for (const [at, value] of values.entries()) code[at + Math.floor(at / GROUP_CHARACTERS)] = ALPHABET[value] ?? 0
  return code
}

const CODE_VALUES: ReadonlyMap<number, number> = new Map(
  [...ALPHABET.toString(), ...Object.keys(MISREAD)].flatMap((character) => {
    const value = ALPHABET.indexOf(MISREAD[character] ?? character)
    return [character, character.toLowerCase()].map((each) => [each.charCodeAt(0), value] as const)
  }),
)

/** @returns the 16 bytes of a code, zeroed by the caller; null if it was mistyped. */
export const readRecoveryCode = (text: SecretText): Uint8Array | null => {
  using held = new HeldKeys()
  const values = held.hold(zeros(CHARACTERS))
  let length = 0
  for (const character of utf8Of(text)) {
    if (character === HYPHEN || character === SPACE) continue
    const value = CODE_VALUES.get(character)
    if (value === undefined || length === CHARACTERS) return null
    values[length] = value
    length += 1
  }
  if (length !== CHARACTERS || !hasChecksum(NAME, values)) return null
  const bits = zeros(RECOVERY_BYTES)
  for (let bit = 0; bit < CODE_BITS * DATA_CHARACTERS; bit += 1) {
    const { byte, inByte, value, inValue } = placeOf(bit)
    const is = ((values[value] ?? 0) >>> inValue) & 1
    if (byte < RECOVERY_BYTES) bits[byte] = (bits[byte] ?? 0) | (is << inByte)
    else if (is === 1) {
      bits.fill(0)
      return null
    }
  }
  return bits
}

const PASSKEY_SECRET_BYTES = 32
const PASSKEY_SECRET_CHARACTERS = 43
const BITS_A_CHARACTER = 6

/** The value of each ASCII character of base64url (RFC 4648 §5). */
const VALUE_OF: ReadonlyMap<number, number> = new Map(
  Array.from(
    Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'),
    (code, value) => [code, value] as const,
  ),
)

const isOfPasskey = (text: Uint8Array): boolean =>
  text.length === PASSKEY_SECRET_CHARACTERS && text.every((character) => VALUE_OF.has(character))

/** @returns the 32 bytes, zeroed by the caller; null if the text has another form. */
export const readPasskeySecret = (secret: SecretText): Uint8Array | null => {
  const text = utf8Of(secret)
  if (!isOfPasskey(text)) return null
  const bytes = zeros(PASSKEY_SECRET_BYTES)
  let bits = 0
  let count = 0
  let at = 0
  for (const character of text) {
    bits = ((bits << BITS_A_CHARACTER) | (VALUE_OF.get(character) ?? 0)) & 0x3fff
    count += BITS_A_CHARACTER
    if (count < 8) continue
    count -= 8
    bytes[at] = (bits >>> count) & 0xff
    at += 1
  }
  // The last character has two bits more than the bytes.
  if ((bits & ((1 << count) - 1)) === 0) return bytes
  bytes.fill(0)
  return null
}

/** @returns random bytes that the caller zeroes. @throws invalid_input for another form or a typing error in a code. */
export const readUserSecret = (text: SecretText): { readonly kind: UserSecretKind; readonly bytes: Uint8Array } => {
  const ofPasskey = readPasskeySecret(text)
  if (ofPasskey !== null) return { kind: 'passkey', bytes: ofPasskey }
  const ofCode = readRecoveryCode(text)
  if (ofCode !== null) return { kind: 'recovery_code', bytes: ofCode }
  throw new AppError(
    'invalid_input',
    'Field "user_secret" has a typing error: it must be a recovery code, or the 32 bytes of a passkey in base64url.',
  )
}
