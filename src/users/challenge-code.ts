// The two secrets of session challenges. The code is shown on a screen and typed on another: 28 symbols of Crockford's
// base32 in groups of four, 140 bits. The link's secret travels by mail alone, and no answer of ours holds it. Of both
// only SHA-256 is kept: what has this much entropy needs no key and no salt.

import { createHash, randomBytes } from 'node:crypto'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE = /^[0-9A-HJKMNP-TV-Z]{28}$/
const SECRET_BYTES = 32
const SECRET = /^[A-Za-z0-9_-]{43}$/

export const newCode = (): string => grouped(Array.from(randomBytes(28), (byte) => ALPHABET[byte & 31] ?? '').join(''))

const grouped = (symbols: string): string => symbols.match(/.{4}/g)?.join('-') ?? ''

/**
 * A code as we wrote it: letter case, hyphens and spaces do not matter, and what looks like 0 or 1 is taken for it.
 * @returns null for what cannot be one.
 */
export const readCode = (typed: string): string | null => {
  const symbols = typed.replace(/[\s-]/g, '').toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1')
  return CODE.test(symbols) ? grouped(symbols) : null
}

export const newLinkSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/** @returns null for what cannot be one. */
export const readLinkSecret = (text: string): string | null => (SECRET.test(text) ? text : null)

/** @param secret in its one form, as the functions above give it. @returns 32 bytes. */
export const hashOf = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()
