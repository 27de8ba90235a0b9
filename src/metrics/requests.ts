import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { PREFIX } from './families.ts'

/** Upper bounds, in seconds. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Anything may stand in a request's first line: a label has only what is known. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
const OTHER = 'other'

/**
 * What says nothing, or nothing true, where the runtime is not Node (its heap's spaces, its handles, its version), and of
 * the event loop's lag what is no number until something was measured.
 */
const NOT_TOLD =
  /^(?:nodejs_(?:active_|heap_space_|gc_|version_|eventloop_lag_(?:mean|stddev|min)_)|process_heap_bytes$)/

export type RequestMetrics = {
  /** When a request comes in. */
  begin(request: Request): void
  /** When its answer has left. @param answer.route the template of its path, or undefined where no route has it. */
  end(request: Request, answer: { readonly route: string | undefined; readonly status: unknown }): void
  /** With the metrics of the process itself, as text. */
  read(): Promise<string>
}

/** How this process answers, and how it does. */
export const createRequestMetrics = (): RequestMetrics => {
  const registry = new Registry()
  const durations = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'How long requests took until their answer had left.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: BUCKETS_SECONDS,
    registers: [registry],
  })
  const begunAtMs = new WeakMap<Request, number>()
  let collecting = false

  return {
    begin: (request) => {
      begunAtMs.set(request, performance.now())
    },
    end: (request, { route, status }) => {
      const begun = begunAtMs.get(request)
      if (begun === undefined) return
      const method = METHODS.has(request.method) ? request.method : OTHER
      const labels = { method, route: route ?? OTHER, status: String(status ?? 200) }
      durations.observe(labels, (performance.now() - begun) / 1000)
    },
    read: async () => {
      // They keep watch on the event loop from then on: only where somebody looks.
      if (!collecting) {
        collectDefaultMetrics({ register: registry })
        for (const { name } of registry.getMetricsAsArray()) if (NOT_TOLD.test(name)) registry.removeSingleMetric(name)
        collecting = true
      }
      return registry.metrics()
    },
  }
}
