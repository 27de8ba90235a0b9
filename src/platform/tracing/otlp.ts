// Spans in OTLP's JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hex, 64-bit numbers
// are texts, enumerations are numbers.

import { randomBytes } from 'node:crypto'

// W3C Trace Context (https://www.w3.org/TR/trace-context/ §3.2): `00-<trace id>-<span id>-<flags>`, in lower-case hex.

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

/** SpanKind of opentelemetry/proto/trace/v1/trace.proto. */
const KINDS = { internal: 1, server: 2, client: 3, consumer: 5 } as const
const STATUS_ERROR = 2
const FLAG_SAMPLED = 1

export type SpanKind = keyof typeof KINDS

/** Named as in OpenTelemetry's semantic conventions, or below `strongroom.`. Undefined ones are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** A span that is over. Times are milliseconds since 1970, with parts. */
export type FinishedSpan = {
  /** The process that did it, by its `service.name`. */
  readonly service: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | null
  readonly name: string
  readonly kind: SpanKind
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly isError: boolean
  /** Spans of other traces that caused it. */
  readonly links: readonly SpanContext[]
}

const anyValue = (value: string | number | boolean) => {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

const attributesOf = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]))

/** Microseconds are exact in a number until the year 2255. */
const nanoseconds = (ms: number): string => `${Math.round(ms * 1_000)}000`

const spanOf = (span: FinishedSpan) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentId === null ? {} : { parentSpanId: span.parentId }),
  flags: FLAG_SAMPLED,
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanoseconds(span.startMs),
  endTimeUnixNano: nanoseconds(Math.max(span.endMs, span.startMs)),
  attributes: attributesOf(span.attributes),
  ...(span.links.length === 0 ? {} : { links: span.links.map(({ traceId, spanId }) => ({ traceId, spanId })) }),
  status: span.isError ? { code: STATUS_ERROR } : {},
})

/** An ExportTraceServiceRequest. @param input.resource attributes that all services have. */
export const exportRequest = (input: {
  readonly resource: Attributes
  readonly spans: readonly FinishedSpan[]
}): string =>
  JSON.stringify({
    resourceSpans: [...Map.groupBy(input.spans, ({ service }) => service)].map(([service, spans]) => ({
      resource: { attributes: attributesOf({ ...input.resource, 'service.name': service }) },
      scopeSpans: [{ scope: { name: 'strongroom' }, spans: spans.map(spanOf) }],
    })),
  })
