import { createHash, randomBytes } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import { findLiveApiKeys } from '../../../db/queries/api-keys.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import { bearerOf } from './caller-headers.ts'
import { apiKeyMac, isOurs, isOver } from './row-macs.ts'

const PREFIX = 'sk_'
const FORM = /^sk_[A-Za-z0-9_-]{43}$/

export const newApiKey = (): { readonly text: string; readonly hash: Uint8Array } => {
  const text = PREFIX + randomBytes(32).toString('base64url')
  return { text, hash: hashOf(text) }
}

const hashOf = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/** The hash to look up, or null if the text cannot be an API key. */
export const hashApiKey = (text: string): Uint8Array | null => (FORM.test(text) ? hashOf(text) : null)

/** For an answer that takes long. @returns whether the API key of a request is neither revoked nor expired by now. */
export const keyCheck = (
  ctx: HasDb & HasIdentity & HasClock & HasSecurityEvents,
  headers: Headers,
): (() => Promise<boolean>) => {
  // Read now: the headers are gone when the request is.
  const hash = hashApiKey(bearerOf(headers))
  const macs = apiKeyMac(ctx.identity)
  return async () => {
    if (hash === null) return false
    const [row] = await findLiveApiKeys(ctx.db, [Buffer.from(hash).toString('hex')])
    return row !== undefined && !isOver(ctx, row) && isOurs(ctx, macs, row)
  }
}
