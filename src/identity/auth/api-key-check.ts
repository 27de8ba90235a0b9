import type { HasDb } from '../../../db/client.ts'
import { findLiveApiKeys } from '../../../db/queries/api-keys.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import { hashApiKey } from './api-key.ts'
import { bearerOf } from './authenticate.ts'
import { apiKeyMac, isOurs, isOver } from './row-macs.ts'

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
