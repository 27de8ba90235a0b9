import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'

const BEARER = /^Bearer +(\S+)$/i

const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/**
 * Lets whoever has the token read metrics. Where no token is set, only a listener of their own is open, and the devnet.
 * @param asked.isApart whether the request came to that listener.
 * @throws unauthorized.
 */
export const checkMetricsAccess = (
  config: Pick<Config, 'metricsToken' | 'metricsListener' | 'devnet'>,
  asked: { readonly headers: Headers; readonly isApart: boolean },
): void => {
  if (config.metricsToken === null) {
    if (asked.isApart || (config.devnet && config.metricsListener === null)) return
    throw new AppError('unauthorized', 'Metrics are closed here until METRICS_TOKEN is set, or at a METRICS_PORT.')
  }
  const given = BEARER.exec(asked.headers.get('authorization') ?? '')?.[1] ?? ''
  // Digests: of one length, so that the comparison takes the same time whatever was given.
  if (timingSafeEqual(digest(given), digest(config.metricsToken.reveal()))) return
  throw new AppError('unauthorized', 'The header Authorization must be "Bearer " and the METRICS_TOKEN.', {
    event: given === '' ? undefined : { kind: 'metrics_token_wrong', projectId: null },
  })
}
