import { expect, test } from 'bun:test'
import { readTraceparent } from '../../src/platform/tracing/otlp.ts'

/** The example of https://www.w3.org/TR/trace-context/ §3.2.3. */
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN_ID = '00f067aa0ba902b7'

test('reads the examples of the specification', () => {
  const span = { traceId: TRACE_ID, spanId: SPAN_ID }
  expect(readTraceparent(`00-${TRACE_ID}-${SPAN_ID}-01`)).toEqual({ ...span, isSampled: true })
  expect(readTraceparent(`00-${TRACE_ID}-${SPAN_ID}-00`)).toEqual({ ...span, isSampled: false })
  // Other flags are not known yet, and do not count (§3.2.2.5).
  expect(readTraceparent(`00-${TRACE_ID}-${SPAN_ID}-03`)).toEqual({ ...span, isSampled: true })
  expect(readTraceparent(`00-${TRACE_ID}-${SPAN_ID}-fe`)).toEqual({ ...span, isSampled: false })
})

test('reads the known fields of a later version', () => {
  expect(readTraceparent(`cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-will-be`)?.traceId).toBe(TRACE_ID)
  expect(readTraceparent(`cc-${TRACE_ID}-${SPAN_ID}-01`)?.traceId).toBe(TRACE_ID)
})

test('refuses everything else', () => {
  const malformed = [
    null,
    '',
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-01-more`,
    `cc-${TRACE_ID}-${SPAN_ID}-01.more`,
    `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}`,
    `00-${TRACE_ID}-${SPAN_ID}-1`,
    ` 00-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-01\n`,
    `00-${TRACE_ID.slice(1)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-01,00-${TRACE_ID}-${SPAN_ID}-01`,
  ]
  expect(malformed.filter((text) => readTraceparent(text) !== null)).toEqual([])
})
