import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'

const BEARER = /^Bearer +(\S+)$/i

const digest = (text: string): Uint8Array => createHash('sha256').update(text).digest()

/**
 * Lets holders of METRICS_TOKEN read metrics. If no token is set, metrics are open only on their own listener, and on the
 * main listener of a devnet without one.
 * @param input.isOwnListener whether the request came to the metrics' own listener.
 */
export const checkMetricsAccess = (
  config: Pick<Config, 'metricsToken' | 'metricsListener' | 'devnet'>,
  input: { readonly headers: Headers; readonly isOwnListener: boolean },
): void => {
  if (config.metricsToken === null) {
    if (input.isOwnListener || (config.devnet && config.metricsListener === null)) return
    throw new AppError(
      'unauthorized',
      'Metrics are closed here: set METRICS_TOKEN, or METRICS_PORT for a listener of their own.',
    )
  }
  const given = BEARER.exec(input.headers.get('authorization') ?? '')?.[1] ?? ''
  // Compare digests: they have the same length, so the comparison always takes the same time.
  if (timingSafeEqual(digest(given), digest(config.metricsToken.reveal()))) return
  throw new AppError('unauthorized', 'The header Authorization must be "Bearer " and the METRICS_TOKEN.', {
    event: given === '' ? undefined : { kind: 'metrics_token_wrong', projectId: null },
  })
}
