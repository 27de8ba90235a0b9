// W3C Trace Context (https://www.w3.org/TR/trace-context/ §3.2): `00-<trace id>-<span id>-<flags>`, in lower-case hex.

import { randomBytes } from 'node:crypto'

/** A span of this or another process. */
export type SpanContext = { readonly traceId: string; readonly spanId: string }

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ALL_ZERO = /^0+$/
const SAMPLED = 1

/** The span in a `traceparent`, or null if it is malformed. A later version may have more fields (§3.2.4). */
export const readTraceparent = (text: string | null): (SpanContext & { readonly isSampled: boolean }) | null => {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  if (ALL_ZERO.test(traceId) || ALL_ZERO.test(spanId)) return null
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}

/** Only spans that are recorded are passed on. */
export const traceparentOf = ({ traceId, spanId }: SpanContext): string => `00-${traceId}-${spanId}-01`

/** 16 random bytes are never all zero. */
export const newTraceId = (): string => randomBytes(16).toString('hex')

export const newSpanId = (): string => randomBytes(8).toString('hex')
