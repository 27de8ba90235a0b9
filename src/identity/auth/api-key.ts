import { createHash, randomBytes } from 'node:crypto'

const PREFIX = 'sk_'
/** `sk_` and 32 random bytes in base64url. */
const FORM = /^sk_[A-Za-z0-9_-]{43}$/

/** Creates an API key. The text is shown once; only the hash is stored. */
export const newApiKey = (): { readonly text: string; readonly hash: Uint8Array } => {
  const text = PREFIX + randomBytes(32).toString('base64url')
  return { text, hash: hashOf(text) }
}

const hashOf = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/** The hash to look up, or null if the text cannot be an API key. */
export const hashApiKey = (text: string): Uint8Array | null => (FORM.test(text) ? hashOf(text) : null)
