// A collector of traces: an HTTP server that accepts what OTLP's schema allows, and keeps it.

import Ajv from 'ajv'

const closed = (properties: Record<string, unknown>, required: readonly string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const listOf = (items: unknown) => ({ type: 'array', items })
const TEXT = { type: 'string' }
/** 64-bit integers are texts in ProtoJSON. */
const INTEGER = { type: 'string', pattern: '^-?[0-9]{1,20}$' }
const NANOSECONDS = { type: 'string', pattern: '^1[0-9]{18}$' }
const hex = (digits: number) => ({ type: 'string', pattern: `^(?!0+$)[0-9a-f]{${digits}}$` })

const ATTRIBUTE = closed(
  {
    key: { type: 'string', minLength: 1 },
    value: {
      oneOf: [
        closed({ stringValue: TEXT }, ['stringValue']),
        closed({ boolValue: { type: 'boolean' } }, ['boolValue']),
        closed({ intValue: INTEGER }, ['intValue']),
        closed({ doubleValue: { type: 'number' } }, ['doubleValue']),
      ],
    },
  },
  ['key', 'value'],
)

/**
 * opentelemetry/proto/trace/v1/trace.proto, as https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding writes
 * it.
 */
const SPAN = closed(
  {
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: hex(16),
    flags: { type: 'integer', minimum: 0 },
    name: { type: 'string', minLength: 1 },
    kind: { type: 'integer', minimum: 1, maximum: 5 },
    startTimeUnixNano: NANOSECONDS,
    endTimeUnixNano: NANOSECONDS,
    attributes: listOf(ATTRIBUTE),
    links: listOf(closed({ traceId: hex(32), spanId: hex(16) }, ['traceId', 'spanId'])),
    status: closed({ code: { type: 'integer', minimum: 0, maximum: 2 }, message: TEXT }, []),
  },
  ['traceId', 'spanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano'],
)

const REQUEST = closed(
  {
    resourceSpans: listOf(
      closed(
        {
          resource: closed({ attributes: listOf(ATTRIBUTE) }, ['attributes']),
          scopeSpans: listOf(
            closed({ scope: closed({ name: TEXT, version: TEXT }, ['name']), spans: listOf(SPAN) }, ['spans']),
          ),
        },
        ['resource', 'scopeSpans'],
      ),
    ),
  },
  ['resourceSpans'],
)

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, string | number | boolean>> }

type ExportRequest = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly name: string
        readonly kind: number
        readonly startTimeUnixNano: string
        readonly endTimeUnixNano: string
        readonly attributes: readonly Attribute[]
        readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
        readonly status: { readonly code?: number }
      }[]
    }[]
  }[]
}

const isRequest = new Ajv({ strict: true }).compile<ExportRequest>(REQUEST)

const plain = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const spansOf = ({ resourceSpans }: ExportRequest) =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ attributes, ...span }) => ({
        ...span,
        attributes: plain(attributes),
        resource: plain(resource.attributes),
        service: String(plain(resource.attributes)['service.name']),
      })),
    ),
  )

export type CollectedSpan = ReturnType<typeof spansOf>[number]

/** @param answer instead of 200, for each request. */
export const startCollector = (answer: () => Response | Promise<Response> = () => Response.json({})) => {
  const spans: CollectedSpan[] = []
  const bodies: string[] = []
  const malformed: unknown[] = []
  const headers: Headers[] = []
  let news = Promise.withResolvers<void>()
  const happen = () => {
    news.resolve()
    news = Promise.withResolvers()
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const body = await request.text()
      const value: unknown = JSON.parse(body)
      const isRight = request.method === 'POST' && new URL(request.url).pathname === '/v1/traces'
      headers.push(request.headers)
      bodies.push(body)
      happen()
      const answered = await answer()
      if (!isRight || !isRequest(value)) malformed.push({ url: request.url, errors: isRequest.errors, body })
      else if (answered.ok) spans.push(...spansOf(value))
      happen()
      return answered
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    bodies,
    headers,
    malformed,
    /** Waits until what has come satisfies a condition. */
    until: async (isEnough: () => boolean): Promise<void> => {
      while (!isEnough()) await news.promise
    },
    stop: () => server.stop(true),
  }
}
