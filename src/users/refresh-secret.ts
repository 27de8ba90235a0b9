// Refresh tokens: `base64url(generation, 4 bytes ‖ HMAC(identity key, session id ‖ generation))`. Nothing of one is stored.

import { timingSafeEqual } from 'node:crypto'
import type { Sealer } from '../custody/sealer.ts'

const FORM = /^[A-Za-z0-9_-]{48}$/
const GENERATION_BYTES = 4

const macOf = (identity: Sealer, sessionId: string, generation: number): Uint8Array =>
  identity.authenticator('refresh token')([sessionId, String(generation)])

export const refreshTokenOf = (
  identity: Sealer,
  session: { readonly id: string; readonly generation: number },
): string => {
  const number = Buffer.alloc(GENERATION_BYTES)
  number.writeUInt32BE(session.generation)
  return Buffer.concat([number, macOf(identity, session.id, session.generation)]).toString('base64url')
}

/** @returns the generation of a token that we made for this session, or null. */
export const readRefreshToken = (
  identity: Sealer,
  input: { readonly sessionId: string; readonly token: string },
): number | null => {
  if (!FORM.test(input.token)) return null
  const bytes = Buffer.from(input.token, 'base64url')
  const generation = bytes.readUInt32BE()
  const mac = macOf(identity, input.sessionId, generation)
  return timingSafeEqual(bytes.subarray(GENERATION_BYTES), mac) ? generation : null
}
