import type { Metrics } from './metrics.ts'

/** A client can send any method. The label has only these, so that nobody can create series. */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])
const OTHER = 'other'

type RequestTimer = {
  /** Call it when a request comes in. */
  begin(request: Request): void
  /** Call it when the answer was sent. @param answer.route the path's template; undefined if no route matched. */
  end(request: Request, answer: { readonly route: string | undefined; readonly status: unknown }): void
}

/** Counts requests and measures how long they take. */
export const createRequestTimer = ({ requestDuration }: Pick<Metrics, 'requestDuration'>): RequestTimer => {
  const begunAtMs = new WeakMap<Request, number>()
  return {
    begin: (request) => {
      begunAtMs.set(request, performance.now())
    },
    end: (request, { route, status }) => {
      const begun = begunAtMs.get(request)
      if (begun === undefined) return
      const method = METHODS.has(request.method) ? request.method : OTHER
      const labels = { method, route: route ?? OTHER, status: String(status ?? 200) }
      requestDuration.observe(labels, (performance.now() - begun) / 1000)
    },
  }
}
