// Requests of clients: the access log, and the span with which a trace begins or goes on. Both show a route's template,
// never the query or what a path names; and no body, header or address.

import type { Config } from '../config.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Log } from '../process/log.ts'
import type { Span, Tracer } from './tracer.ts'

export const createRequestTimer = ({ requestDuration }: Pick<Metrics, 'requestDuration'>) => {
  const begunAtMs = new WeakMap<Request, number>()
  return {
    begin: (request: Request): void => {
      begunAtMs.set(request, performance.now())
    },
    /** @param answer.route the path's template; undefined if no route matched. */
    end: (request: Request, answer: { readonly route: string | undefined; readonly status: unknown }): void => {
      const { route, status } = answer
      const begun = begunAtMs.get(request)
      if (begun === undefined) return
      const method = METHODS.has(request.method) ? request.method : OTHER
      const labels = { method, route: route ?? OTHER, status: String(status ?? 200) }
      requestDuration.observe(labels, (performance.now() - begun) / 1000)
    },
  }
}

type Fetch = (request: Request) => Response | Promise<Response>

type Facts = { route?: string; projectId?: string }

type Requests = {
  /** Logs and traces the requests that `fetch` answers, if either is on. */
  watch(fetch: Fetch): Fetch
  note(request: Request, facts: Facts): void
}

export type HasRequests = { readonly requests: Requests }

/** A client can send any method. Only these become labels and names, so that no client can create series. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
/** Asked every few seconds, by programs. */
const UNTRACED = /^[^?#]*\/(?:healthz|readyz|metrics)$/
const STREAM = 'text/event-stream'
const OTHER = 'other'

/** The answer with its length. Reading it costs a copy, so only the access log does it. A stream is left as it is. */
const measured = async (answer: Response): Promise<{ readonly answer: Response; readonly bytes: number | null }> => {
  if (answer.body === null) return { answer, bytes: 0 }
  if (answer.headers.get('content-type')?.startsWith(STREAM)) return { answer, bytes: null }
  const body = await answer.arrayBuffer()
  const { status, statusText, headers } = answer
  return { answer: new Response(body, { status, statusText, headers }), bytes: body.byteLength }
}

const endSpan = (span: Span, input: Facts & { method: string; requestId: string | null; status: number }): void => {
  const { method, route = OTHER, projectId, requestId, status } = input
  const isError = status >= 500
  span.end({
    name: route === OTHER ? method : `${method} ${route}`,
    isError,
    attributes: {
      'http.route': route === OTHER ? undefined : route,
      // A path with parameters names what it is about.
      'url.path': route === OTHER || route.includes(':') ? undefined : route,
      'http.response.status_code': status,
      'error.type': isError ? String(status) : undefined,
      'strongroom.request_id': requestId ?? undefined,
      'strongroom.project_id': projectId,
    },
  })
}

export const createRequests = (ctx: {
  readonly config: Pick<Config, 'accessLog'>
  readonly log: Log
  readonly tracer: Tracer
}): Requests => {
  const { tracer, log } = ctx
  const { accessLog } = ctx.config
  if (!accessLog && !tracer.isOn) return { watch: (fetch) => fetch, note: () => {} }
  const notes = new WeakMap<Request, Facts>()

  const enter = (request: Request, method: string): Span | null => {
    if (UNTRACED.test(request.url)) return null
    const attributes = { 'http.request.method': method }
    return tracer.enter(request.headers.get('traceparent'), { name: method, kind: 'server', attributes })
  }

  const answered = async (
    request: Request,
    input: { span: Span | null; method: string; begunAtMs: number; from: Response },
  ) => {
    const { span, method, begunAtMs, from } = input
    const { answer, bytes } = accessLog ? await measured(from) : { answer: from, bytes: null }
    const { route = OTHER, projectId } = notes.get(request) ?? {}
    const { status } = answer
    const requestId = answer.headers.get('x-request-id')
    if (span !== null) endSpan(span, { method, route, requestId, status, ...(projectId && { projectId }) })
    if (accessLog) {
      const ms = Math.round((performance.now() - begunAtMs) * 10) / 10
      log.info({ method, route, status, ms, bytes, requestId, projectId, traceId: span?.traceId }, 'request')
    }
    return answer
  }

  return {
    note: (request, facts) => {
      notes.set(request, { ...notes.get(request), ...facts })
    },
    watch: (fetch) => async (request) => {
      const begunAtMs = performance.now()
      const method = METHODS.has(request.method) ? request.method : '_OTHER'
      const span = enter(request, method)
      try {
        const from = await (span === null ? fetch(request) : tracer.within(span, () => fetch(request)))
        return await answered(request, { span, method, begunAtMs, from })
      } catch (error) {
        span?.end({ isError: true, attributes: { 'error.type': error instanceof Error ? error.name : typeof error } })
        throw error
      }
    },
  }
}
