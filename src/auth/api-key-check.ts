import { findLiveApiKeys } from '../../db/queries/api-keys.ts'
import type { Ctx } from '../context.ts'
import { hashApiKey } from './api-key.ts'
import { bearerOf } from './authenticate.ts'
import { apiKeyMac, isOurs, isOver } from './row-macs.ts'

/** For an answer that takes long. @returns whether the API key of a request is neither revoked nor expired by now. */
export const keyCheck = (
  ctx: Pick<Ctx, 'db' | 'identity' | 'now' | 'securityEvents'>,
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
