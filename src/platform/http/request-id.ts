import { randomUUID } from 'node:crypto'

/** What proxies and clients use as ids: UUIDs, hex, base64, and words joined by `.`, `:`, `_` or `-`. */
const SANE = /^[\w.:+/=-]{1,128}$/

/** The caller's `X-Request-Id`, or a new one if there is none or it is no such token. It only names the request in answer and log. */
export const requestIdOf = (headers: Headers): string => {
  const given = headers.get('x-request-id') ?? ''
  return SANE.test(given) ? given : randomUUID()
}
