import { createHash } from 'node:crypto'

/** 32 random bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

export const isSecret = (text: string): boolean => SECRET.test(text)

/** What the table has of a secret. */
export const hashOf = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()
