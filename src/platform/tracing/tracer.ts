// Spans of this process. The running span is known by the asynchronous context, so that nodes and the vault need not be
// told. A trace begins with a request of a client, and goes on in the jobs of the transaction that the request
// recorded; nothing else begins one. What goes on after the span of the request has ended, such as a probe of a node,
// is not part of it.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Log } from '../process/log.ts'
import { createExporter, type DropReason, type Exporter } from './exporter.ts'
import {
  type Attributes,
  type FinishedSpan,
  newSpanId,
  newTraceId,
  readTraceparent,
  type SpanContext,
  type SpanKind,
  traceparentOf,
} from './otlp.ts'
import type { TracingSettings } from './settings.ts'

/** The span of the process in which it is, until that has ended. */
type Entry = { isOver: boolean; readonly atMs: number; readonly atMonotonicMs: number }

/** Whether an attribute of its end is an error is said by `isError`. */
type Ending = { readonly attributes?: Attributes; readonly isError?: boolean; readonly name?: string }

export type Span = SpanContext & {
  readonly entry: Entry
  readonly startMs: number
  readonly nowMs: () => number
  readonly end: (ending?: Ending) => void
}

type Begun = { readonly name: string; readonly kind: SpanKind; readonly attributes?: Attributes }

/** A span that is known only after it is over. */
type Past = Begun & { readonly startMs: number; readonly endMs: number; readonly isError?: boolean }

export type Tracer = {
  readonly isOn: boolean
  /** Begins the span of a client's request. @returns null if its trace is not recorded. */
  enter(traceparent: string | null, begun: Begun): Span | null
  /** Runs `work` within a span, which `work` ends. */
  within<Result>(span: Span, work: () => Result): Result
  /** Runs `work` as a part of the running span; where none runs, only runs it. An error is one of the span. */
  part<Result>(begun: Begun, work: (span: Span | null) => Promise<Result>): Promise<Result>
  /** Runs `work` as a part of the trace of a transaction, if that has one. */
  resume<Result>(traceparent: string | null, begun: Begun, work: () => Promise<Result>): Promise<Result>
  /** Adds a past span beneath another, with a link to the running span. @param past.service another process. */
  add(parent: SpanContext, past: Past & { readonly service?: string }): SpanContext
  /** The running span as a `traceparent`, for a row that outlives it. */
  traceparent(): string | null
  close(): Promise<void>
}

export type HasTracer = { readonly tracer: Tracer }

const OFF: Tracer = {
  isOn: false,
  enter: () => null,
  within: (_, work) => work(),
  part: (_, work) => work(null),
  resume: (_, __, work) => work(),
  add: (parent) => parent,
  traceparent: () => null,
  close: async () => {},
}

/** https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/: the trace id's last 56 bits. */
const RANDOM_DIGITS = 14
const isWithin = (ratio: number, traceId: string): boolean =>
  Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= (1 - ratio) * 16 ** RANDOM_DIGITS

const errorType = (error: unknown): string => {
  if (!(error instanceof Error)) return typeof error
  const trouble = 'trouble' in error ? error.trouble : 'code' in error ? error.code : null
  return typeof trouble === 'string' ? trouble : error.name
}

const createOn = (
  settings: TracingSettings,
  { service, exporter }: { service: string; exporter: Exporter },
): Tracer => {
  const running = new AsyncLocalStorage<Span>()
  const { sampling } = settings

  const begin = (begun: Begun, place: { traceId: string; parentId: string | null; entry: Entry | null }): Span => {
    const spanId = newSpanId()
    const { traceId, parentId } = place
    const entry = place.entry ?? { isOver: false, atMs: Date.now(), atMonotonicMs: performance.now() }
    const nowMs = () => entry.atMs + performance.now() - entry.atMonotonicMs
    const startMs = nowMs()
    const end = ({ attributes, isError = false, name = begun.name }: Ending = {}) => {
      if (place.entry === null) entry.isOver = true
      const all = { ...begun.attributes, ...attributes }
      const { kind } = begun
      exporter.add({
        service,
        traceId,
        spanId,
        parentId,
        name,
        kind,
        startMs,
        endMs: nowMs(),
        attributes: all,
        isError,
        links: [],
      })
    }
    return { traceId, spanId, entry, startMs, nowMs, end }
  }

  const run = async <Result>(span: Span, work: (span: Span) => Promise<Result>): Promise<Result> => {
    try {
      const result = await running.run(span, work, span)
      span.end()
      return result
    } catch (error) {
      span.end({ isError: true, attributes: { 'error.type': errorType(error) } })
      throw error
    }
  }

  const current = (): Span | null => {
    const span = running.getStore()
    return span === undefined || span.entry.isOver ? null : span
  }

  return {
    isOn: true,
    enter: (traceparent, begun) => {
      const parent = readTraceparent(traceparent)
      const traceId = parent?.traceId ?? newTraceId()
      const isSampled = parent !== null && sampling.parentBased ? parent.isSampled : isWithin(sampling.ratio, traceId)
      return isSampled ? begin(begun, { traceId, parentId: parent?.spanId ?? null, entry: null }) : null
    },
    within: (span, work) => running.run(span, work),
    part: (begun, work) => {
      const span = current()
      if (span === null) return work(null)
      return run(begin(begun, { traceId: span.traceId, parentId: span.spanId, entry: span.entry }), work)
    },
    resume: (traceparent, begun, work) => {
      const parent = readTraceparent(traceparent)
      if (parent === null) return work()
      return run(begin(begun, { traceId: parent.traceId, parentId: parent.spanId, entry: null }), work)
    },
    add: ({ traceId, spanId: parentId }, past) => {
      const spanId = newSpanId()
      const { attributes = {}, isError = false } = past
      const cause = current()
      const links = cause === null || cause.traceId === traceId ? [] : [cause]
      exporter.add({ service, ...past, traceId, spanId, parentId, attributes, isError, links })
      return { traceId, spanId }
    },
    traceparent: () => {
      const span = current()
      return span && traceparentOf(span)
    },
    close: exporter.close,
  }
}

/** @param input.process the process's name: without OTEL_SERVICE_NAME the service is named after it. */
export const createTracer = (input: {
  readonly config: { readonly tracing: TracingSettings | null; readonly environment: string }
  readonly process: string
  readonly log: Log
  readonly onDropped: (reason: DropReason, spans: number) => void
}): Tracer => {
  const { config, log, onDropped } = input
  const { tracing } = config
  if (tracing === null) return OFF
  const resource: FinishedSpan['attributes'] = {
    'deployment.environment.name': config.environment,
    'process.pid': process.pid,
    ...Object.fromEntries(tracing.resource),
  }
  const exporter = createExporter({ ...tracing, resource, log, onDropped })
  return createOn(tracing, { service: tracing.serviceName ?? `strongroom-${input.process}`, exporter })
}
