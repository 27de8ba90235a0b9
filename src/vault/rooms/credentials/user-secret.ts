// A `user_secret` is one of two things, told apart by its form: a recovery code (recovery-code.ts), or what a passkey computes
// with the WebAuthn extension `prf`, 32 bytes in base64url. Neither can be guessed. So each opens the user key without argon2 and
// without a guess limit, also for an owner whose PIN is locked.

import type { UserSecretKind } from '../../../../db/words.ts'
import { AppError } from '../../../platform/errors.ts'
import { type SecretText, utf8Of, zeros } from '../../../platform/sealing/bytes.ts'
import { readRecoveryCode } from './recovery-code.ts'

const PASSKEY_SECRET_BYTES = 32
/** The length of 32 bytes in base64url without padding. */
const PASSKEY_SECRET_CHARACTERS = 43
const BITS_A_CHARACTER = 6

/** The value of each ASCII character of base64url (RFC 4648 §5). */
const VALUE_OF: ReadonlyMap<number, number> = new Map(
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'].map((character, value) => [
    character.charCodeAt(0),
    value,
  ]),
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

type UserSecret = {
  readonly kind: UserSecretKind
  /** Uniformly random; the caller zeroes them. */
  readonly bytes: Uint8Array
}

/** @throws invalid_input for a text of neither form, and for a recovery code with a typing error. */
export const readUserSecret = (text: SecretText): UserSecret => {
  const ofPasskey = readPasskeySecret(text)
  if (ofPasskey !== null) return { kind: 'passkey', bytes: ofPasskey }
  const ofCode = readRecoveryCode(text)
  if (ofCode !== null) return { kind: 'recovery_code', bytes: ofCode }
  throw new AppError(
    'invalid_input',
    'Field "user_secret" has a typing error: it must be a recovery code, or the 32 bytes of a passkey in base64url.',
  )
}
